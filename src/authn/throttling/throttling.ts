import { innermostFailure } from '../../observability/dependency-failure.ts'
import type { Logger } from '../../observability/logger.ts'
import type { UserKeys } from '../../revocation/user-keys.ts'
import type { WindowKey } from '../../store/attempt-counters.ts'
import type { Store } from '../../store/store.ts'
import { mayHaveReachedUpstream } from '../../upstream/upstream-failure.ts'
import type { Client } from '../browser/client.ts'
import { type AttemptResult, isRefusal, isRefusedCall, SENT, staysCounted } from './attempt-result.ts'
import {
  type AttemptWindows,
  isOfCall,
  type LimitsDeps,
  type UserNames,
  windowsEndedBySignIn,
  windowsIfKnown,
  windowsOfAttempt,
  windowsOfCall,
  windowsOfUser,
} from './attempt-windows.ts'
import type { Attempt } from './attempts.ts'
import { type CountedRequest, type EnforceLimitsDeps, enforceLimits, refund } from './enforce-limits.ts'

export type Throttling = ReturnType<typeof createThrottling>

/** A counted attempt, which is consumed or refunded once: later calls have no effect. */
export interface Reservation {
  /**
   * Throws 429 E0000047, audited and counted in the metric, if a limit is used up; 503 if the store
   * is unreachable. If it throws, nothing stays counted. Counts again if the attempt was refunded,
   * or reached the store too late. `planned`: the attempt with what is known only from its
   * transaction. It is counted too if the reserved one was only a call.
   */
  enforce(planned?: Attempt): Promise<void>
  /**
   * In the background. Before `enforce` if the step lock was not acquired: then no limit is
   * enforced or audited.
   */
  refund(): void
  /**
   * Refunds the attempt unless it failed, or sent a message, a push or a recovery code. The call
   * itself is refunded unless Okta refused it.
   */
  consumeOrRefund(result: AttemptResult): void
  /** The same for a step that threw. */
  consumeOrRefundOnError(error: unknown): void
}

export interface ThrottlingDeps extends LimitsDeps, EnforceLimitsDeps {
  readonly store: Pick<Store, 'keyPrefix' | 'countAttempt' | 'refundAttempt' | 'clearWindows' | 'get' | 'set'>
  /** Known devices end with all sessions of their user. */
  readonly knownDevices: Pick<UserKeys, 'add'>
  readonly log: Logger
}

/** How long a device stays known without another full sign-in: 90 days. */
const KNOWN_MS = 90 * 86_400_000

/**
 * Throttling of guesses, of messages and calls to a user's phone or mailbox, and of calls that Okta
 * refuses (docs/security.md#throttling; limits and their reasons: docs/configuration.md#limits). An
 * attempt is reserved in every limit before anything is sent to Okta, and refunded unless it
 * failed.
 *
 * Reserving takes one round trip to Redis: a script for each of the limits of the user and those of
 * the address, sent in the same tick. While SECRET_KEYS has several keys, it takes another read.
 * Refunds are sent in the background.
 */
