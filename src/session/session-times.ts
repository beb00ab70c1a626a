/** How long a session lives. */
export interface SessionTimeLimits {
  readonly idleMs: number
  readonly absoluteMs: number
}

/**
 * The broker checks them by its own clock: a store that keeps a record too long does not prolong a
 * session.
 */
export interface SessionLimits extends SessionTimeLimits {
  readonly now: () => number
}

interface SessionTimes {
  readonly createdAtMs: number
  readonly lastSeenAtMs: number
}

/** The time until the session expires if it is not used; zero or less: it has expired. */
export function remainingMs(session: SessionTimes, limits: SessionLimits): number {
  return idleExpiresAtMs(session, limits) - limits.now()
}

/** The times of a session as responses show them. */
export function formatTimes(session: SessionTimes, limits: SessionTimeLimits) {
  const { createdAt, ...ends } = formatLife(session, limits)
  return { createdAt, lastSeenAt: new Date(session.lastSeenAtMs).toISOString(), ...ends }
}

/** When the session began, and when it ends. */
export function formatLife(session: SessionTimes, limits: SessionTimeLimits) {
  return {
    createdAt: new Date(session.createdAtMs).toISOString(),
    expiresAt: new Date(session.createdAtMs + limits.absoluteMs).toISOString(),
    idleExpiresAt: new Date(idleExpiresAtMs(session, limits)).toISOString(),
  }
}

function idleExpiresAtMs(
  { createdAtMs, lastSeenAtMs }: SessionTimes,
  { idleMs, absoluteMs }: SessionTimeLimits,
) {
  return Math.min(lastSeenAtMs + idleMs, createdAtMs + absoluteMs)
}
