import type { Signer } from '../crypto/keys.ts'
import { createLogThrottle } from '../observability/log-throttle.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Recheck } from '../session/session.ts'
import type { EndAllSessions } from '../session/user-sessions.ts'
import { KEYS, keyOf } from '../store/keys.ts'
import type { Store } from '../store/store.ts'
import type { UpstreamResponse } from '../upstream/http-api.ts'
import type { VoidTimes } from './void-times.ts'

type From = Parameters<Recheck>[1]

export interface RecheckOptions {
  readonly everyMs: number
  readonly store: Pick<Store, 'keyPrefix' | 'set' | 'delete'>
  readonly nameSigner: Signer
  /** Okta's answer, whatever it is. */
  readonly readUser: (userId: string) => Promise<UpstreamResponse>
  readonly voidTimes: Pick<VoidTimes, 'record'>
  readonly endAllSessions: EndAllSessions
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

/** Of this replica. More sessions than this are checked later. */
const MAX_PER_MINUTE = 60
/**
 * While checks fail: enough to notice that Okta answers again, or that the token may read users.
 */
const MAX_PER_MINUTE_FAILING = 5
const MINUTE_MS = 60_000
/** Okta's statuses of users who may not sign in, and stay so until an administrator changes it. */
const ENDED = new Set<unknown>(['DEPROVISIONED', 'SUSPENDED'])

/**
 * Asks Okta whether the user of a session that is in use may still sign in: once in `everyMs` for
 * all replicas. It runs with the write that extends the session once a minute, so that no request
 * makes a round trip for it. An error ends no session, and nothing was learned: the check is due
 * again when a session of the user is next extended.
 */
export function createRecheck(options: RecheckOptions): Recheck {
  const { everyMs, store, nameSigner, readUser, metrics, now } = options
  const budget = createMinuteBudget(now)
  const judge = createJudge(now)
  const reportFailure = createFailureReport(options)

  return async (session, from) => {
    const { userId, authenticatedAtMs } = session
    if (now() - authenticatedAtMs < everyMs || budget.left() === 0) return
    const key = keyOf(store, KEYS.recheck, nameSigner.sign(userId))
    const makeDue = () => store.delete(key).catch(() => {}) // else it is due after `everyMs`
    try {
      const isDue = await store.set(key, '1', everyMs, 'absent')
      if (!isDue) return
      if (!budget.take()) return void (await makeDue())
      const answer = await readUser(userId)
      const result = judge(userId, answer)
      if (result === 'ended') await endSessions(options, userId, from)
      metrics.sessionRechecks.inc({ result })
      budget.observe(result)
      if (result !== 'failed') return
      reportFailure(from, answer.status)
    } catch (error) {
      metrics.sessionRechecks.inc({ result: 'failed' })
      budget.observe('failed')
      reportFailure(from, undefined, error)
    }
    await makeDue()
  }
}

/** Once they are void, no request uses them, so the check would not be repeated. */
async function endSessions(options: RecheckOptions, userId: string, from: From): Promise<void> {
  const { voidTimes, endAllSessions, log, now } = options
  await voidTimes.record(userId, now())
  const reason = 'by_org'
  try {
    await endAllSessions(userId, reason, (count) =>
      log.audit('sessions_revoked', { ...from, userId, reason, count }),
    )
  } catch (error) {
    log.warn('org_event_not_cleared', { requestId: from.requestId, userId }, error)
  }
}

type Result = 'active' | 'ended' | 'failed'

/** How long a user whom the token could read shows that a 404 for another user is true. */
const PROOF_MS = 5 * MINUTE_MS

/**
 * An answer about another user, or about none, shows nothing.
 *
 * A token that may not read users could get 404 for all of them, so a 404
 * counts only if the token has just read another user.
 */
function createJudge(now: () => number) {
  let readable: readonly { readonly userId: string; readonly atMs: number }[] = []

  return (userId: string, { status, json }: UpstreamResponse): Result => {
    const { id, status: userStatus, errorCode } = Object(json)
    const others = readable.filter((user) => user.userId !== userId && now() - user.atMs < PROOF_MS)
    if (status === 200 && id === userId && typeof userStatus === 'string') {
      readable = [{ userId, atMs: now() }, ...others.slice(0, 1)]
      return ENDED.has(userStatus) ? 'ended' : 'active'
    }
    return status === 404 && errorCode === 'E0000007' && others.length > 0 ? 'ended' : 'failed'
  }
}

/** A window of a minute begins with its first check. */
function createMinuteBudget(now: () => number) {
  let [endsAtMs, used, max] = [0, 0, MAX_PER_MINUTE]
  const left = () => Math.max(0, now() < endsAtMs ? max - used : max)
  return {
    left,
    take(): boolean {
      if (left() === 0) return false
      if (now() >= endsAtMs) [endsAtMs, used] = [now() + MINUTE_MS, 0]
      used += 1
      return true
    },
    observe(result: Result): void {
      max = result === 'failed' ? MAX_PER_MINUTE_FAILING : MAX_PER_MINUTE
    },
  }
}

/** One line a minute for each status. */
function createFailureReport({ log, now }: RecheckOptions) {
  const mayLog = createLogThrottle({ periodMs: MINUTE_MS, maxLines: 10, now })
  return ({ requestId }: From, upstreamStatus?: number, error?: unknown) => {
    if (mayLog(String(upstreamStatus))) log.warn('recheck_failed', { requestId, upstreamStatus }, error)
  }
}
