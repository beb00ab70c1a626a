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
  /** A receiver beside it, of some types. It gets nothing until it is verified. */
  add(address: EventHookAddress, eventTypes: readonly string[]): AddedReceiver
  calls: readonly HookCall[]
  /** Forgets the calls and the added receivers, not the address. */
  clear(): void
}

export type AddedReceiver = {
  /** Whether the receiver returns the challenge. */
  verify(): Promise<boolean>
  remove(): void
}

const OKTA_TIMEOUT_MS = 3000

type Receiver = {
  address: EventHookAddress
  /** Undefined: all. */
  eventTypes?: readonly string[]
  verified: Promise<boolean> | undefined
}

/**
 * Sends the org's events to each receiver, once it is verified
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
  let configured: Receiver | undefined
  const added = new Set<Receiver>()
  const receivers = () => [...(configured ? [configured] : []), ...added]

  /** A failure is not kept. */
  async function isVerified(receiver: Receiver): Promise<boolean> {
    receiver.verified ??= verify(receiver.address, randomChallenge(random))
    if (await receiver.verified) return true
    receiver.verified = undefined
    return false
  }

  function gets(receiver: Receiver, { eventType }: OrgEvent): boolean {
    if (receiver === configured) return true
    return receiver.verified !== undefined && receiver.eventTypes?.includes(eventType) === true
  }

  const deliverEvent: Parameters<DeliveryFaults['apply']>[1] = async (event, fault) => {
    for (const receiver of receivers().filter((each) => gets(each, event))) {
      if (!(await isVerified(receiver))) continue
      const { address } = receiver
      const secret = fault === 'wrong-secret' ? `not ${address.secret}` : address.secret
      const body = deliveryBody(event, { now, random, origin: originOf() })
      await deliver({ ...address, secret }, event.eventType, body)
    }
  }

  return {
    async register(address) {
      configured = { address, verified: undefined }
      await isVerified(configured)
    },
    add(address, eventTypes) {
      const receiver: Receiver = { address, eventTypes, verified: undefined }
      added.add(receiver)
      return { verify: () => isVerified(receiver), remove: () => added.delete(receiver) }
    },
    async send(eventType, user, actor) {
      const event = createOrgEvent(eventType, user, { now, random }, actor)
      record(event)
      if (receivers().length > 0) await faults.apply(event, deliverEvent)
    },
    calls,
    clear() {
      clear()
      added.clear()
    },
  }
}
