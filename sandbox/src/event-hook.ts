import { type RandomBytes, randomChallenge } from './authn/issued-tokens.ts'
import type { User } from './authn/user.ts'
import type { DeliveryFaults } from './delivery-faults.ts'
import { createHookCalls, type EventHookAddress, type HookCall } from './hook-calls.ts'
import {
  createOrgEvent,
  deliveryBody,
  type OrgEvent,
  type OrgEventActor,
  type OrgEventType,
} from './org-events.ts'

export type EventHook = {
  /**
   * Verifies this address, in place of an earlier one. If that fails, the next event repeats it.
   */
  register(address: EventHookAddress): Promise<void>
  /**
   * Resolves when the delivery has ended, or at once if there is none or a fault delays it. Never
   * rejects. The default actor is the user for what only users do, else an administrator.
   */
  send(eventType: OrgEventType, user: User, actor?: OrgEventActor): Promise<void>
  calls: readonly HookCall[]
  /** Forgets the calls, not the address. */
  clear(): void
}

const OKTA_TIMEOUT_MS = 3000

/**
 * Sends the org's events to one receiver, once it is verified
 * (https://developer.okta.com/docs/concepts/event-hooks/).
 */
export function createEventHook({
  now,
  random,
  originOf,
  faults,
  record = () => {},
  timeoutMs = OKTA_TIMEOUT_MS,
}: {
  now: () => number
  random: RandomBytes
  originOf: () => string
  faults: DeliveryFaults
  /** Gets each event, with or without a receiver. */
  record?: (event: OrgEvent) => void
  timeoutMs?: number
}): EventHook {
  const { calls, verify, deliver, clear } = createHookCalls({ now, timeoutMs })
  let address: EventHookAddress | undefined
  let verified: Promise<boolean> | undefined

  /** A failure is not kept. */
  async function isVerified(hook: EventHookAddress): Promise<boolean> {
    verified ??= verify(hook, randomChallenge(random))
    if (await verified) return true
    verified = undefined
    return false
  }

  const deliverEvent: Parameters<DeliveryFaults['apply']>[1] = async (event, fault) => {
    if (address === undefined || !(await isVerified(address))) return
    const secret = fault === 'wrong-secret' ? `not ${address.secret}` : address.secret
    const body = deliveryBody(event, { now, random, origin: originOf() })
    await deliver({ ...address, secret }, event.eventType, body)
  }

  return {
    async register(hook) {
      address = hook
      verified = undefined
      await isVerified(hook)
    },
    async send(eventType, user, actor) {
      const event = createOrgEvent(eventType, user, { now, random }, actor)
      record(event)
      if (address !== undefined) await faults.apply(event, deliverEvent)
    },
    calls,
    clear,
  }
}
