import { type BrokerError, rateLimited } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { UserKeys } from '../../session/user-keys.ts'
import type { Counted, Counting } from '../../store/counting.ts'
import type { Store } from '../../store/store.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { Exchanged } from '../transaction/exchanged.ts'
import type { Attempt } from './attempts.ts'
import type { Countings, LabelledCounting, PersonalCounting, PersonNames } from './countings.ts'
import { isSpent, mayHaveGoneOut } from './spent.ts'

/**
 * Limits on guessing, and on messages and calls to a user's phone or mailbox (DESIGN §4; docs/security.md lists the limits and
 * the reasons). An attempt is reserved in every limit before anything is sent upstream, and refunded unless it failed.
 *
 * Cost: one round trip to Redis, whatever the number of limits. The limits of a user are one script on one slot, those of an
 * address another, and both are sent in the same tick. While SECRET_KEYS holds several keys, one more read is needed. A refund
 * is sent in the background.
 */
export interface Throttling {
  /**
   * Counts the attempt in every limit, in this tick and without waiting. With `undefined` (no attempt) nothing is counted and
   * nothing is refused.
   */
  reserve(attempt: Attempt | undefined, client: Client): Reservation
  /** After a full sign-in: this device is now known for the user, and the user's failures in a row end. */
  remember(user: PersonNames, client: Client): Promise<void>
  /** Whether this device has fully signed the user in before; false if neither user id nor login is given. */
  isKnownDevice(user: Pick<Attempt, 'userId' | 'login'>, client: Client): Promise<boolean>
  /** Ends all counts of a user that are not of one device or transaction. If the store is unreachable it throws 503. */
  forgive(user: PersonNames): Promise<void>
}

/** An attempt that is counted. The first of `refund`, `settle` and `settleError` decides whether it stays counted. */
export interface Reservation {
  /**
   * Throws 429 E0000047 (audited and counted in the metric) if a limit is used up, or 503 if the store is unreachable. If it
   * throws, nothing stays counted. Counts again if the attempt was refunded, or reached the store too late.
   */
  enforce(): Promise<void>
  /**
   * Gives the attempt back, in the background. Also before `enforce`, if the step lock was not acquired: a used-up limit is then
   * neither audited nor answered.
   */
  refund(): void
  /** Refunds the attempt unless it failed or sent a message, a push or a recovery. */
  settle(result: Exchanged): void
  /** The same for a step that threw. */
  settleError(error: unknown): void
}

