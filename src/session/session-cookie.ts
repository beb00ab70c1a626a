import { createSecretKey, type KeyObject } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { stringifySetCookie } from 'cookie'
import { sign, unsign } from 'cookie-signature'
import type { Request, Response } from 'express'
import session from 'express-session'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { createSeal, createSigner, type LabelledKey, labelledKeys, type MasterKeys } from '../crypto/keys.ts'
import { readCookie } from '../http/cookies.ts'
import { contextOf } from '../http/request-context.ts'
import { createSealedRecords, jsonCodec } from '../store/sealed-records.ts'
import type { Session, SessionsOptions } from './session.ts'
import { newSessionId, type SessionStore } from './session-store.ts'

/** The session cookie, in the form of express-session: `s:<id>.<signature>`. */
export interface SessionCookie {
  readonly name: string
  readonly attributes: SessionCookieAttributes
  /** The signing keys, the newest first; another list once they were rotated. */
  secrets(): readonly [KeyObject, ...KeyObject[]]
  /** The `Set-Cookie` header that opens a session in the browser. */
  opening(id: string): string
  /** The `Set-Cookie` header that ends it there. */
  closing(): string
  isIn(req: IncomingMessage): boolean
  /** The session id of a well-signed cookie; says nothing of whether that session still exists. */
  idIn(req: IncomingMessage): string | undefined
}

export interface SessionCookieOptions {
  readonly masterKeys: MasterKeys
  /** By PUBLIC_URL: `__Host-` and Secure over https; neither on http://localhost. */
  readonly secure: boolean
  readonly sameSite: 'lax' | 'strict'
}

interface SessionCookieAttributes extends Pick<SessionCookieOptions, 'secure' | 'sameSite'> {
  readonly path: '/'
  readonly httpOnly: true
}

const SIGNED = 's:'

export function createSessionCookie({ masterKeys, secure, sameSite }: SessionCookieOptions): SessionCookie {
  const name = secure ? '__Host-gatehouse' : 'gatehouse'
  const attributes: SessionCookieAttributes = { path: '/', httpOnly: true, secure, sameSite }
  const valueIn = readCookie(name)
  const secrets = derivedFrom(
    labelledKeys(masterKeys, 'sign/session-cookie'),
    ([newest, ...older]) => [secretOf(newest), ...older.map(secretOf)] as const,
  )

  return {
    name,
    attributes,
    secrets,
    opening: (id) => stringifySetCookie(name, SIGNED + sign(id, secrets()[0]), attributes),
    closing: () => stringifySetCookie(name, '', { ...attributes, maxAge: 0 }),
    isIn: (req) => valueIn(req) !== undefined,
    idIn(req) {
      const value = valueIn(req)
      if (value?.startsWith(SIGNED) !== true) return undefined
      const signed = value.slice(SIGNED.length)
      const ids = secrets().map((secret) => unsign(signed, secret))
      return ids.find((id) => id !== false)
    },
  }
}

/** What is derived from something that seldom changes: made anew only when it did. */
export function derivedFrom<Source, Derived>(
  source: () => Source,
  derive: (source: Source) => Derived,
): () => Derived {
  let last: { readonly from: Source; readonly derived: Derived } | undefined
  return () => {
    const from = source()
    if (last?.from !== from) last = { from, derived: derive(from) }
    return last.derived
  }
}

/** express-session and cookie-signature sign with text: the key's bytes in base64url. */
function secretOf({ key }: LabelledKey): KeyObject {
  return createSecretKey(key.export().toString('base64url'), 'utf8')
}

/** Reads the session of a request into `req.session`; a store out of reach is 503. */
export type LoadSession = (req: Request, res: Response) => Promise<void>

const DONE = Promise.resolve()

/**
 * express-session on connect-redis. By itself it sets no cookie and saves nothing: a session is opened in the commit of a sign-in
 * step, and extended before the answer (sessions.ts). It is not called for a request without a session
 * cookie, for which it would only generate a session that is never saved.
 */
