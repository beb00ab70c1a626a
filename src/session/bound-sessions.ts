import type { IncomingMessage } from 'node:http'
import { stringifySetCookie } from 'cookie'
import type { MasterKeys } from '../crypto/keys.ts'
import { readCookie } from '../http/cookies.ts'
import { siteForLimits } from '../http/request-context.ts'
import type { AuditFields, BoundSessionRefusal } from '../observability/audit-events.ts'
import { createLogThrottle } from '../observability/log-throttle.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { BOUND_SESSION_ALGS } from './bound-session-proof.ts'
import { type BoundRequest, type BoundVerdict, judgeBoundRequest } from './bound-session-rule.ts'
import { createBoundSessionTokens } from './bound-session-tokens.ts'

export interface BoundSessionTimes {
  /** How long the broker accepts a bound cookie, and so how long a stolen copy is of use. */
  readonly cookieMs: number
  /**
   * The browser deletes the cookie that much earlier. Otherwise, a request that is sent in the last
   * moment, or to a replica whose clock is ahead, would arrive too late.
   */
  readonly cookieLeewayMs: number
  /** As long as a browser may take to make a key and register it. */
  readonly registrationMs: number
  /** Of a challenge, which a browser keeps until it renews the cookie. */
  readonly refreshMs: number
  readonly graceMs: number
}

const TIMES: BoundSessionTimes = {
  cookieMs: 600_000,
  cookieLeewayMs: 10_000,
  registrationMs: 120_000,
  refreshMs: 300_000,
  graceMs: 30_000,
}

export interface BoundSessionsOptions {
  readonly masterKeys: MasterKeys
  /** PUBLIC_URL is https. Browsers bind no session over http. */
  readonly secure: boolean
  /** Whose pages may call the broker, besides those of PUBLIC_URL. */
  readonly allowedOrigins: readonly string[]
  /**
   * DEVICE_BOUND_SESSIONS: whether browsers are asked to register a key. A session that is bound
   * stays so in any case: during a change of the setting, both kinds of replicas serve it.
   */
  readonly isOffered: boolean
  readonly times?: Partial<BoundSessionTimes> | undefined
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

/** What a request brings to prove that it comes from the browser of its session. */
export interface BoundEvidence {
  readonly cookie: string | undefined
  /** `Secure-Session-Skipped`: the sessions whose cookies the browser could not renew. */
  readonly skipped: string | undefined
}

/** Where browsers register a key, and renew the bound cookie. */
export const BOUND_SESSION_PATH = '/bound-session'

/** Repeated requests of the same session, from one site, are audited once a minute. */
const AUDIT_THROTTLE = { periodMs: 60_000, maxLines: 10_000 }

export type BoundSessions = ReturnType<typeof createBoundSessions>

/**
 * Sessions that are bound to a key of their browser, which malware cannot copy (W3C Device Bound
 * Session Credentials). A short-lived cookie shows that the browser has the key; only the browser
 * can renew it, by a proof. Nothing but the key is stored.
 */
export function createBoundSessions(options: BoundSessionsOptions) {
  const { secure, allowedOrigins, isOffered, log, metrics, now } = options
  const times = { ...TIMES, ...options.times }
  const tokens = createBoundSessionTokens({ ...options, ...times })
  // never `__Host-Http-`: with it, Chromium silently does not register the key
  const name = secure ? '__Host-gatehouse-bound' : 'gatehouse-bound'
  const attributes = { path: '/', httpOnly: true, secure, sameSite: 'lax' } as const
  const valueIn = readCookie(name)
  const refreshInitiators = [...new Set(allowedOrigins.map((origin) => new URL(origin).hostname))]
  const mayAudit = createLogThrottle({ ...AUDIT_THROTTLE, now })

  /** Counts and audits a refusal. `fields`: of the request and the session. */
  const report = (
    reason: BoundSessionRefusal,
    fields: Omit<AuditFields<'bound_session_refused'>, 'reason'>,
  ): void => {
    metrics.boundSessionRefusals.inc({ reason })
    if (mayAudit(`${fields.sessionId} ${reason} ${siteForLimits(fields.address)}`) > 0)
      log.audit('bound_session_refused', { ...fields, reason })
  }

  return {
    tokens,
    report,

    evidenceIn: (req: IncomingMessage): BoundEvidence => ({
      cookie: valueIn(req),
      skipped: headerOf(req, 'secure-session-skipped'),
    }),

    hasValidCookie: (id: string, req: IncomingMessage): boolean =>
      tokens.readCookie(id, valueIn(req)) === 'valid',

    /** Whether the session of this id serves a request with this evidence. */
    judge: (id: string, binding: BoundRequest['binding'], evidence: BoundEvidence): BoundVerdict =>
      judgeBoundRequest({
        binding,
        cookie: binding === undefined ? 'none' : tokens.readCookie(id, evidence.cookie),
        isSkipped: binding !== undefined && namesIn(evidence.skipped).some((one) => tokens.isNameOf(id, one)),
        nowMs: now(),
        graceMs: times.graceMs,
      }),

    /** Of the response that opens a session, and of no other. undefined: no key is wanted. */
    registrationHeader: (id: string): string | undefined =>
      isOffered
        ? `(${BOUND_SESSION_ALGS.join(' ')});path="${BOUND_SESSION_PATH}";challenge="${tokens.createChallenge('registration', id)}"`
        : undefined,

    /** Tells the browser about the next renewal. */
    challengeHeader: (id: string, sessionName: string): string =>
      `"${tokens.createChallenge('refresh', id)}";id="${sessionName}"`,

    /** The `Set-Cookie` header of the bound cookie. */
    setCookie: (id: string): string =>
      stringifySetCookie(name, tokens.createCookie(id), {
        ...attributes,
        maxAge: Math.ceil((times.cookieMs - times.cookieLeewayMs) / 1000),
      }),

    /** The `Set-Cookie` headers that delete the bound cookie, if the request has one. */
    clearIn: (req: IncomingMessage): string[] =>
      valueIn(req) === undefined ? [] : [stringifySetCookie(name, '', { ...attributes, maxAge: 0 })],

    /** The session instructions: what the browser renews, where, and for which requests. */
    instructions: (sessionName: string) => ({
      session_identifier: sessionName,
      refresh_url: `${BOUND_SESSION_PATH}/refresh`,
      scope: {
        include_site: false,
        scope_specification: UNBOUND_PATHS.map((path) => ({ type: 'exclude', path })),
      },
      // otherwise requests of these pages are sent without the cookie when it has ended
      allowed_refresh_initiators: refreshInitiators,
      // as in `setCookie`; the lifetime does not count
      credentials: [
        {
          type: 'cookie',
          name,
          attributes: stringifySetCookie(name, '', attributes).replace(/^[^;]*; /, ''),
        },
      ],
    }),
  }
}

/**
 * Paths of the broker that no browser session is for: no request there waits for a renewal. Not all
 * of `/app`, where portals have applications (docs/decisions/0034).
 */
const UNBOUND_PATHS = ['/hooks', '/app/v1/pam', '/.well-known']

/** A header that occurs twice is joined by Node, and then names nothing. */
export function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}

const MAX_SKIPPED = 20

/** The sessions in `Secure-Session-Skipped`, such as `unreachable;session_identifier="…"`. */
function namesIn(skipped = ''): string[] {
  const named = [...skipped.matchAll(/;\s*session_identifier="([\w-]{43})"/g)]
  return named.slice(0, MAX_SKIPPED).flatMap(([, name]) => name ?? [])
}
