import type { Logger } from '../../observability/logger.ts'
import type { UserKeys } from '../../session/user-indexes.ts'
import type { CountResult } from '../../store/attempt-counters.ts'
import type { Store } from '../../store/store.ts'
import { mayHaveReachedUpstream } from '../../upstream/upstream-failure.ts'
import type { Client } from '../browser/client.ts'
import type { StepResult } from '../transaction/step-result.ts'
import type { Attempt, AttemptKind } from './attempts.ts'
import { type LimitReachedDeps, limitReachedError } from './limit-reached.ts'
import {
  type AttemptWindows,
  knownDeviceKeys,
  type LimitsDeps,
  reachedLimits,
  type UserNames,
  windowsEndedBySignIn,
  windowsOfAttempt,
  windowsOfUser,
} from './limits.ts'

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
  rememberDevice(user: UserNames, client: Client): Promise<void>
  /** Whether this device has fully signed the user in before; false if neither user id nor login is given. */
  isKnownDevice(user: Pick<Attempt, 'userId' | 'login'>, client: Client): Promise<boolean>
  /** Ends all counts of a user that are not of one device or transaction. If the store is unreachable it throws 503. */
  resetUser(user: UserNames): Promise<void>
}

/** An attempt that is counted. The first of `refund`, `consumeOrRefund` and `consumeOrRefundOnError` decides whether it stays counted. */
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
  consumeOrRefund(result: StepResult): void
  /** The same for a step that threw. */
  consumeOrRefundOnError(error: unknown): void
}

export interface ThrottlingDeps extends LimitsDeps, LimitReachedDeps {
  readonly store: Pick<Store, 'countAttempt' | 'refundAttempt' | 'clearWindows' | 'get' | 'set'>
  readonly knownMs: number
  /** Known devices end with all sessions of their user. */
  readonly knownDevices: Pick<UserKeys, 'add'>
  readonly log: Logger
}

export function createThrottling(deps: ThrottlingDeps): Throttling {
  const { store, knownMs, knownDevices, log } = deps
  return {
    reserve: (attempt, client) =>
      attempt === undefined ? NOT_COUNTED : createReservation(deps, attempt, client),

    async rememberDevice(user, client) {
      const ended = windowsEndedBySignIn(deps, user, client)
      const writes = ended.flatMap(({ keyPrefix, windows, knownDeviceKey }) => [
        store.clearWindows(keyPrefix, windows, { key: knownDeviceKey, ttlMs: knownMs }),
        knownDevices.add(user.userId, knownDeviceKey, knownMs),
      ])
      try {
        await Promise.all(writes)
      } catch (error) {
        // the sign-in succeeds nevertheless: this device is unknown until the next one
        log.warn('known_device_not_stored', { requestId: client.requestId }, error)
      }
    },

    async isKnownDevice(user, client) {
      for (const key of knownDeviceKeys(deps, user, client))
        if ((await store.get(key)) !== undefined) return true
      return false
    },

    async resetUser(user) {
      const counted = windowsOfUser(deps, user)
      await Promise.all(counted.map(({ keyPrefix, windows }) => store.clearWindows(keyPrefix, windows)))
    },
  }
}

const noop = () => {}
const NOT_COUNTED: Reservation = {
  enforce: async () => {},
  refund: noop,
  consumeOrRefund: noop,
  consumeOrRefundOnError: noop,
}

/** Half of what a store operation may take. If the store's clock is ahead by more, each attempt is counted in a second try. */
const COUNT_WITHIN_MS = 1000

/** Longer than it takes to count an attempt. */
const CARRIED_MS = 60_000

/** The store's answer for one place: the user's or the address's. */
interface CountedPlace extends CountResult {
  readonly counting: AttemptWindows
}

function createReservation(deps: ThrottlingDeps, attempt: Attempt, client: Client): Reservation {
  // a store that stalled must not count an attempt whose request has ended: nobody would refund it
  const countSoon = () => countAttempt(deps, attempt, client, deps.now() + COUNT_WITHIN_MS)
  let counted: Promise<readonly CountedPlace[]> | undefined = countSoon()
  counted.catch(() => {}) // `enforce` throws it

  const enforceOn = async (counting: Promise<readonly CountedPlace[]>) => {
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
    consumeOrRefund: (result) => end(isFailure(attempt.kind, result)),
    consumeOrRefundOnError: (error) => end(SENT.has(attempt.kind) && mayHaveReachedUpstream(error)),
  }
}

