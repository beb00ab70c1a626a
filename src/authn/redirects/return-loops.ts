import { stringifySetCookie } from 'cookie'
import type { Request, Response } from 'express'
import type { Signer } from '../../crypto/keys.ts'
import { applicationRefuses } from '../../errors.ts'
import { readCookie } from '../../http/cookies.ts'
import { getRequestContext } from '../../http/request-context.ts'
import { createLogThrottle } from '../../observability/log-throttle.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'

/** How a browser returns to an application. */
export type ReturnKind = 'hand_over' | 'portal' | 'other_host'

/** What the browser remembers of its last returns, which are equal. */
export interface Returns {
  readonly times: number
  readonly lastMs: number
}

/**
 * After so many equal returns in a row, the next one is a loop. Browsers follow about twenty
 * redirects, and a hand-over has four. A link to `/signin` may be clicked several times.
 */
const MAX_RETURNS: Readonly<Record<ReturnKind, number>> = { hand_over: 2, portal: 5, other_host: 5 }
/** A later return is not caused by the one before. */
const IN_A_ROW_MS = 20_000

/**
 * Whether a browser may return once more. undefined: it comes back again and again, because the
 * application does not accept its session.
 */
export function countReturn(
  before: Returns | undefined,
  kind: ReturnKind,
  nowMs: number,
): Returns | undefined {
  const ageMs = nowMs - (before?.lastMs ?? 0)
  const times = before !== undefined && ageMs >= 0 && ageMs < IN_A_ROW_MS ? before.times : 0
  return times < MAX_RETURNS[kind] ? { times: times + 1, lastMs: nowMs } : undefined
}

export interface ReturnLoopsOptions {
  readonly secure: boolean
  readonly signer: Signer
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

/** One return of a browser, to compare it with the last one. */
export interface Return {
  readonly kind: ReturnKind
  /** The query of `/signin`, as far as it is the same each time. */
  readonly query: object
  readonly target: string
  readonly deviceId: string
}

/** `<times>.<time of the last, milliseconds in base 36>.<signature>` */
const FORM = /^(\d{1,2})\.([0-9a-z]{1,9})\.([\w-]{43})$/

/**
 * Ends the loop of a browser with a session that an application sends to `/signin` again and again:
 * a page says why. Of the last return, the browser keeps a signed cookie that only `/signin` gets.
 */
export function createReturnLoops({ secure, signer, log, metrics, now }: ReturnLoopsOptions) {
  const name = secure ? '__Secure-gatehouse-returns' : 'gatehouse-returns'
  const attributes = { path: '/signin', httpOnly: true, secure, sameSite: 'lax' } as const
  const valueIn = readCookie(name)
  const mayLog = createLogThrottle()
  const textOf = ({ kind, query, deviceId }: Return, numbers: string) =>
    JSON.stringify([kind, query, deviceId, numbers])

  const read = (req: Request, current: Return): Returns | undefined => {
    const [, times, last, signature] = FORM.exec(valueIn(req) ?? '') ?? []
    if (times === undefined || last === undefined || signature === undefined) return undefined
    if (signer.verify(textOf(current, `${times}.${last}`), signature) === 'wrong') return undefined
    return { times: Number(times), lastMs: Number.parseInt(last, 36) }
  }

  return {
    /** @throws 403 E0000006 if the browser is in a loop; it may then try again */
    count(req: Request, res: Response, current: Return): void {
      const returns = countReturn(read(req, current), current.kind, Math.floor(now()))
      if (returns === undefined) {
        res.append('Set-Cookie', stringifySetCookie(name, '', { ...attributes, maxAge: 0 }))
        report(req, current)
        throw applicationRefuses(CAUSES[current.kind](new URL(current.target)))
      }
      const numbers = `${returns.times}.${returns.lastMs.toString(36)}`
      const value = `${numbers}.${signer.sign(textOf(current, numbers))}`
      const maxAge = IN_A_ROW_MS / 1000
      res.append('Set-Cookie', stringifySetCookie(name, value, { ...attributes, maxAge }))
    },
  }

  function report(req: Request, { kind, target }: Return): void {
    metrics.requestsRefused.inc({ reason: 'redirect_loop' })
    const { origin } = new URL(target)
    const { requestId } = getRequestContext(req)
    if (mayLog(`${kind} ${origin}`)) log.warn('redirect_loop', { requestId, origin, reason: kind })
  }
}

/** Each names what to set, for the portal's operators. */
const CAUSES: Readonly<Record<ReturnKind, (target: URL) => string>> = {
  hand_over: ({ host }) =>
    `X-Forwarded-Host, Cookie: the proxy of ${host} does not accept the sign-in. Its request to /forward-auth needs the Cookie of the browser and the header X-Forwarded-Host: ${host}; /forward-auth/start and /forward-auth/callback need Cookie and Set-Cookie; the amr and maxAuthAge of its rule must also be in the URL of /forward-auth/start. Or the browser blocks the cookies of ${host}`,
  other_host: ({ host }) =>
    `returnTo: ${host} sends the browser back although the user is signed in. Browsers send the session cookie to the host of PUBLIC_URL only. If ${host} is in RETURN_TO and on the same site, its proxy must send the browser to /forward-auth/start of ${host}, not to /signin`,
  portal: () =>
    'returnTo: the proxy sends the browser back although the user is signed in. Its request to /forward-auth needs the Cookie of the browser, and the amr and maxAuthAge of its rule must also be in the URL of /signin',
}
