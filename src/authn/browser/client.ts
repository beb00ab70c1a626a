import { stringifySetCookie } from 'cookie'
import type { Request, Response } from 'express'
import { v4 as uuid } from 'uuid'
import type { Signer } from '../../crypto/keys.ts'
import { type CookieNames, cookieNames } from '../../http/cookie-names.ts'
import { readCookie } from '../../http/cookies.ts'
import { getRequestContext } from '../../http/request-context.ts'
import type { BoundEvidence, BoundSessions } from '../../session/bound-sessions.ts'
import type { SessionCookie } from '../../session/session-cookie.ts'

/** The browser that sent a request, with the headers that are forwarded to Okta. */
export interface Client {
  readonly requestId: string
  /** The client's IP address, for Okta, limits and logs. */
  readonly address: string
  readonly device: Device
  readonly userAgent: string
  readonly acceptLanguage: string
  readonly fingerprint: string | undefined
  /** The page's origin, if it is forwarded to Okta. */
  readonly origin: string | undefined
  /** From the session cookie; undefined if its signature is not valid. */
  readonly sessionId: string | undefined
  /** That this is the browser of a bound session. */
  readonly evidence: BoundEvidence
}

const MAX_HEADER_CHARS = 512
const FINGERPRINT = /^[\x21-\x7e]{1,256}$/

export interface ClientOfDeps {
  readonly deviceCookie: DeviceCookie
  readonly sessionCookie: Pick<SessionCookie, 'idIn'>
  readonly boundSessions: Pick<BoundSessions, 'evidenceIn'>
  /** Origins that are forwarded; a request may get here with another `Origin`, or without one. */
  readonly forwardedOrigins: readonly string[]
}

export function createClientOf({
  deviceCookie,
  sessionCookie,
  boundSessions,
  forwardedOrigins,
}: ClientOfDeps) {
  return (req: Request, res: Response): Client => {
    const { requestId, address } = getRequestContext(req)
    const fingerprint = req.headers['x-device-fingerprint']
    return {
      requestId,
      address,
      device: deviceCookie.ensure(req, res),
      userAgent: headerText(req.headers['user-agent']),
      acceptLanguage: headerText(req.headers['accept-language']),
      fingerprint: typeof fingerprint === 'string' && FINGERPRINT.test(fingerprint) ? fingerprint : undefined,
      origin: forwardedOrigins.find((origin) => origin === req.headers.origin),
      sessionId: sessionCookie.idIn(req),
      evidence: boundSessions.evidenceIn(req),
    }
  }
}

/**
 * Visible ASCII and spaces only, of limited length, so that it cannot end a header or a log line.
 */
function headerText(value: string | undefined): string {
  return (value ?? '').replace(/[^\x20-\x7e]/g, '').slice(0, MAX_HEADER_CHARS)
}

/** The browser's id, in a cookie that survives sign-out. */
export interface Device {
  /** 32 hexadecimal characters: Okta's `deviceToken`. */
  readonly id: string
  /** False if the request had no valid device cookie. */
  readonly returned: boolean
}

/** A UUID without hyphens, as Okta recommends. */
function newDeviceId(): string {
  return uuid().replaceAll('-', '')
}

export interface DeviceCookieDeps extends CookieNames {
  readonly signer: Signer
  readonly now?: () => number
}

/** `<id>.<issued, unix seconds in base 36>.<signature>` */
const FORM = /^([0-9a-f]{32})\.([0-9a-z]{1,9})\.([\w-]{43})$/
const DAY_S = 86_400
/** The longest that browsers allow (RFC 6265bis, section 5.6). */
const LIFETIME_S = 400 * DAY_S

export type DeviceCookie = ReturnType<typeof createDeviceCookie>

export function createDeviceCookie(deps: DeviceCookieDeps) {
  const { signer, secure, httpOnlyPrefix = false, now = Date.now } = deps
  const names = cookieNames('gatehouse-device', deps)
  const [name] = names
  const readers = names.map((each) => ({ name: each, valueIn: readCookie(each) }))
  const attributes = { path: '/', httpOnly: true, secure, sameSite: 'lax' } as const

  const find = (req: Request): VerifiedCookie => {
    for (const reader of readers) {
      const verified = verifyCookie(reader.valueIn(req) ?? '', signer, now() / 1000)
      // renamed at once, because a script could set a cookie with the other name
      const isDue = verified.isDue || (httpOnlyPrefix && reader.name !== name)
      if (verified.id !== undefined) return { ...verified, isDue }
    }
    return NONE
  }

  const read = (req: Request): VerifiedCookie => {
    req.deviceCookie ??= find(req)
    return req.deviceCookie
  }

  const setCookie = (req: Request, res: Response, id: string) => {
    const value = `${id}.${Math.floor(now() / 1000).toString(36)}`
    const set = stringifySetCookie(name, `${value}.${signer.sign(value)}`, {
      ...attributes,
      maxAge: LIFETIME_S,
    })
    res.append('Set-Cookie', set)
    for (const other of readers)
      if (other.name !== name && other.valueIn(req) !== undefined)
        res.append('Set-Cookie', stringifySetCookie(other.name, '', { ...attributes, maxAge: 0 }))
  }

  return {
    /** The request's device. Sets the cookie if it is missing, invalid or due for renewal. */
    ensure(req: Request, res: Response): Device {
      const { id, isDue } = read(req)
      const device: Device = { id: id ?? newDeviceId(), returned: id !== undefined }
      if (isDue) setCookie(req, res, device.id)
      return device
    },

    /** The device id in the request; undefined without a valid cookie. Sets no cookie. */
    idIn: (req: Request) => read(req).id,
  }
}

declare module 'express-serve-static-core' {
  interface Request {
    deviceCookie?: VerifiedCookie
  }
}

interface VerifiedCookie {
  readonly id: string | undefined
  /** The browser needs a new cookie. */
  readonly isDue: boolean
}

const NONE: VerifiedCookie = { id: undefined, isDue: true }

/** A malformed, forged or expired cookie is replaced, never sent upstream. */
function verifyCookie(value: string, signer: Signer, nowS: number): VerifiedCookie {
  const [, id, issued, signature] = FORM.exec(value) ?? []
  if (id === undefined || issued === undefined || signature === undefined) return NONE
  const verdict = signer.verify(`${id}.${issued}`, signature)
  const ageS = nowS - Number.parseInt(issued, 36)
  if (verdict === 'wrong' || ageS > LIFETIME_S) return NONE
  return { id, isDue: verdict === 'retired' || ageS > DAY_S }
}
