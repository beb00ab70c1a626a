import type { Request, Response } from 'express'
import { contextOf } from '../../http/request-context.ts'
import type { Device, DeviceCookie } from './device-cookie.ts'

/** The browser that sent a request, and what may go on to Okta about it. */
export interface Client {
  readonly requestId: string
  /** The one clean address, for Okta, limits and logs. */
  readonly address: string
  readonly device: Device
  readonly userAgent: string
  readonly acceptLanguage: string
  readonly fingerprint: string | undefined
  /** From a session cookie with a valid signature. */
  readonly sessionId: string | undefined
}

const MAX_HEADER_CHARS = 512
const FINGERPRINT = /^[\x21-\x7e]{1,256}$/

export interface ClientOfDeps {
  readonly deviceCookie: DeviceCookie
  readonly sessionIdIn: (req: Request) => string | undefined
}

export function createClientOf({ deviceCookie, sessionIdIn }: ClientOfDeps) {
  return (req: Request, res: Response): Client => {
    const { requestId, address } = contextOf(req)
    const fingerprint = req.headers['x-device-fingerprint']
    return {
      requestId,
      address,
      device: deviceCookie.ensure(req, res),
      userAgent: headerText(req.headers['user-agent']),
      acceptLanguage: headerText(req.headers['accept-language']),
      fingerprint: typeof fingerprint === 'string' && FINGERPRINT.test(fingerprint) ? fingerprint : undefined,
      sessionId: sessionIdIn(req),
    }
  }
}

/** Visible ASCII and spaces only, of limited length: nothing that could end a header or a log line. */
function headerText(value: string | undefined): string {
  return (value ?? '').replace(/[^\x20-\x7e]/g, '').slice(0, MAX_HEADER_CHARS)
}
