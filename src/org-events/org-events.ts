import { z } from 'zod'
import { invalidField } from '../errors.ts'
import { isUserId } from '../user-id.ts'

/**
 * What an event of the org does to the sign-ins of its users. A lock ends nothing: strangers can
 * lock an account.
 */
type Effect = 'end_sessions' | 'refetch_groups'

interface EventRule {
  readonly effect: Effect
  /**
   * Afterwards the user cannot sign in. So sessions also end that began soon after the event, as
   * the clock may be ahead of Okta's.
   */
  readonly blocksUser?: true
  /**
   * No effect if the actor is the user or Okta: a user's own recovery is logged so too, and a
   * stranger can start one.
   */
  readonly needsOtherActor?: true
}

const END_SESSIONS: EventRule = { effect: 'end_sessions' }
const BLOCK: EventRule = { ...END_SESSIONS, blocksUser: true }
const REFETCH: EventRule = { effect: 'refetch_groups' }

const RULES: ReadonlyMap<unknown, EventRule> = new Map([
  ['user.lifecycle.deactivate', BLOCK],
  ['user.lifecycle.suspend', BLOCK],
  ['user.lifecycle.delete.initiated', BLOCK],
  ['user.session.clear', END_SESSIONS],
  ['user.account.update_password', END_SESSIONS],
  ['user.account.reset_password', { ...END_SESSIONS, needsOtherActor: true }],
  ['user.mfa.factor.reset_all', END_SESSIONS],
  ['user.authentication.universal_logout', END_SESSIONS],
  ['group.user_membership.add', REFETCH],
  ['group.user_membership.remove', REFETCH],
])

const MAX_CLOCK_LAG_MS = 60_000

/** One event for one user. */
export interface OrgEvent {
  /**
   * The same in every delivery of the event. undefined: unreadable, so a second delivery is not
   * recognized.
   */
  readonly id: string | undefined
  readonly type: string
  readonly effect: Effect
  readonly userId: string
  /** As Okta writes it. Empty if the event does not name it. */
  readonly login: string
  /**
   * By Okta's clock, or a minute later if the event blocks the user, but not later than `nowMs`.
   */
  readonly publishedMs: number
}

/** An event whose type has an effect, and the parts of it that could not be read. */
export interface UnreadableEvent {
  readonly type: string
  readonly parts: readonly UnreadablePart[]
}

type UnreadablePart = 'uuid' | 'published' | 'target' | 'login'

/**
 * A delivery of an event hook (Okta's documentation, concepts/event-hooks). Members that are not
 * listed are ignored.
 */
export const Delivery = z.object({ data: z.object({ events: z.array(z.unknown()) }) })

/**
 * The events that have an effect, oldest first; those of them that could not be read in full; and
 * the number of the others: of unknown types, failed ones, and a user's own recoveries. None fails
 * the delivery, because Okta does not repeat it.
 *
 * @throws 400 E0000001 if the body is not a delivery
 */
export function readDelivery(body: unknown, nowMs: number) {
  const delivery = Delivery.safeParse(body)
  if (!delivery.success) throw invalidField('data.events: must be the events of an event hook')
  const read = delivery.data.data.events.map((sent) => readEvent(Object(sent), nowMs))
  const events = read.flatMap((event) => event.events)
  return {
    events: events.toSorted((a, b) => a.publishedMs - b.publishedMs),
    unreadable: read.flatMap((event) => event.unreadable ?? []),
    ignored: read.filter((event) => event.events.length === 0 && event.unreadable === undefined).length,
  }
}

type Fields = Readonly<Record<string, unknown>>

interface ReadEvent {
  readonly events: readonly OrgEvent[]
  readonly unreadable?: UnreadableEvent | undefined
}

/**
 * What cannot be read does not hide the rest. Without a readable time, the event counts as
 * published now: to sign a user in again does less harm than to keep the session of a user whom the
 * org has disabled.
 */
function readEvent({ eventType, uuid, published, outcome, actor, target }: Fields, nowMs: number): ReadEvent {
  const rule = RULES.get(eventType)
  if (rule === undefined || Object(outcome).result === 'FAILURE') return { events: [] }
  const { effect, blocksUser, needsOtherActor } = rule
  const type = String(eventType)
  const id = typeof uuid === 'string' && /^[\w-]{1,100}$/.test(uuid) ? uuid : undefined
  const sentMs = readTime(published)
  // a later time than now would end sessions that are opened from now on
  const publishedMs = Math.min((sentMs ?? nowMs) + (blocksUser ? MAX_CLOCK_LAG_MS : 0), nowMs)
  const { users, isComplete } = readTargets(target)

  const unreadableParts: Readonly<Record<UnreadablePart, boolean>> = {
    uuid: id === undefined,
    published: sentMs === undefined,
    target: !isComplete,
    login: effect === 'refetch_groups' && users.some(({ login }) => login === ''),
  }
  const parts = (Object.keys(unreadableParts) as UnreadablePart[]).filter((part) => unreadableParts[part])
  return {
    events: users
      .filter(({ userId }) => needsOtherActor !== true || !isUserOrOkta(actor, userId))
      .map((user) => ({ id, type, effect, ...user, publishedMs })),
    unreadable: parts.length === 0 ? undefined : { type, parts },
  }
}

/**
 * The users, each once. Not complete: one of the targets may be a user who cannot be read, or none
 * is a user.
 */
function readTargets(target: unknown) {
  const targets: readonly Fields[] = Array.isArray(target) ? target.map((entry) => Object(entry)) : []
  const users = new Map<string, Pick<OrgEvent, 'userId' | 'login'>>()
  let isComplete = true
  for (const { type, id, alternateId } of targets) {
    if (type === 'User' && isUserId(id))
      users.set(id, { userId: id, login: typeof alternateId === 'string' ? alternateId : '' })
    else if (type === 'User' || typeof type !== 'string') isComplete = false
  }
  return { users: [...users.values()], isComplete: isComplete && users.size > 0 }
}

/**
 * Okta is the actor `SystemPrincipal`: seen for users' own recoveries in a support article (A4).
 */
function isUserOrOkta(actor: unknown, userId: string): boolean {
  const { type, id }: Fields = Object(actor)
  return type === 'SystemPrincipal' || id === userId
}

const TIME = /^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d(:?\d\d)?)$/

/**
 * ISO 8601 with a time zone, whose minutes may be missing or follow without a colon (`+0000`).
 * Milliseconds since 1970.
 */
function readTime(published: unknown): number | undefined {
  if (typeof published !== 'string' || !TIME.test(published)) return undefined
  const withColon = published.replace(
    /([+-]\d\d):?(\d\d)?$/,
    (_, hours, minutes = '00') => `${hours}:${minutes}`,
  )
  const time = Date.parse(withColon)
  return Number.isNaN(time) ? undefined : time
}
