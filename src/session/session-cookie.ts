import { createSecretKey, type KeyObject } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { stringifySetCookie } from 'cookie'
import { sign, unsign } from 'cookie-signature'
import type { Request, Response } from 'express'
import session from 'express-session'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import {
  createSeal,
  createSigner,
  type LabelledKey,
  labelledKeys,
  type MasterKeys,
  memoizeLast,
} from '../crypto/keys.ts'
import { readCookie } from '../http/cookies.ts'
import { getRequestContext } from '../http/request-context.ts'
import { createSealedRecords, jsonCodec } from '../store/sealed-records.ts'
import { newSessionId, type Session, type SessionStore, type SessionsOptions } from './session.ts'

export interface SessionCookieOptions {
  readonly masterKeys: MasterKeys
  /** `__Host-` and Secure if PUBLIC_URL is https; neither for http://localhost. */
  readonly secure: boolean
  readonly sameSite: 'lax' | 'strict'
}

const SIGNED = 's:'

export type SessionCookie = ReturnType<typeof createSessionCookie>

/** The session cookie, in the format of express-session: `s:<id>.<signature>`. */
export function createSessionCookie({ masterKeys, secure, sameSite }: SessionCookieOptions) {
  const name = secure ? '__Host-gatehouse' : 'gatehouse'
  const attributes = { path: '/', httpOnly: true, secure, sameSite }
  const valueIn = readCookie(name)
  const secrets = memoizeLast(
    labelledKeys(masterKeys, 'sign/session-cookie'),
    ([newest, ...older]) => [secretOf(newest), ...older.map(secretOf)] as const,
  )

  return {
    name,
    attributes,
    /** The signing keys, the newest first. The array is a new one after a rotation. */
    secrets,
    /** The `Set-Cookie` header that sets the cookie. */
    setCookie: (id: string) => stringifySetCookie(name, SIGNED + sign(id, secrets()[0]), attributes),
    /** The `Set-Cookie` header that deletes the cookie. */
    clearCookie: () => stringifySetCookie(name, '', { ...attributes, maxAge: 0 }),
    isPresent: (req: IncomingMessage) => valueIn(req) !== undefined,
    /** The session id of a correctly signed cookie. The session may not exist any more. */
    readId(req: IncomingMessage): string | undefined {
      const value = valueIn(req)
      if (value?.startsWith(SIGNED) !== true) return undefined
      const signed = value.slice(SIGNED.length)
      const ids = secrets().map((secret) => unsign(signed, secret))
      return ids.find((id) => id !== false)
    },
  }
}

/** express-session and cookie-signature sign with text, so the key's bytes are encoded in base64url. */
function secretOf({ key }: LabelledKey): KeyObject {
  return createSecretKey(key.export().toString('base64url'), 'utf8')
}

/** Reads the session of a request into `req.session`. Throws 503 if the store is out of reach. */
export type LoadSession = (req: Request, res: Response) => Promise<void>

const DONE = Promise.resolve()

/**
 * Loads sessions with express-session on connect-redis, which here neither sets cookies nor saves sessions: a session is created in
 * the commit of a sign-in step, and extended before the response (sessions.ts). It is not called for requests without a session
 * cookie, because it would only generate a session that is never saved.
 */
export function createLoadSession(
  cookie: SessionCookie,
  store: SessionStore,
  device: DeviceBinding,
): LoadSession {
  const middleware = memoizeLast(cookie.secrets, (secrets) =>
    session({
      name: cookie.name,
      secret: [...secrets],
      store: store.redisStore(),
      genid: newSessionId,
      resave: false,
      saveUninitialized: false,
      cookie: cookie.attributes,
    }),
  )

  return (req, res) => {
    const { sessionStore: loadedFrom }: Partial<Request> = req
    if (loadedFrom !== undefined || !cookie.isPresent(req)) return DONE
    const loading = new Promise<void>((resolve, reject) => {
      middleware()(req, res, (error?: unknown) => (error ? reject(error) : resolve()))
    })
    return loading.then(() => {
      const stored = req.session?.stored
      if (stored === undefined) return
      const isValid = stored.id === req.sessionID && device.verify(req, stored.session)
      if (!isValid) Reflect.deleteProperty(req, 'session')
    })
  }
}