export interface ThrottlingDeps {
  readonly store: Pick<Store, 'count' | 'uncount' | 'endCounts' | 'get' | 'set'>
  readonly countings: Countings
  readonly knownMs: number
  /** Known devices end with all sessions of their user. */
  readonly knownDevices: Pick<UserKeys, 'add'>
  readonly audit: Pick<StepAudit, 'limitHit'>
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

export function createThrottling(deps: ThrottlingDeps): Throttling {
  return {
    reserve: (attempt, client) =>
      attempt === undefined ? NOT_COUNTED : createReservation(deps, attempt, client),

    async remember(user, client) {
      try {
        await rememberDevice(deps, user, client)
      } catch (error) {
        // the sign-in succeeds nevertheless: this device is unknown until the next one
        deps.log.warn('device_not_remembered', { requestId: client.requestId }, error)
      }
    },

    async isKnownDevice(user, client) {
      for (const key of deps.countings.knownDeviceKeys(user, client))
        if ((await deps.store.get(key)) !== undefined) return true
      return false
    },

    async forgive(user) {
      const counted = deps.countings.overBrowsers(user)
      await Promise.all(counted.map(({ place, windows }) => deps.store.endCounts(place, windows)))
    },
  }
}

const NOT_COUNTED: Reservation = {
  enforce: () => Promise.resolve(),
  refund: () => undefined,
  settle: () => undefined,
  settleError: () => undefined,
}

/** Half of what a store operation may take. If the store's clock is ahead by more, each attempt is counted in a second try. */
const COUNT_WITHIN_MS = 1000

/** Longer than it takes to count an attempt. */
const CARRIED_MS = 60_000

/** What one key of the store answered: of the user or of the address. */
interface Place extends Counted {
  readonly counting: LabelledCounting
}

function createReservation(deps: ThrottlingDeps, attempt: Attempt, client: Client): Reservation {
  // a store that stalled must not count an attempt whose request has ended: nobody would refund it
  const countSoon = () => countAttempt(deps, attempt, client, { notAfterMs: deps.now() + COUNT_WITHIN_MS })
  let counted: Promise<readonly Place[]> | undefined = countSoon()
  counted.catch(() => {}) // `enforce` throws it

  const enforceOn = async (counting: Promise<readonly Place[]>): Promise<readonly Place[]> => {
    let places = await counting
    if (places.some(({ late }) => late)) {
      refund(deps, places, client)
      places = await countAttempt(deps, attempt, client)
    }
    return placesThatApply(deps, places, attempt, client)
  }
  /** Ends the reservation: what follows finds nothing to refund. */
  const end = (staysCounted: boolean) => {
    const ended = counted
    counted = undefined
    if (!staysCounted)
      ended?.then(
        (places) => refund(deps, places, client),
        () => {}, // nothing was counted
      )
  }

  return {
    async enforce() {
      counted = enforceOn(counted ?? countSoon())
      await counted
    },
    refund: () => end(false),
    settle: (result) => end(isSpent(attempt.kind, result)),
    settleError: (error) => end(mayHaveGoneOut(attempt.kind, error)),
  }
}

/** Counts at the user's key and the address's in one tick. If one of them fails, nothing stays counted at the other. */
async function countAttempt(
  deps: ThrottlingDeps,
  attempt: Attempt,
  client: Client,
  limit: Pick<Counting, 'notAfterMs'> = {},
): Promise<readonly Place[]> {
  const { store, countings } = deps
  const personal = countings.personal(attempt, client)
  if (personal !== undefined && personal.formerMarks.length > 0) await carryKnownDevice(deps, personal)
  const countAt = async (counting: LabelledCounting) => ({
    counting,
    ...(await store.count({ ...counting, ...limit })),
  })
  const answers = await Promise.allSettled(
    [personal, countings.local(attempt, client)].filter((one) => one !== undefined).map(countAt),
  )
  const places = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  const failure = answers.find((answer) => answer.status === 'rejected')
  if (failure === undefined) return places
  refund(deps, places, client)
  throw failure.reason
}

/**
 * While SECRET_KEYS change: a device that is known by an older key becomes known by the newest one, for this attempt only. The
 * index of known devices names the old Redis key, so the new one would outlive the end of all sessions.
 */
async function carryKnownDevice(
  { store, knownMs }: ThrottlingDeps,
  { mark, formerMarks }: PersonalCounting,
): Promise<void> {
  for (const former of formerMarks) {
    if ((await store.get(former)) === undefined) continue
    await store.set(mark, '1', Math.min(knownMs, CARRIED_MS), 'absent')
    return // the old key stays, as other replicas may still use it
  }
}

/** The places where the attempt stays counted: for a known device not the address. Throws 429 if a limit there is used up. */
function placesThatApply(
  deps: ThrottlingDeps,
  places: readonly Place[],
  attempt: Attempt,
  client: Client,
): readonly Place[] {
  const ofKnownDevice = places.filter(({ instead }) => instead)
  const applied = ofKnownDevice.length > 0 ? ofKnownDevice : places
  const refusal = refusalIn(deps, applied, attempt, client)
  const refunded = refusal === undefined ? places.filter((place) => !applied.includes(place)) : places
  refund(deps, refunded, client)
  if (refusal !== undefined) throw refusal
  return applied
}

/** Of the limits that are used up, the one that holds longest. */
function refusalIn(
  { metrics, audit, now }: ThrottlingDeps,
  places: readonly Place[],
  attempt: Attempt,
  client: Client,
): BrokerError | undefined {
  const [longest] = places.flatMap(usedUpIn).sort((one, other) => other.leftMs - one.leftMs)
  if (longest === undefined) return undefined
  const { label, most, leftMs } = longest
  const retryAfterSeconds = Math.max(1, Math.ceil(leftMs / 1000))
  const { operation, factorType, login, userId } = attempt
  metrics.limitHits.inc({ limit: label })
  audit.limitHit({ limit: label, operation, factorType, login, userId, retryAfterSeconds }, client)
  return rateLimited({
    limit: most,
    resetAtSeconds: Math.ceil((now() + leftMs) / 1000),
    retryAfterSeconds,
  })
}

function usedUpIn({ counting, instead, full }: Place): { label: string; most: number; leftMs: number }[] {
  if (full === undefined) return []
  const window = (instead ? counting.instead?.windows : counting.windows)?.[full.index]
  return window === undefined ? [] : [{ label: window.label, most: window.most, leftMs: full.leftMs }]
}

function refund({ store, log }: ThrottlingDeps, places: readonly Place[], { requestId }: Client): void {
  for (const { counting, countedIn } of places) {
    store
      .uncount(counting.place, countedIn)
      .catch((error: unknown) => log.warn('attempt_not_given_back', { requestId }, error))
  }
}

async function rememberDevice(
  { store, countings, knownMs, knownDevices }: ThrottlingDeps,
  user: PersonNames,
  client: Client,
): Promise<void> {
  const keys = countings.ofPerson(user, client)
  await Promise.all(
    keys.flatMap(({ mark, place, inARow }) => [
      store.endCounts(place, inARow, { key: mark, ttlMs: knownMs }),
      knownDevices.add(user.userId, mark, knownMs),
    ]),
  )
}
