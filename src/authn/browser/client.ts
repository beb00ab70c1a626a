import { stringifySetCookie } from 'cookie'
import type { Request, Response } from 'express'
import { v4 as uuid } from 'uuid'
import { z } from 'zod'
import { createSeal, createSigner, type MasterKeys, type Signer } from '../../crypto/keys.ts'
import { readCookie } from '../../http/cookies.ts'
import { getRequestContext } from '../../http/request-context.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { createSealedRecords, jsonCodec } from '../../store/sealed-records.ts'
import type { Store } from '../../store/store.ts'

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
}

const MAX_HEADER_CHARS = 512
const FINGERPRINT = /^[\x21-\x7e]{1,256}$/

export interface ClientOfDeps {
  readonly deviceCookie: DeviceCookie
  readonly sessionIdIn: (req: Request) => string | undefined
  /** Origins that are forwarded; a request may get here with another `Origin`, or without one. */
  readonly forwardedOrigins: readonly string[]
}

export function createClientOf({ deviceCookie, sessionIdIn, forwardedOrigins }: ClientOfDeps) {
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
      sessionId: sessionIdIn(req),
    }
  }
}

/** Visible ASCII and spaces only, of limited length, so that it cannot end a header or a log line. */
function headerText(value: string | undefined): string {
  return (value ?? '').replace(/[^\x20-\x7e]/g, '').slice(0, MAX_HEADER_CHARS)
}

/** The browser's id, in a cookie that survives sign-out. */
export interface Device {
  /** 32 hexadecimal characters: Okta's `deviceToken`, unless it was replaced (`DeviceTokens`). */
  readonly id: string
  /** False if the request had no valid device cookie. */
  readonly returned: boolean
}

/** A UUID without hyphens, as Okta recommends. */
function newDeviceId(): string {
  return uuid().replaceAll('-', '')
}

export interface DeviceCookie {
  /** The request's device. Sets the cookie if it is missing, invalid or due for renewal. */
  ensure(req: Request, res: Response): Device
  /** The device id in the request; undefined without a valid cookie. Sets no cookie. */
  idIn(req: Request): string | undefined
}

export interface DeviceCookieDeps {
  readonly signer: Signer
  /** True for an https PUBLIC_URL: the cookie gets the `__Host-` prefix and Secure. */
  readonly secure: boolean
  readonly cookieDays: number
  readonly renewAfterHours: number
  readonly now?: () => number
  readonly newId?: () => string
  /** The browser gets a new cookie with the same id. */
  readonly onRenew?: (id: string) => void
}

/** `<id>.<issued, unix seconds in base 36>.<signature>` */
const FORM = /^([0-9a-f]{32})\.([0-9a-z]{1,9})\.([\w-]{43})$/
const HOUR_S = 3600

export function createDeviceCookie(deps: DeviceCookieDeps): DeviceCookie {
  const { signer, secure, cookieDays, now = Date.now, newId = newDeviceId, onRenew } = deps
  const name = secure ? '__Host-gatehouse-device' : 'gatehouse-device'
  const valueIn = readCookie(name)
  const maxAge = cookieDays * 24 * HOUR_S
  const devices = new WeakMap<Request, Device>()
  const verified = new WeakMap<Request, VerifiedCookie>()

  const read = (req: Request): VerifiedCookie => {
    const cookie = verified.get(req) ?? verifyCookie(valueIn(req) ?? '', deps, now() / 1000)
    verified.set(req, cookie)
    return cookie
  }

  const setCookie = (res: Response, id: string) => {
    const value = `${id}.${Math.floor(now() / 1000).toString(36)}`
    const attributes = { path: '/', httpOnly: true, secure, sameSite: 'lax', maxAge } as const
    res.append('Set-Cookie', stringifySetCookie(name, `${value}.${signer.sign(value)}`, attributes))
  }

  return {
    ensure(req, res) {
      const known = devices.get(req)
      if (known !== undefined) return known
      const { id, isDue } = read(req)
      const device: Device = { id: id ?? newId(), returned: id !== undefined }
      if (isDue) setCookie(res, device.id)
      if (isDue && id !== undefined) onRenew?.(id)
      devices.set(req, device)
      return device
    },

    idIn: (req) => read(req).id,
  }
}

interface VerifiedCookie {
  readonly id: string | undefined
  /** The browser needs a new cookie. */
  readonly isDue: boolean
}

const NONE: VerifiedCookie = { id: undefined, isDue: true }

/** A malformed, forged or expired cookie is replaced, never sent upstream. */
function verifyCookie(value: string, deps: DeviceCookieDeps, nowS: number): VerifiedCookie {
  const [, id, issued, signature] = FORM.exec(value) ?? []
  if (id === undefined || issued === undefined || signature === undefined) return NONE
  const verdict = deps.signer.verify(`${id}.${issued}`, signature)
  const ageHours = (nowS - Number.parseInt(issued, 36)) / HOUR_S
  if (verdict === 'wrong' || ageHours > deps.cookieDays * 24) return NONE
  return { id, isDue: verdict === 'retired' || ageHours > deps.renewAfterHours }
}

/**
 * Okta's `deviceToken` of each device: the id in its cookie or, once the device was forgotten, a new token. The cookie stays, because
 * sessions and transactions are bound to it.
 */
export interface DeviceTokens {
  /** Read once per request. Throws 503 if the store is unreachable: the token of a forgotten device must not be sent. */
  of(device: Device): Promise<string>
  /** Okta will treat the device as a new one, for all of its users. */
  replace(deviceId: string): Promise<void>
  /** Keeps a replaced token for as long as a renewed cookie. In the background. */
  renew(deviceId: string): void
}

export interface DeviceTokensOptions {
  readonly store: Store
  readonly masterKeys: MasterKeys
  /** At least the lifetime of the device cookie. */
  readonly ttlMs: number
  readonly log: Logger
  readonly metrics: Metrics
}

export function createDeviceTokens(options: DeviceTokensOptions): DeviceTokens {
  const { store, masterKeys, ttlMs } = options
  const records = createSealedRecords({
    ...options,
    seal: createSeal(masterKeys, 'device-token'),
    names: createSigner(masterKeys, 'device-token-names'),
    keyOf: (hmac) => `gatehouse:device-token:${hmac}`,
    codec: jsonCodec(z.object({ version: z.literal(1), deviceToken: z.string() })),
    kind: 'device_token',
  })
  const tokens = new WeakMap<Device, Promise<string>>()

  const read = async ({ id }: Device) => (await records.read(id))?.value.deviceToken ?? id
  const renew = async (deviceId: string) => {
    const replaced = await records.read(deviceId)
    if (replaced === undefined) return
    const [newest] = records.keysOf(deviceId)
    // not a plain write: the device may have been forgotten again since the record was read
    if (replaced.key === newest) await store.extendIf(newest, replaced.raw, ttlMs)
    else await store.set(newest, records.seal(replaced.value, newest), ttlMs, 'absent')
  }

  return {
    of(device) {
      const token = tokens.get(device) ?? read(device)
      tokens.set(device, token)
      return token
    },
    replace: (deviceId) => records.write(deviceId, { version: 1, deviceToken: newDeviceId() }, ttlMs),
    renew: (deviceId) => void renew(deviceId).catch(() => {}), // repeated when the cookie is renewed again
  }
}
