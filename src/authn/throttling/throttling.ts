import type { Logger } from '../../observability/logger.ts'
import type { UserKeys } from '../../session/user-indexes.ts'
import type { CountResult, Store } from '../../store/store.ts'
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
 * Throttling of guesses, and of messages and calls to a user's phone or mailbox (docs/security.md#throttling; limits
 * and their reasons: docs/configuration.md#limits). An attempt is reserved in every limit before anything is sent to Okta, and refunded unless
 * it failed.
 *
 * Reserving takes one round trip to Redis: one script for the limits of the user and one for those of the address, sent
 * in the same tick. While SECRET_KEYS has several keys, it takes another read. Refunds are sent in the background.
 */
export interface Throttling {
  /** Counts the attempt in every limit, in this tick and without waiting. Without an attempt, it does nothing. */
  reserve(attempt: Attempt | undefined, client: Client): Reservation
  /** After a full sign-in: makes this device known for the user, and ends the `inARow` windows. */
  rememberDevice(user: UserNames, client: Client): Promise<void>
  /** Whether the user has fully signed in on this device before. False if neither user id nor login is given. */
  isKnownDevice(user: Pick<Attempt, 'userId' | 'login'>, client: Client): Promise<boolean>
  /** Resets all limits of a user except those of one device or transaction. Throws 503 if the store is unreachable. */
  resetUser(user: UserNames): Promise<void>
}

