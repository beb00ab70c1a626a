import { z } from 'zod'
import { invalidField } from '../errors.ts'
import { isUserId } from './session.ts'

/** What an event of the org does to the sign-ins of its users. A lock ends nothing: strangers can lock an account. */
type Effect = 'end_sessions' | 'refetch_groups'

const EFFECTS: ReadonlyMap<string, Effect> = new Map([
  ['user.lifecycle.deactivate', 'end_sessions'],
  ['user.lifecycle.suspend', 'end_sessions'],
  ['user.lifecycle.delete.initiated', 'end_sessions'],
  ['user.session.clear', 'end_sessions'],
  ['user.account.update_password', 'end_sessions'],
  ['user.account.reset_password', 'end_sessions'],
  ['user.mfa.factor.reset_all', 'end_sessions'],
  ['user.authentication.universal_logout', 'end_sessions'],
  ['group.user_membership.add', 'refetch_groups'],
  ['group.user_membership.remove', 'refetch_groups'],
])

/** Afterwards the user cannot sign in. So sessions also end that began soon after the event, as the clock may be ahead of Okta's. */
const BLOCKING = /^user\.lifecycle\./
const MAX_CLOCK_LAG_MS = 60_000

/** One event for one user. */
export interface OrgEvent {
  /** The same in every delivery of the event. */
  readonly id: string
  readonly type: string
  readonly effect: Effect
  readonly userId: string
  /** As Okta writes it. Empty if the event does not name it. */
  readonly login: string
  /** By Okta's clock, or a minute later if the event blocks the user, but not later than `nowMs`. */
  readonly publishedMs: number
}

/** A delivery of an event hook (Okta's documentation, concepts/event-hooks). Members that are not listed are ignored. */
export const Delivery = z.object({ data: z.object({ events: z.array(z.unknown()) }) })

const Event = z.object({
  uuid: z.string().regex(/^[\w-]{1,100}$/),
  eventType: z.string(),
  published: z.iso.datetime({ offset: true }).transform(Date.parse),
  outcome: z.object({ result: z.string().nullish() }).nullish(),
  target: z
    .array(z.object({ type: z.string(), id: z.string(), alternateId: z.string().nullish() }))
    .nullish(),
})

/**
 * The events that have an effect, oldest first, and the number of the others: unknown or failed ones, and those that cannot be read.
 * They must not fail the delivery, because Okta does not repeat it.
 *
 * @throws 400 E0000001 if the body is not a delivery
 */
export function readDelivery(body: unknown, nowMs: number) {
  const delivery = Delivery.safeParse(body)
  if (!delivery.success) throw invalidField('data.events: must be the events of an event hook')
  const { events: sent } = delivery.data.data
  const perEvent = sent.map((event) => effectsOf(event, nowMs))
  const events = perEvent.flat().toSorted((one, other) => one.publishedMs - other.publishedMs)
  return { events, ignored: perEvent.filter((effects) => effects.length === 0).length }
}

function effectsOf(sent: unknown, nowMs: number): OrgEvent[] {
  const { data: event } = Event.safeParse(sent)
  const effect = EFFECTS.get(event?.eventType ?? '')
  if (event === undefined || effect === undefined || event.outcome?.result === 'FAILURE') return []
  const { uuid: id, eventType: type, published, target } = event
  // a later time than now would end sessions that are opened from now on
  const publishedMs = Math.min(published + (BLOCKING.test(type) ? MAX_CLOCK_LAG_MS : 0), nowMs)
  return (target ?? [])
    .filter((one) => one.type === 'User' && isUserId(one.id))
    .map((user) => ({ id, type, effect, userId: user.id, login: user.alternateId ?? '', publishedMs }))
}
