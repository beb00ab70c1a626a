import { z } from 'zod'
import type { Seal } from '../../crypto/seal.ts'
import type { Signer } from '../../crypto/sign.ts'
import { invalidField, unknownHandle } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Sessions } from '../../session/sessions.ts'
import type { Store } from '../../store/store.ts'
import { parseStored } from '../../store/stored-json.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import { isHandle, newHandle } from '../transaction/transaction-store.ts'

/**
 * Single sign-on: the upstream's one-use session token, kept for the browser that signed in. The browser holds an SSO token: a
 * handle for this device and one use, for as long as the token itself lives and the session for which it was issued.
 */
export interface HandOver {
  readonly enabled: boolean
  /** The handle that will stand for the session token; it does so once it is written. */
  prepare(
    sessionToken: string,
    sessionId: string,
    client: Client,
  ): { readonly handle: string; write(): Promise<void> }
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
  readonly sessions: Pick<Sessions, 'get'>
  readonly audit: Pick<StepAudit, 'handleFromOtherDevice'>
  readonly log: Pick<Logger, 'audit'>
  /** Told of a record that can't be read; it is left alone. */
  readonly onUnreadable?: () => void
}

/** A session token lives five minutes (field notes). */
const TTL_MS = 300_000
/** Of a target, as it was given and percent-encoded: it is encoded once more in a header, which proxies limit. */
const MAX_URL_CHARS = 2048

const Kept = z.object({
  version: z.literal(1),
  sessionToken: z.string(),
  sessionId: z.string(),
  device: z.string(),
})

export function createHandOver(parts: HandOverParts): HandOver {
  const { allowed, upstreamOrigin, store, seal, names, sessions, audit, log, onUnreadable } = parts
  const places = (handle: string) => names.signAll(handle).map((name) => `gatehouse:sso:${name}`)

  /** Taken only by its own device, and only once, however many ask at the same time. */
  const take = async (handle: string, client: Client) => {
    for (const place of places(handle)) {
      const sealed = await store.get(place)
      const text = sealed === undefined ? undefined : seal.open(sealed, place)
      if (sealed === undefined) continue
      const { data: kept } = Kept.safeParse(parseStored(text))
      if (kept === undefined) onUnreadable?.()
      else if (kept.device !== client.device.id) await auditOtherDevice(kept, client)
      else return (await store.deleteIf(place, sealed)) ? kept : undefined
    }
    return undefined
  }

  const auditOtherDevice = async ({ sessionId, device }: z.infer<typeof Kept>, client: Client) => {
    const session = await sessions.get(sessionId, device)
    audit.handleFromOtherDevice({ userId: session?.userId, login: session?.login, device }, client)
  }

  return {
    enabled: allowed.length > 0,

    prepare(sessionToken, sessionId, client) {
      const handle = newHandle()
      const place = `gatehouse:sso:${names.sign(handle)}`
      const record = { version: 1, sessionToken, sessionId, device: client.device.id }
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
      const { device, requestId, address } = client
      const kept = await take(handle, client)
      const session = kept === undefined ? undefined : await sessions.get(kept.sessionId, device.id)
      if (kept === undefined || session === undefined) throw unknownHandle(device.returned)
      const { userId, loginHash, publicId: sessionId } = session
      const deviceHash = session.device
      log.audit('sso_token_redeemed', { requestId, address, userId, loginHash, deviceHash, sessionId })
      const url = new URL('/login/sessionCookieRedirect', upstreamOrigin)
      url.searchParams.set('checkAccountSetupComplete', 'true')
      url.searchParams.set('token', kept.sessionToken)
      url.searchParams.set('redirectUrl', target)
      return url.href
    },
  }
}

/** Scheme, host and port, path: what decides where a browser goes. ASCII names only; no user info, no backslash. */
const PLAIN_URL = /^https?:\/\/(?:[a-z\d.-]+|\[[\da-f:.]+\])(?::\d{1,5})?(\/[^?#]*)?(?:[?#].*)?$/i
/** Escapes of a dot, a slash, a semicolon or an escape, and segments of dots, which climb: alone or before parameters. */
const AMBIGUOUS_PATH = /%(?:2e|2f|3b|5c|25)|(?:^|\/)\.+(?![\w.~-])/i

/** What a server behind could take for another path: as it is written, or decoded and in the compatible form of Unicode. */
function isAmbiguous(path: string): boolean {
  if (AMBIGUOUS_PATH.test(path)) return true
  try {
    const read = decodeURIComponent(path).normalize('NFKC')
    const isLonger = read.split('/').length > path.split('/').length
    return isLonger || AMBIGUOUS_PATH.test(read) || /[\\%]|\p{Cc}/u.test(read)
  } catch {
    return true // no UTF-8: each server reads it in its own way
  }
}

/**
 * The address to go to, in its one clean spelling; undefined: not allowed. What could be read in two ways is refused
 * before anything is parsed; then origins and whole path segments are compared.
 */
export function allowedTarget(given: unknown, allowed: readonly RedirectPrefix[]): string | undefined {
  if (typeof given !== 'string' || given.length > MAX_URL_CHARS || /[\\\s]|\p{Cc}/u.test(given))
    return undefined
  const plain = PLAIN_URL.exec(given)
  if (plain === null || isAmbiguous(plain[1] ?? '') || !URL.canParse(given)) return undefined
  const url = new URL(given)
  const fits = allowed.some(
    ({ origin, pathPrefix }) =>
      url.origin === origin &&
      (pathPrefix === '/' || url.pathname === pathPrefix || url.pathname.startsWith(`${pathPrefix}/`)),
  )
  return fits && url.href.length <= MAX_URL_CHARS ? url.href : undefined
}