/** A counted attempt, which is consumed or refunded once: later calls have no effect. */
export interface Reservation {
  /**
   * Throws 429 E0000047, audited and counted in the metric, if a limit is used up; 503 if the store is unreachable. If
   * it throws, nothing stays counted. Counts again if the attempt was refunded, or reached the store too late.
   */
  enforce(): Promise<void>
  /** In the background. Before `enforce` if the step lock was not acquired: then no limit is enforced or audited. */
  refund(): void
  /** Refunds the attempt unless it failed, or sent a message, a push or a recovery code. */
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
        // the sign-in still succeeds; the device becomes known with the next one
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

/** Half of the store's command timeout. If the store's clock is further ahead, `enforce` counts again without it. */
const COUNT_WITHIN_MS = 1000

/** Longer than it takes to count an attempt. */
const CARRY_OVER_MS = 60_000

/** The store's result for the windows of the user, or those of the address. */
interface CountedWindows extends CountResult {
  readonly request: AttemptWindows
}

function createReservation(deps: ThrottlingDeps, attempt: Attempt, client: Client): Reservation {
  // a store that stalled must not count an attempt whose request has ended, because nothing would refund it
  const countSoon = () => countAttempt(deps, attempt, client, deps.now() + COUNT_WITHIN_MS)
  let counted: Promise<readonly CountedWindows[]> | undefined = countSoon()
  counted.catch(() => {}) // `enforce` throws it

  const enforceOn = async (counting: Promise<readonly CountedWindows[]>) => {
    let results = await counting
    if (results.some(({ late }) => late)) {
      refund(deps, results, client)
      results = await countAttempt(deps, attempt, client)
    }
    return enforceLimits(deps, results, attempt, client)
  }
  /** Ends the reservation: later calls find nothing to refund. */
  const end = (staysCounted: boolean) => {
    const ended = counted
    counted = undefined
    if (!staysCounted)
      ended?.then(
        (results) => refund(deps, results, client),
        () => {}, // nothing was counted
      )
  }

  return {
    async enforce() {
      counted = enforceOn(counted ?? countSoon())
      await counted
    },
    refund: () => end(false),
    consumeOrRefund: (result) => end(staysCounted(attempt.kind, result)),
    consumeOrRefundOnError: (error) => end(SENT.has(attempt.kind) && mayHaveReachedUpstream(error)),
  }
}

/** Counts for user and address in one tick. If one of them fails, the other is refunded. */
async function countAttempt(
  deps: ThrottlingDeps,
  attempt: Attempt,
  client: Client,
  notAfterMs?: number,
): Promise<readonly CountedWindows[]> {
  const requests = windowsOfAttempt(deps, attempt, client)
  const outcomes = await Promise.allSettled(requests.map((request) => countOne(deps, request, notAfterMs)))
  const results = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const failure = outcomes.find((one) => one.status === 'rejected')
  if (failure === undefined) return results
  refund(deps, results, client)
  throw failure.reason
}

/**
 * While SECRET_KEYS are rotated, a device that is marked as known with an older key is also marked with the newest one,
 * for this attempt only. It must not last, because the index of known devices has only the old Redis key, and ending
 * all sessions would miss it.
 */
async function countOne(
  { store, knownMs }: ThrottlingDeps,
  request: AttemptWindows,
  notAfterMs: number | undefined,
): Promise<CountedWindows> {
  const { override, formerKnownDeviceKeys = [] } = request
  for (const former of formerKnownDeviceKeys) {
    if (override === undefined || (await store.get(former)) === undefined) continue
    await store.set(override.ifKeyExists, '1', Math.min(knownMs, CARRY_OVER_MS), 'absent')
    break // the old key stays, because other replicas may still use it
  }
  const result = await store.countAttempt(notAfterMs === undefined ? request : { ...request, notAfterMs })
  return { request, ...result }
}

/**
 * Throws 429 if a limit is used up. Returns where the attempt stays counted: for a known device, not at the address.
 */
function enforceLimits(
  deps: ThrottlingDeps,
  results: readonly CountedWindows[],
  attempt: Attempt,
  client: Client,
): readonly CountedWindows[] {
  const isKnown = results.some(({ overridden }) => overridden)
  const applied = results.filter(({ overridden }) => overridden === isKnown)
  const usedUp = applied.flatMap((result) => reachedLimits(result.request, result))
  const [longest] = usedUp.sort((one, other) => other.leftMs - one.leftMs)
  const refunded = longest === undefined ? results.filter((result) => !applied.includes(result)) : results
  refund(deps, refunded, client)
  if (longest !== undefined) throw limitReachedError(deps, longest, attempt, client)
  return applied
}

function refund(
  { store, log }: ThrottlingDeps,
  results: readonly CountedWindows[],
  { requestId }: Client,
): void {
  for (const { request, countedWindows } of results) {
    store
      .refundAttempt(request.keyPrefix, countedWindows)
      .catch((error: unknown) => log.warn('attempt_refund_failed', { requestId }, error))
  }
}

/** Wrong credentials; a wrong code or answer; a wrong recovery answer. */
const REJECTED_CODES: ReadonlySet<string | undefined> = new Set(['E0000004', 'E0000068', 'E0000087'])
/** Okta rejects an activation or recovery token as an unknown token, or as wrong credentials. */
const REJECTED_TOKEN_CODES: ReadonlySet<string | undefined> = new Set(['E0000004', 'E0000011'])
/** Factor results that do not reject a code: the sign-in continues, waits, or requires the next code. */
const HARMLESS_RESULTS: ReadonlySet<string> = new Set(['SUCCESS', 'WAITING', 'CHALLENGE'])
/** They may reach the user even if the response is lost, or a client could disconnect early and send without limit. */
const SENT: ReadonlySet<AttemptKind> = new Set(['message', 'push', 'recovery'])

/**
 * LOCKED_OUT stays counted like any failure, or the limits would reveal which users are locked out. A push stays
 * counted if it was sent, or if a code with it was rejected.
 */
function staysCounted(kind: AttemptKind, result: StepResult): boolean {
  const { outcome, status, factorResult, wrongOldPassword } = result
  const errorCode = outcome.kind === 'refusal' ? outcome.code : outcome.errorCode
  // if Okta answered with a status, it was sent, even if the broker refuses the answer
  const isSent = SENT.has(kind) && (errorCode === undefined || status !== undefined)
  if (kind === 'token') return REJECTED_TOKEN_CODES.has(errorCode)
  if (kind === 'message' || kind === 'recovery') return isSent
  const isRejected = REJECTED_CODES.has(errorCode)
  if (kind === 'push') return isSent || isRejected
  if (kind === 'password') return isRejected || status === 'LOCKED_OUT' || wrongOldPassword === true
  // some factors reject a code with status 200
  const isWrongCode = factorResult !== undefined && !HARMLESS_RESULTS.has(factorResult)
  return isRejected || status === 'LOCKED_OUT' || isWrongCode
}