export type DeviceBinding = ReturnType<typeof createDeviceBinding>

const HASH_CHARS = 16

/** Binds a session to the device that opened it. The session contains the keyed hash of the device, as in the audit log. */
export function createDeviceBinding(options: SessionsOptions) {
  const { masterKeys, readDeviceId } = options
  const auditMismatch = createMismatchAudit(options)
  const hashes = createSigner(masterKeys, 'log-hashes')
  const short = (hmac: string) => hmac.slice(0, HASH_CHARS)
  const hash = (deviceId: string) => short(hashes.sign(deviceId))
  /** Checks the hashes by retired keys, too. */
  const matches = ({ device }: Session, deviceId: string | undefined) =>
    deviceId !== undefined && hashes.signAll(deviceId).some((candidate) => short(candidate) === device)

  return {
    hash,
    matches,

    /** Whether the device of this request opened the session. A mismatch is counted and audited. */
    verify(req: Request, session: Session): boolean {
      const deviceId = readDeviceId(req)
      const isMatch = matches(session, deviceId)
      if (!isMatch) auditMismatch(req, session, deviceId === undefined ? undefined : hash(deviceId))
      return isMatch
    },
  }
}

/** Repeated requests with the same two cookies are audited once in this time. */
const AUDIT_EVERY_MS = 60_000
const MAX_REMEMBERED = 10_000 // as maxSize: with max, an LRUCache allocates memory for all of them at once

function createMismatchAudit({ log, metrics, now }: SessionsOptions) {
  const auditedAtMs = new LRUCache<string, number>({ maxSize: MAX_REMEMBERED, sizeCalculation: () => 1 })
  return (req: Request, session: Session, deviceHash: string | undefined) => {
    metrics.requestsRefused.inc({ reason: 'session_device_mismatch' })
    const pair = `${session.publicId} ${deviceHash}`
    if (now() - (auditedAtMs.get(pair) ?? Number.NEGATIVE_INFINITY) < AUDIT_EVERY_MS) return
    auditedAtMs.set(pair, now())
    const { requestId, address } = getRequestContext(req)
    const { userId, loginHash, publicId: sessionId } = session
    log.audit('session_device_mismatch', { requestId, address, userId, loginHash, deviceHash, sessionId })
  }
}

export type DeviceSessions = ReturnType<typeof createDeviceSessions>
export type DeviceSwap = Awaited<ReturnType<DeviceSessions['bind']>>

/**
 * The index device → session. A device has one session, even if several of its tabs sign in at once: each sign-in swaps its own
 * session into the index, and ends the sessions that it replaced.
 */
export function createDeviceSessions(
  options: Pick<SessionsOptions, 'store' | 'masterKeys' | 'log' | 'metrics'>,
) {
  const { store, masterKeys } = options
  const { keysOf, open, seal } = createSealedRecords({
    ...options,
    seal: createSeal(masterKeys, 'user-session'),
    names: createSigner(masterKeys, 'device-session-names'),
    keyOf: (hmac) => `gatehouse:user-sess:${hmac}`,
    codec: jsonCodec(z.object({ version: z.literal(1), id: z.string() })),
    kind: 'user_session',
  })

  return {
    /** Makes this the session of the device. */
    async bind(deviceId: string, id: string, ttlMs: number) {
      const [key, ...older] = keysOf(deviceId)
      const own = seal({ version: 1, id }, key)
      const swapping = store.swap(key, own, ttlMs).catch((error: unknown) => {
        // A stalled store still executes the swap when it resumes. This deletion is queued right behind it.
        store.deleteIf(key, own).catch(() => {}) // if this fails too, the entry expires
        throw error
      })
      const reading = older.map(async (one) => open(await store.get(one), one))
      const [before, ...others] = await Promise.all([swapping, ...reading])
      return {
        /** The sessions that the device had before. There is more than one only during a key rotation. */
        replaced: [open(before, key), ...others].flatMap((entry) => entry?.id ?? []),
        /** Restores the previous session, unless a later sign-in has already replaced this one. */
        async rollback() {
          const wasOurs = await store.deleteIf(key, own)
          if (wasOurs && before !== undefined) await store.set(key, before, ttlMs, 'absent')
        },
      }
    },
  }
}