export function createThrottling(deps: ThrottlingDeps) {
  const { store, knownDevices, log } = deps
  return {
    /**
     * Counts the attempt in every limit, in this tick and without waiting. Without an attempt, it
     * does nothing.
     */
    reserve: (attempt: Attempt | undefined, client: Client): Reservation =>
      attempt === undefined ? NOT_COUNTED : createReservation(deps, attempt, client),

    /**
     * After a full sign-in: makes this device known for the user, and ends the `inARow` windows.
     */
    async rememberDevice(user: UserNames, client: Client): Promise<void> {
      const ended = windowsEndedBySignIn(deps, user, client)
      const knownDeviceKeys = ended.map(({ knownDeviceKey }) => knownDeviceKey)
      const clearing = ended.map(({ keyPrefix, windows, knownDeviceKey, signedInKey }) =>
        store.clearWindows(keyPrefix, windows, {
          keys: [knownDeviceKey, ...(signedInKey === undefined ? [] : [signedInKey])],
          ttlMs: KNOWN_MS,
        }),
      )
      try {
        await Promise.all([...clearing, knownDevices.add(user.userId, knownDeviceKeys, KNOWN_MS)])
      } catch (error) {
        // the sign-in still succeeds; the device becomes known with the next one
        log.warn('known_device_not_stored', { requestId: client.requestId }, error)
      }
    },

    /**
     * Resets all limits of a user except those of one device or transaction. Throws 503 if the
     * store is unreachable.
     */
    async resetUser(user: UserNames): Promise<void> {
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

/**
 * Half of the store's command timeout. If the store's clock is further ahead, `enforce` counts
 * again without it.
 */
const COUNT_WITHIN_MS = 1000

/** Longer than it takes to count an attempt. */
const CARRY_OVER_MS = 60_000

function createReservation(deps: ThrottlingDeps, attempt: Attempt, client: Client): Reservation {
  const requests = [...windowsOfAttempt(deps, attempt, client), ...windowsOfCall(deps, attempt, client)]
  // a store that stalled must not count an attempt whose request has ended, because nothing would
  // refund it
  const countSoon = () => countAll(deps, requests, client, deps.now() + COUNT_WITHIN_MS)
  let counted: Promise<readonly CountedRequest[]> | undefined = countSoon()
  let { kind } = attempt
  counted.catch(() => {}) // `enforce` throws it

  const enforceOn = async (counting: Promise<readonly CountedRequest[]>, planned: Attempt) => {
    let results = await counting
    if (results.some(({ late }) => late)) {
      refund(deps, results, client)
      results = await countAll(deps, requests, client)
    }
    if (attempt.kind === 'call') results = await countMore(deps, results, planned, client)
    return enforceLimits(deps, results, planned, client)
  }
  /** Ends the reservation: later calls find nothing to refund. */
  const end = (callStays: boolean, guessStays: boolean) => {
    const ended = counted
    counted = undefined
    const keeps = (window: WindowKey) => (isOfCall(window) ? callStays : guessStays)
    ended?.then(
      (results) => refund(deps, results, client, keeps),
      () => {}, // nothing was counted
    )
  }

  return {
    async enforce(planned = attempt) {
      kind = planned.kind
      counted = enforceOn(counted ?? countSoon(), planned)
      await counted
    },
    refund: () => end(false, false),
    consumeOrRefund: (result) => end(isRefusedCall(kind, result), staysCounted(kind, result)),
    consumeOrRefundOnError(error) {
      const mayBeSent = SENT.has(kind) && mayHaveReachedUpstream(error)
      end(isRefusal(innermostFailure(error)?.upstreamStatus), mayBeSent)
    },
  }
}

/** Counts what is known only from the transaction, beside `results`. */
async function countMore(
  deps: ThrottlingDeps,
  results: readonly CountedRequest[],
  planned: Attempt,
  client: Client,
): Promise<readonly CountedRequest[]> {
  const isAddressFull = results.some(({ full }) => full !== undefined)
  // a call that is no guess has no limit of its user, so whether the device is known matters only
  // then
  const requests =
    planned.kind !== 'call'
      ? windowsOfAttempt(deps, planned, client)
      : isAddressFull
        ? windowsIfKnown(deps, planned, client)
        : []
  try {
    return [...results, ...(await countAll(deps, requests, client))]
  } catch (error) {
    refund(deps, results, client)
    throw error
  }
}

/** Counts for user and address in one tick. If one of them fails, the others are refunded. */
async function countAll(
  deps: ThrottlingDeps,
  requests: readonly AttemptWindows[],
  client: Client,
  notAfterMs?: number,
): Promise<readonly CountedRequest[]> {
  const outcomes = await Promise.allSettled(requests.map((request) => countOne(deps, request, notAfterMs)))
  const results = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const failure = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failure === undefined) return results
  refund(deps, results, client)
  throw failure.reason
}

/**
 * While SECRET_KEYS are rotated, a device that is marked as known with an older key is also marked
 * with the newest one, for this attempt only. It must not last, because the index of known devices
 * has only the old Redis key, and ending all sessions would miss it.
 */
async function countOne(
  { store }: ThrottlingDeps,
  request: AttemptWindows,
  notAfterMs: number | undefined,
): Promise<CountedRequest> {
  const { override, formerKnownDeviceKeys = [] } = request
  for (const former of formerKnownDeviceKeys) {
    if (override === undefined || (await store.get(former)) === undefined) continue
    await store.set(override.ifKeyExists, '1', Math.min(KNOWN_MS, CARRY_OVER_MS), 'absent')
    break // the old key stays, because other replicas may still use it
  }
  const result = await store.countAttempt(notAfterMs === undefined ? request : { ...request, notAfterMs })
  return { request, ...result }
}