/** Counts at all places in one tick. If one of them fails, nothing stays counted at the others. */
async function countAttempt(
  deps: ThrottlingDeps,
  attempt: Attempt,
  client: Client,
  notAfterMs?: number,
): Promise<readonly CountedPlace[]> {
  const countings = windowsOfAttempt(deps, attempt, client)
  const answers = await Promise.allSettled(countings.map((counting) => countAt(deps, counting, notAfterMs)))
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
async function countAt(
  { store, knownMs }: ThrottlingDeps,
  counting: AttemptWindows,
  notAfterMs: number | undefined,
): Promise<CountedPlace> {
  const { override, formerKnownDeviceKeys = [] } = counting
  for (const former of formerKnownDeviceKeys) {
    if (override === undefined || (await store.get(former)) === undefined) continue
    await store.set(override.ifKeyExists, '1', Math.min(knownMs, CARRIED_MS), 'absent')
    break // the old key stays, as other replicas may still use it
  }
  const answer = await store.countAttempt(notAfterMs === undefined ? counting : { ...counting, notAfterMs })
  return { counting, ...answer }
}

/** Where the attempt stays counted: for a known device not at the address. Throws 429 if a limit there is used up. */
function placesThatApply(
  deps: ThrottlingDeps,
  places: readonly CountedPlace[],
  attempt: Attempt,
  client: Client,
): readonly CountedPlace[] {
  const isKnown = places.some(({ overridden }) => overridden)
  const applied = places.filter(({ overridden }) => overridden === isKnown)
  const usedUp = applied.flatMap((place) => reachedLimits(place.counting, place))
  const [longest] = usedUp.sort((one, other) => other.leftMs - one.leftMs)
  const refunded = longest === undefined ? places.filter((place) => !applied.includes(place)) : places
  refund(deps, refunded, client)
  if (longest !== undefined) throw limitReachedError(deps, longest, attempt, client)
  return applied
}

function refund(
  { store, log }: ThrottlingDeps,
  places: readonly CountedPlace[],
  { requestId }: Client,
): void {
  for (const { counting, countedWindows } of places) {
    store
      .refundAttempt(counting.keyPrefix, countedWindows)
      .catch((error: unknown) => log.warn('attempt_refund_failed', { requestId }, error))
  }
}

/** Wrong credentials; a wrong code or answer; a wrong recovery answer. */
const REFUSED: ReadonlySet<string | undefined> = new Set(['E0000004', 'E0000068', 'E0000087'])
/** Okta refuses a token that names a user as an unknown token, or as credentials. */
const TOKEN_REFUSED: ReadonlySet<string | undefined> = new Set(['E0000004', 'E0000011'])
/** Results of a factor that do not refuse a code: the sign-in continues, waits, or asks for the next code. */
const HARMLESS_RESULTS: ReadonlySet<string> = new Set(['SUCCESS', 'WAITING', 'CHALLENGE'])
/**
 * They reach the user's phone or mailbox, and may do so even if the response was lost. They stay counted then, or a client could
 * disconnect early and send without limit.
 */
const SENT: ReadonlySet<AttemptKind> = new Set(['message', 'push', 'recovery'])

/**
 * Whether an attempt stays counted. LOCKED_OUT is a failure too, or the limits would reveal which users are locked out. A push
 * stays counted if it was sent, or if a code with it was refused.
 */
function isFailure(kind: AttemptKind, result: StepResult): boolean {
  const { outcome, status, factorResult, wrongOldPassword } = result
  const errorCode = outcome.kind === 'refusal' ? outcome.code : outcome.errorCode
  // Okta answered with a status, also where the broker refuses the answer
  const isSent = SENT.has(kind) && (errorCode === undefined || status !== undefined)
  if (kind === 'token') return TOKEN_REFUSED.has(errorCode)
  if (kind === 'message' || kind === 'recovery') return isSent
  const isRefused = REFUSED.has(errorCode)
  if (kind === 'push') return isSent || isRefused
  if (kind === 'password') return isRefused || status === 'LOCKED_OUT' || wrongOldPassword === true
  // some factors refuse a code with 200
  const isWrongCode = factorResult !== undefined && !HARMLESS_RESULTS.has(factorResult)
  return isRefused || status === 'LOCKED_OUT' || isWrongCode
}
