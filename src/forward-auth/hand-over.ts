import type { Request } from 'express'
import type { MasterKeys } from '../crypto/keys.ts'
import { handOverRefused, invalidField } from '../errors.ts'
import type { Guard } from '../http/compose-guards.ts'
import type { RedirectPrefix } from '../http/redirect-target.ts'
import { getRequestContext } from '../http/request-context.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { auditFields, type IdentifiedSession } from '../session/session.ts'
import type { Sessions } from '../session/sessions.ts'
import type { Store } from '../store/store.ts'
import { createApplicationCookie } from './application-cookie.ts'
import { type ApplicationHost, applicationHosts, findHost, type HostProblem } from './application-hosts.ts'
import { createHandOverCodes, judgeCallback } from './hand-over-codes.ts'
import { createStateCookie } from './state-cookie.ts'

export interface HandOverOptions {
  /** The entries of RETURN_TO on other hosts of the portal's site. */
  readonly applicationTargets: readonly RedirectPrefix[]
  readonly masterKeys: MasterKeys
  readonly secure: boolean
  readonly sameSite: 'lax' | 'strict'
  readonly store: Store
  readonly sessions: Pick<Sessions, 'get' | 'loadHandedOver'>
  readonly log: Logger
  readonly metrics: Metrics
}

export type HandOver = ReturnType<typeof createHandOver>

export const CALLBACK_PATH = '/forward-auth/callback'

/**
 * Applications on other hosts of the portal's site get a cookie of their own, as browsers send the
 * session cookie to the portal's host only. The browser goes from `/forward-auth/start` of the
 * application's host to `/signin`, and with a code to `/forward-auth/callback` of that host.
 */
export function createHandOver(options: HandOverOptions) {
  const { applicationTargets, sessions, log, metrics } = options
  const hosts = applicationHosts(applicationTargets)
  const origins = new Set(applicationTargets.map(({ origin }) => origin))
  const applicationCookie = createApplicationCookie(options)
  const stateCookie = createStateCookie(options)
  const codes = createHandOverCodes(options)

  const find = (req: Request) => {
    const { 'x-forwarded-host': header } = req.headers
    const { isFromProxy } = getRequestContext(req)
    return findHost({ forwardedHost: header === undefined ? undefined : String(header), isFromProxy }, hosts)
  }

  /** The application's host at which a request arrived. Throws 400 if it is not known. */
  const hostOf = (req: Request): ApplicationHost => {
    const found = find(req)
    if (typeof found === 'string') throw invalidField(`X-Forwarded-Host: ${HOST_CAUSES[found]}`)
    return found
  }

  /** Loads the session of an application's cookie, for `/forward-auth`. */
  const loadApplicationSession: Guard = (req, _res, next) => {
    if (hosts.size === 0 || !applicationCookie.isPresent(req)) return next()
    const host = find(req)
    if (host === 'several') throw invalidField(`X-Forwarded-Host: ${HOST_CAUSES[host]}`)
    const handedOver = typeof host === 'string' ? undefined : applicationCookie.read(req, host.hostname)
    return handedOver === undefined ? next() : sessions.loadHandedOver(req, handedOver).then(() => next())
  }

  return {
    hostOf,
    stateCookie,
    loadApplicationSession,

    /** Whether applications of this origin can have a cookie of their own. */
    isApplication: (origin: string) => origins.has(origin),

    /**
     * Where a browser with a session goes: to the callback of the target's host, with a code for
     * the browser whose state has this hash.
     */
    async begin(
      { id, session }: IdentifiedSession,
      to: { readonly target: string; readonly stateHash: string; readonly isKeyProved: boolean },
    ): Promise<string> {
      const { origin } = new URL(to.target)
      const code = await codes.issue({ sessionId: id, device: session.deviceId, origin, ...to })
      return `${origin}${CALLBACK_PATH}?${new URLSearchParams({ code })}`
    },

    /**
     * Ends a hand-over: the target, and the `Set-Cookie` header of the application's cookie.
     * Without it, the browser begins again at the target: its state is another one, or is gone
     * because the sign-in took longer, or the session has ended. The code is used up in any case.
     *
     * @throws 401 E0000011 for a code that is unknown or of another host
     */
    async complete(
      req: Request,
    ): Promise<{ readonly target: string; readonly setCookie: string | undefined }> {
      const host = hostOf(req)
      const state = stateCookie.stateIn(req)
      const handOver = await codes.take(req.query.code)
      const session = handOver && (await sessions.get(handOver.sessionId, handOver.device))
      const problem = judgeCallback({ handOver, state, host })
      const fields = session && { ...auditFields(req, session), host: host.hostname }
      const isCompleted = problem === undefined && fields !== undefined
      metrics.handOvers.inc({ result: isCompleted ? 'completed' : (problem ?? 'session_ended') })
      if (isCompleted) log.audit('hand_over_completed', fields)
      else if (fields !== undefined && problem !== undefined && problem !== 'code_unknown')
        log.audit('hand_over_refused', { ...fields, reason: problem })
      if (handOver === undefined)
        throw handOverRefused(state === undefined ? CAUSES.stateMissing : CAUSES.codeUnknown)
      if (problem === 'other_host') throw handOverRefused(CAUSES.otherHost)
      return {
        target: handOver.target,
        setCookie: isCompleted ? applicationCookie.setCookie(handOver, host.hostname) : undefined,
      }
    },
  }
}

const HOST_CAUSES: Readonly<Record<HostProblem, string>> = {
  untrusted: 'is read only from a proxy in TRUST_PROXY, and the request comes from another address',
  missing: 'the proxy of the application must send the host at which the request arrived',
  several: 'has several values; the proxy must replace the one of the client',
  unknown: 'is no host of RETURN_TO on the site of PUBLIC_URL',
}

const CAUSES = {
  stateMissing:
    'cookie: the browser has lost the cookie of /forward-auth/start. It may be older than five minutes; else the proxy must pass Cookie and Set-Cookie at /forward-auth/start and /forward-auth/callback',
  codeUnknown: 'code: is unknown, used or older than a minute',
  otherHost: 'code: is for another host',
}
