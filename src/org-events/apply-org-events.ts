import pLimit from 'p-limit'
import type { Signer } from '../crypto/keys.ts'
import type { AuditFields } from '../observability/audit-events.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { EndAllSessionsOptions } from '../revocation/end-all-sessions.ts'
import type { RevocationTimes } from '../revocation/revocation-times.ts'
import type { EndAllSessions, SessionsToKeep } from '../session/user-sessions.ts'
import { KEYS, keyOf } from '../store/keys.ts'
import type { Store } from '../store/store.ts'
import type { OrgEvent } from './org-events.ts'
import type { VoidTimes } from './void-times.ts'

type From = Pick<AuditFields<'sessions_revoked'>, 'requestId' | 'address'>

/**
 * Makes the older sessions of the users void. Once Okta has the answer, call the returned function,
 * which deletes what is void or could restore it. If the process ends in between, only that is
 * lost.
 */
export type ApplyOrgEvents = (events: readonly OrgEvent[], from: From) => Promise<() => void>

export interface ApplyOrgEventsOptions {
  readonly store: Pick<Store, 'keyPrefix' | 'set'>
  readonly nameSigner: Signer
  readonly voidTimes: Pick<VoidTimes, 'record'>
  readonly revocationTimes: Pick<RevocationTimes, 'revokedSince'>
  readonly endAllSessions: EndAllSessions
  readonly refetchAccess: EndAllSessionsOptions['refetchAccess']
  readonly log: Logger
  readonly metrics: Metrics
}

/** Okta may deliver an event twice. */
const REPEATED_WITHIN_MS = 86_400_000
/**
 * Users whose sessions are deleted at the same time, so that requests of other users do not wait.
 */
const MAX_USERS = 20
/**
 * Times that are recorded together, for the same reason. Okta's deliveries name far fewer users.
 */
const MAX_TIMES = 100

export function createApplyOrgEvents(options: ApplyOrgEventsOptions): ApplyOrgEvents {
  const { voidTimes, log, metrics } = options
  const limit = pLimit(MAX_USERS)
  const clear = async (event: OrgEvent, from: From) => {
    try {
      const result = (await isFirst(options, event)) ? 'applied' : 'repeated'
      metrics.orgEvents.inc({ result })
      if (result === 'applied') await clearAway(options, event, from)
    } catch (error) {
      log.warn('org_event_not_cleared', { requestId: from.requestId, userId: event.userId }, error)
    }
  }

  return async (events, from) => {
    const byUser = groupByUser(events)
    const latest = [...byUser.values()].flatMap(
      (ofUser) => ofUser.findLast(({ effect }) => effect === 'end_sessions') ?? [],
    )
    for (let start = 0; start < latest.length; start += MAX_TIMES) {
      const together = latest.slice(start, start + MAX_TIMES)
      await Promise.all(together.map(({ userId, publishedMs }) => voidTimes.record(userId, publishedMs)))
    }
    return () => {
      for (const ofUser of byUser.values())
        void limit(async () => {
          for (const event of ofUser) await clear(event, from)
        })
    }
  }
}

/** Keeps the order. */
function groupByUser(events: readonly OrgEvent[]): Map<string, OrgEvent[]> {
  const byUser = new Map<string, OrgEvent[]>()
  for (const event of events) {
    const ofUser = byUser.get(event.userId)
    if (ofUser === undefined) byUser.set(event.userId, [event])
    else ofUser.push(event)
  }
  return byUser
}

/**
 * Only now: if the time could not be recorded, the delivery that repeats the event must record it.
 */
async function isFirst(
  { store, nameSigner }: ApplyOrgEventsOptions,
  { id, userId }: OrgEvent,
): Promise<boolean> {
  if (id === undefined) return true
  const key = keyOf(store, KEYS.orgEvent, nameSigner.sign(`${id} ${userId}`))
  return store.set(key, '1', REPEATED_WITHIN_MS, 'absent')
}

/**
 * A sign-in that is under way when Okta clears the sessions may be what made it do so. Clocks may
 * differ, too.
 */
const SAME_SIGN_IN_MS = 30_000

/** Open transactions that stay, by the type of the event: those that may have caused it. */
const SIGN_INS_TO_KEEP: Readonly<Record<string, (publishedMs: number) => SessionsToKeep>> = {
  'user.account.update_password': (publishedMs) => ({ passwordChangedAtMs: publishedMs }),
  // Breach protection clears the sessions during a sign-in, which goes on to a new password (A5).
  // That a recent sign-in of another browser stays too does no harm: the credentials that it was
  // given are still valid, so it could begin again.
  'user.session.clear': (publishedMs) => ({ transactionsSinceMs: publishedMs - SAME_SIGN_IN_MS }),
}

async function clearAway(options: ApplyOrgEventsOptions, event: OrgEvent, from: From): Promise<void> {
  const { revocationTimes, endAllSessions, refetchAccess, log } = options
  const { id: eventId, type: operation, effect, userId, login, publishedMs } = event
  if (effect === 'refetch_groups') return refetchAccess(login)
  const reason = 'by_org'
  const keep = { createdSinceMs: publishedMs, ...SIGN_INS_TO_KEEP[operation]?.(publishedMs) }
  // The user has changed the password here, or a later event came first: what is open now is newer.
  const isOver = await revocationTimes.revokedSince(userId, publishedMs)
  const audit = (count: number) =>
    log.audit('sessions_revoked', { ...from, userId, reason, count, eventId, operation })
  if (isOver) audit(0)
  else await endAllSessions(userId, reason, audit, keep)
}
