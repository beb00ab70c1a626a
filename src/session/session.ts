import type { Request } from 'express'
import type { MasterKeys } from '../crypto/keys.ts'
import { contextOf } from '../http/request-context.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Store } from '../store/store.ts'

/** Who is signed in, since when, on which device and by which factors; no upstream token. */
export interface Session {
  /** A public id, safe to show; never the cookie's. */
  readonly publicId: string
  /** The upstream's opaque user id. */
  readonly userId: string
  readonly login: string
  /** The upstream's profile as it answered it: firstName, lastName, locale, timeZone, login. */
  readonly profile: Readonly<Record<string, unknown>>
  /** Authentication methods, RFC 8176 names. */
  readonly amr: readonly string[]
  /** Keyed hashes of login and device, for the log. */
  readonly loginHash: string
  readonly device: string
  readonly userAgent: string
  readonly createdAtMs: number
  /** When it was last extended; the idle limit counts from here. */
  readonly lastSeenAtMs: number
}

/** A session with the id that is in the cookie. */
export interface IdentifiedSession {
  readonly id: string
  readonly session: Session
}

/** Kept by the broker's own clock: a store that keeps a record too long does not prolong a session. */
export interface SessionLimits {
  readonly idleMs: number
  readonly absoluteMs: number
  readonly now: () => number
}

export interface SessionsOptions extends SessionLimits {
  readonly store: Store
  readonly masterKeys: MasterKeys
  /** The device of a request; undefined: it has no valid device cookie. */
  readonly deviceIdIn: (req: Request) => string | undefined
  /** A session that is merely used is written at most this often. */
  readonly extendEveryMs: number
  readonly maxPerUser: number
  readonly log: Logger
  readonly metrics: Metrics
}

/** How long it still lives if it is not used; zero or less: it is over. */
export function leftMs(session: Session, limits: SessionLimits): number {
  return idleExpiresAtMs(session, limits) - limits.now()
}

/** As in responses. */
export function timesOf(session: Session, limits: SessionLimits) {
  return {
    createdAt: new Date(session.createdAtMs).toISOString(),
    lastSeenAt: new Date(session.lastSeenAtMs).toISOString(),
    expiresAt: new Date(session.createdAtMs + limits.absoluteMs).toISOString(),
    idleExpiresAt: new Date(idleExpiresAtMs(session, limits)).toISOString(),
  }
}

function idleExpiresAtMs({ createdAtMs, lastSeenAtMs }: Session, { idleMs, absoluteMs }: SessionLimits) {
  return Math.min(lastSeenAtMs + idleMs, createdAtMs + absoluteMs)
}

/** What the audit log says about a signed-in user: request, session and device, without a name. */
export function auditedOf(req: Request, { userId, loginHash, device, publicId }: Session) {
  const { requestId, address } = contextOf(req)
  return { requestId, address, userId, loginHash, deviceHash: device, sessionId: publicId }
}

/**
 * An id of the org is letters and digits (`00u…`). One of another form is no user: it could not be ended by an operator, and
 * would go to the log and into names of keys at any length.
 */
export function isUserId(given: unknown): given is string {
  return typeof given === 'string' && /^[\w-]{1,100}$/.test(given)
}

/** Which users a login may mean. None of these names is sent upstream. */
export interface LoginNames {
  /** Limits count by this name: the same for every spelling of a login, with and without any of LOGIN_DOMAINS. */
  readonly canonical: (login: string) => string
  /** One name for one user. With several LOGIN_DOMAINS it keeps the domain, as each may have a user of that local part. */
  readonly distinct: (login: string) => string
  /** The distinct names of all users that it may mean: without a domain, a user in each of several LOGIN_DOMAINS. */
  readonly meant: (login: string) => readonly string[]
  /**
   * Whether a typed login may be the one that Okta names. Okta may accept a login without its domain, also under a domain that is
   * not in LOGIN_DOMAINS.
   */
  readonly isSame: (typed: string, named: unknown) => boolean
}

export function createLoginNames(loginDomains: readonly string[]): LoginNames {
  const suffixes = [...new Set(loginDomains.map((domain) => `@${foldLogin(domain)}`))]
  const canonical = (login: string) => {
    const name = foldLogin(login)
    const suffix = suffixes.find((one) => name.endsWith(one))
    return suffix === undefined ? name : name.slice(0, -suffix.length)
  }
  const isOneDomain = suffixes.length <= 1
  const distinct = isOneDomain ? canonical : foldLogin
  return {
    canonical,
    distinct,
    meant(login) {
      const name = distinct(login)
      return isOneDomain || name.includes('@') ? [name] : suffixes.map((suffix) => `${name}${suffix}`)
    },
    isSame(typed, named) {
      if (typeof named !== 'string') return false
      const [name, full] = [distinct(typed), distinct(named)]
      return name === full || (!typed.includes('@') && name === full.replace(/@.*$/, ''))
    },
  }
}

function foldLogin(login: string): string {
  return foldName(login).replace(/\s+/g, ' ').trim()
}

/**
 * Spellings that a directory may treat as the same name (RFC 4518 §2) become one: NFKC, without invisible characters, in lower
 * case. By way of upper case: ß, ς and ı share their capital letters with other characters; İ becomes an i with a dot.
 */
export function foldName(name: string): string {
  const seen = name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  const folded = seen.toLowerCase().toUpperCase().toLowerCase()
  return folded.replaceAll('i\u0307', 'i').normalize('NFKC')
}
