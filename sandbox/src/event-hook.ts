import { type RandomBytes, randomChallenge } from './authn/issued-tokens.ts'
import type { User } from './authn/user.ts'
import type { DeliveryFaults } from './delivery-faults.ts'
import { createHookCalls, type EventHookAddress, type HookCall, type Verification } from './hook-calls.ts'
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
   * rejects: the result has a sentence for each receiver that did not take an event, unless a fault
   * changed the secret. The default actor is the user for what only users do, else an
   * administrator.
   */
  send(eventType: OrgEventType, user: User, actor?: OrgEventActor): Promise<readonly string[]>
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
  verified: Promise<Verification> | undefined
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
  async function verified(receiver: Receiver): Promise<Verification> {
    receiver.verified ??= verify(receiver.address, randomChallenge(random))
    const verification = await receiver.verified
    if (!verification.isVerified) receiver.verified = undefined
    return verification
  }

  function gets(receiver: Receiver, { eventType }: OrgEvent): boolean {
    if (receiver === configured) return true
    return receiver.verified !== undefined && receiver.eventTypes?.includes(eventType) === true
  }

  /** What went wrong, if something did. */
  async function deliverTo(receiver: Receiver, event: OrgEvent, isSecretWrong: boolean) {
    const { isVerified, answer: verificationAnswer } = await verified(receiver)
    if (!isVerified)
      return `was not sent, because its receiver did not return the challenge: ${verificationAnswer}`
    const { address } = receiver
    const secret = isSecretWrong ? `not ${address.secret}` : address.secret
    const body = deliveryBody(event, { now, random, origin: originOf() })
    const answer = await deliver({ ...address, secret }, event.eventType, body)
    const isTaken = typeof answer === 'number' && answer < 300
    return isTaken || isSecretWrong ? undefined : `was refused: ${answer}`
  }

  return {
    async register(address) {
      configured = { address, verified: undefined }
      await verified(configured)
    },
    add(address, eventTypes) {
      const receiver: Receiver = { address, eventTypes, verified: undefined }
      added.add(receiver)
      return {
        verify: async () => (await verified(receiver)).isVerified,
        remove: () => added.delete(receiver),
      }
    },
    async send(eventType, user, actor) {
      const event = createOrgEvent(eventType, user, { now, random }, actor)
      record(event)
      const problems: string[] = []
      if (receivers().length === 0) return problems
      await faults.apply(event, async (delivered, fault) => {
        for (const receiver of receivers().filter((each) => gets(each, delivered))) {
          const problem = await deliverTo(receiver, delivered, fault === 'wrong-secret')
          if (problem !== undefined) problems.push(`the event ${delivered.eventType} ${problem}`)
        }
      })
      return problems
    },
    calls,
    clear() {
      clear()
      added.clear()
    },
  }
}