export function createLoadSession(
  cookie: SessionCookie,
  store: SessionStore,
  device: SessionDevice,
): LoadSession {
  const middleware = derivedFrom(cookie.secrets, (secrets) =>
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
    if (loadedFrom !== undefined || !cookie.isIn(req)) return DONE
    const loading = new Promise<void>((resolve, reject) => {
      middleware()(req, res, (error?: unknown) => (error ? reject(error) : resolve()))
    })
    return loading.then(() => {
      const stored = req.session?.stored
      if (stored === undefined) return
      const isOwn = stored.id === req.sessionID && device.isOwn(req, stored.session)
      if (!isOwn) Reflect.deleteProperty(req, 'session')
    })
  }
}

export type SessionDevice = ReturnType<typeof createSessionDevice>

const HASH_CHARS = 16

/** A session belongs to the device that opened it. It names the device by the keyed hash that the audit log has too. */
export function createSessionDevice(options: SessionsOptions) {
  const { masterKeys, deviceIdIn } = options
  const auditMismatch = createMismatchAudit(options)
  const hashes = createSigner(masterKeys, 'log-hashes')
  const short = (hash: string) => hash.slice(0, HASH_CHARS)
  const hashOf = (deviceId: string) => short(hashes.sign(deviceId))
  /** By a retired key too. */
  const isOf = ({ device }: Session, deviceId: string | undefined) =>
    deviceId !== undefined && hashes.signAll(deviceId).some((hash) => short(hash) === device)

  return {
    hashOf,
    isOf,

    /** Whether the device of this request opened the session. A mismatch is counted and audited. */
    isOwn(req: Request, session: Session): boolean {
      const deviceId = deviceIdIn(req)
      const isOwn = isOf(session, deviceId)
      if (!isOwn) auditMismatch(req, session, deviceId === undefined ? undefined : hashOf(deviceId))
      return isOwn
    },
  }
}

/** A client that keeps sending the same two cookies is audited once in this time, however often it asks. */
const AUDIT_EVERY_MS = 60_000
const MOST_REMEMBERED = 10_000 // a maxSize: with max, an LRUCache takes the memory for all of them at once

function createMismatchAudit({ log, metrics, now }: SessionsOptions) {
  const auditedAtMs = new LRUCache<string, number>({ maxSize: MOST_REMEMBERED, sizeCalculation: () => 1 })
  return (req: Request, session: Session, deviceHash: string | undefined) => {
    metrics.refusals.inc({ reason: 'session_device_mismatch' })
    const pair = `${session.publicId} ${deviceHash}`
    if (now() - (auditedAtMs.get(pair) ?? Number.NEGATIVE_INFINITY) < AUDIT_EVERY_MS) return
    auditedAtMs.set(pair, now())
    const { requestId, address } = contextOf(req)
    const { userId, loginHash, publicId: sessionId } = session
    log.audit('session_device_mismatch', { requestId, address, userId, loginHash, deviceHash, sessionId })
  }
}

export type DeviceSessions = ReturnType<typeof createDeviceSessions>
export type TakenDevice = Awaited<ReturnType<DeviceSessions['take']>>

/**
 * The index device → session. A device has one session, however many of its tabs sign in at once: each sign-in swaps its own
 * session in and ends the ones that it learns of.
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
    async take(deviceId: string, id: string, ttlMs: number) {
      const [key, ...older] = keysOf(deviceId)
      const own = seal({ version: 1, id }, key)
      const swapping = store.swap(key, own, ttlMs).catch((error: unknown) => {
        // A stalled store still carries out the swap when it resumes. This deletion is queued right behind it.
        store.deleteIf(key, own).catch(() => {}) // if this fails too, the entry expires
        throw error
      })
      const reading = older.map(async (one) => open(await store.get(one), one))
      const [before, ...others] = await Promise.all([swapping, ...reading])
      return {
        /** The sessions that the device had before; more than one only while keys are being rotated. */
        replaced: [open(before, key), ...others].flatMap((entry) => entry?.id ?? []),
        /** Undoes it, unless a later sign-in has taken the device by now. */
        async rollback() {
          const wasOurs = await store.deleteIf(key, own)
          if (wasOurs && before !== undefined) await store.set(key, before, ttlMs, 'absent')
        },
      }
    },
  }
}
