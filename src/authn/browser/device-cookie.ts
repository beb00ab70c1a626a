import { stringifySetCookie } from 'cookie'
import type { Request, Response } from 'express'
import { v4 as uuid } from 'uuid'
import type { Signer } from '../../crypto/sign.ts'
import { readCookie } from '../../http/cookies.ts'

/** The browser's own id, in a cookie that outlives sign-out. */
export interface Device {
  /** 32 hexadecimal characters: the upstream's `deviceToken`. */
  readonly id: string
  /** False: this browser sent none of ours, so no transaction can be its own. */
  readonly returned: boolean
}

export interface DeviceCookie {
  /** The request's device; sets the cookie when there was none, when it was not ours, or when it is time to renew. */
  ensure(req: Request, res: Response): Device
  /** The id of the request's device; undefined when it has no cookie of ours. Sets nothing. */
  idIn(req: Request): string | undefined
}

export interface DeviceCookieParts {
  readonly signer: Signer
  /** By PUBLIC_URL: `__Host-` and Secure over https; neither on http://localhost. */
  readonly secure: boolean
  readonly maxAgeDays: number
  readonly renewAfterHours: number
  readonly now?: () => number
  readonly newId?: () => string
}

/** `<id>.<issued, unix seconds in base 36>.<signature>` */
const FORM = /^([0-9a-f]{32})\.([0-9a-z]{1,9})\.([\w-]{43})$/
const HOUR_S = 3600

export function createDeviceCookie(parts: DeviceCookieParts): DeviceCookie {
  const { signer, secure, maxAgeDays, renewAfterHours, now = Date.now } = parts
  const newId = parts.newId ?? (() => uuid().replaceAll('-', ''))
  const name = secure ? '__Host-gatehouse-device' : 'gatehouse-device'
  const valueIn = readCookie(name)
  const maxAge = maxAgeDays * 24 * HOUR_S
  const seen = new WeakMap<Request, Device>()
  const readings = new WeakMap<Request, Reading>()

  /** A malformed, forged or outdated one counts as none: it is replaced, never passed upstream. */
  const read = (req: Request): Reading => {
    const reading = readings.get(req) ?? verify(req)
    readings.set(req, reading)
    return reading
  }

  const verify = (req: Request): Reading => {
    const [, id, issued, signature] = FORM.exec(valueIn(req) ?? '') ?? []
    if (id === undefined || issued === undefined || signature === undefined) return NONE
    const verdict = signer.verify(`${id}.${issued}`, signature)
    const ageS = now() / 1000 - Number.parseInt(issued, 36)
    if (verdict === 'wrong' || ageS > maxAge) return NONE
    return { id, renew: verdict === 'retired' || ageS > renewAfterHours * HOUR_S }
  }

  const write = (res: Response, id: string) => {
    const value = `${id}.${Math.floor(now() / 1000).toString(36)}`
    const attributes = { path: '/', httpOnly: true, secure, sameSite: 'lax', maxAge } as const
    res.append('Set-Cookie', stringifySetCookie(name, `${value}.${signer.sign(value)}`, attributes))
  }

  return {
    ensure(req, res) {
      const known = seen.get(req)
      if (known !== undefined) return known
      const found = read(req)
      const device: Device = { id: found.id ?? newId(), returned: found.id !== undefined }
      if (found.renew) write(res, device.id)
      seen.set(req, device)
      return device
    },

    idIn: (req) => read(req).id,
  }
}

interface Reading {
  readonly id: string | undefined
  /** The browser needs a new cookie. */
  readonly renew: boolean
}

const NONE: Reading = { id: undefined, renew: true }
