import { z } from 'zod'
import type { Seal } from '../crypto/seal.ts'
import type { Signer } from '../crypto/sign.ts'
import { invalidField, unknownHandle } from '../errors.ts'
import type { Store } from '../store/store.ts'
import { parseStored } from '../store/stored-json.ts'
import type { Client } from './client.ts'
import { isHandle, newHandle } from './transaction-store.ts'

/**
 * Single sign-on: the upstream's one-use session token, kept for the browser that earned it, so that it can be handed
 * on to an app. The browser holds a handle: for this device, for one use, for as long as the token itself lives.
 */
export interface HandOver {
  readonly enabled: boolean
  /** The handle that will stand for the session token; it does so once it is written. */
  prepare(sessionToken: string, client: Client): { readonly handle: string; write(): Promise<void> }
  forget(handle: string): Promise<void>
  /** Where the browser goes; the real token is in it, and is gone here. */
  redeem(handle: unknown, redirectUrl: unknown, client: Client): Promise<string>
}

export interface RedirectPrefix {
  readonly origin: string
  /** Begins with a slash, ends with none unless it is the root. */
  readonly pathPrefix: string
}

export interface HandOverParts {
  readonly allowed: readonly RedirectPrefix[]
  readonly upstreamOrigin: string
  readonly store: Store
  readonly seal: Seal
  readonly names: Signer
  /** Told of a record that can't be read; it is left alone. */
  readonly onUnreadable?: () => void
}

/** A session token lives five minutes (field notes). */
const TTL_MS = 300_000
const MAX_URL_CHARS = 2048

const Kept = z.object({ version: z.literal(1), sessionToken: z.string(), device: z.string() })

export function createHandOver(parts: HandOverParts): HandOver {
  const { allowed, upstreamOrigin, store, seal, names, onUnreadable } = parts
  const places = (handle: string) => names.signAll(handle).map((name) => `gatehouse:sso:${name}`)

  /** Taken only by its own device, and only once, however many ask at the same time. */
  const take = async (handle: string, device: string): Promise<string | undefined> => {
    for (const place of places(handle)) {
      const sealed = await store.get(place)
      const text = sealed === undefined ? undefined : seal.open(sealed, place)
      if (sealed === undefined) continue
      const { data: kept } = Kept.safeParse(parseStored(text))
      if (kept === undefined) onUnreadable?.()
      if (kept?.device !== device) continue
      return (await store.deleteIf(place, sealed)) ? kept.sessionToken : undefined
    }
    return undefined
  }

  return {
    enabled: allowed.length > 0,

    prepare(sessionToken, client) {
      const handle = newHandle()
      const place = `gatehouse:sso:${names.sign(handle)}`
      const record = { version: 1, sessionToken, device: client.device.id }
      return {
        handle,
        async write() {
          await store.set(place, seal.seal(JSON.stringify(record), place), TTL_MS)
        },
      }
    },

    async forget(handle) {
      for (const place of places(handle)) await store.delete(place)
    },

    async redeem(handle, redirectUrl, client) {
      const target = allowedTarget(redirectUrl, allowed)
      if (target === undefined) throw invalidField('redirectUrl: is not among the allowed targets')
      if (typeof handle !== 'string' || !isHandle(handle)) throw unknownHandle(client.device.returned)
      const sessionToken = await take(handle, client.device.id)
      if (sessionToken === undefined) throw unknownHandle(client.device.returned)
      const url = new URL('/login/sessionCookieRedirect', upstreamOrigin)
      url.searchParams.set('checkAccountSetupComplete', 'true')
      url.searchParams.set('token', sessionToken)
      url.searchParams.set('redirectUrl', target)
      return url.href
    },
  }
}

/** Scheme, host and port, path: what decides where a browser goes. ASCII names only; no user info, no backslash. */
const PLAIN_URL = /^https?:\/\/(?:[a-z\d.-]+|\[[\da-f:.]+\])(?::\d{1,5})?(\/[^?#]*)?(?:[?#].*)?$/i
/** Whatever a server behind might still read as a dot, a slash or an escape; and segments that climb. */
const AMBIGUOUS_PATH = /%(?:2e|2f|5c|25)|(?:^|\/)\.{1,2}(?:[/;]|$)/i

/**
 * The address to go to, in its one clean spelling; undefined: not allowed. What could be read in two ways is refused
 * before anything is parsed; then origins and whole path segments are compared.
 */
export function allowedTarget(given: unknown, allowed: readonly RedirectPrefix[]): string | undefined {
  if (typeof given !== 'string' || given.length > MAX_URL_CHARS || /[\\\s]|\p{Cc}/u.test(given))
    return undefined
  const plain = PLAIN_URL.exec(given)
  if (plain === null || AMBIGUOUS_PATH.test(plain[1] ?? '') || !URL.canParse(given)) return undefined
  const url = new URL(given)
  const fits = allowed.some(
    ({ origin, pathPrefix }) =>
      url.origin === origin &&
      (pathPrefix === '/' || url.pathname === pathPrefix || url.pathname.startsWith(`${pathPrefix}/`)),
  )
  return fits ? url.href : undefined
}
