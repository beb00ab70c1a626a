import { randomBytes } from 'node:crypto'
import { RedisStore } from 'connect-redis'
import type { Request } from 'express'
import type { SessionData } from 'express-session'
import { z } from 'zod'
import { createSeal, createSigner, type MasterKeys } from '../crypto/keys.ts'
import { getRequestContext } from '../http/request-context.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { createSealedRecords, parseStoredJson, type SealedRecords } from '../store/sealed-records.ts'
import type { Store } from '../store/store.ts'

/** It contains no upstream token. */
export interface Session {
  /** Safe to show. It is not the id in the cookie. */
  readonly publicId: string
  /** Okta's user id. */
  readonly userId: string
  readonly login: string
  /** As in Okta's response: firstName, lastName, locale, timeZone, login. */
  readonly profile: Readonly<Record<string, unknown>>
  /** RFC 8176 names. */
  readonly amr: readonly string[]
  /** `loginHash` and `device` are keyed hashes, as in the log. */
  readonly loginHash: string
  readonly device: string
  readonly userAgent: string
  readonly createdAtMs: number
  /** When the session was last extended. The idle limit starts here. */
  readonly lastSeenAtMs: number
}

/** A session, and the id in its cookie. */
export interface IdentifiedSession {
  readonly id: string
  readonly session: Session
}

/** The broker checks them by its own clock: a store that keeps a record too long does not prolong a session. */
export interface SessionLimits {
  readonly idleMs: number
  readonly absoluteMs: number
  readonly now: () => number
}

export interface SessionsOptions extends SessionLimits {
  readonly store: Store
  readonly masterKeys: MasterKeys
  /** undefined: the request has no valid device cookie. */
  readonly readDeviceId: (req: Request) => string | undefined
  /** The shortest time between two writes of a session that is in use. */
  readonly extendEveryMs: number
  readonly maxPerUser: number
  readonly log: Logger
  readonly metrics: Metrics
}

/** The time until the session expires if it is not used; zero or less: it has expired. */
export function remainingMs(session: Session, limits: SessionLimits): number {
  return idleExpiresAtMs(session, limits) - limits.now()
}

/** The times of a session as responses show them. */
export function formatTimes(session: Session, limits: SessionLimits) {
  return {
    createdAt: new Date(session.createdAtMs).toISOString(),
    lastSeenAt: new Date(session.lastSeenAtMs).toISOString(),
    expiresAt: new Date(session.createdAtMs + limits.absoluteMs).toISOString(),
    idleExpiresAt: new Date(idleExpiresAtMs(session, limits)).toISOString(),
  }
}

function idleExpiresAtMs({ createdAtMs, lastSeenAtMs }: Session, { idleMs, absoluteMs }: SessionLimits) {
  return Math.min(lastSeenAtMs + idleMs, createdAtMs + absoluteMs)
}

/** The fields that identify request, session and device in an audit event. They contain no login. */
export function auditFields(req: Request, { userId, loginHash, device, publicId }: Session) {
  const { requestId, address } = getRequestContext(req)
  return { requestId, address, userId, loginHash, deviceHash: device, sessionId: publicId }
}

/**
 * Okta's user ids are letters and digits (`00u…`). An id of any other form is refused: it would get into the log and into key
 * names at any length, and operators could not end its sessions.
 */
export function isUserId(given: unknown): given is string {
  return typeof given === 'string' && /^[\w-]{1,100}$/.test(given)
}

declare module 'express-session' {
  interface SessionData {
    stored?: StoredSession
  }
}

export type SessionStore = ReturnType<typeof createSessionStore>

/** Sealed records under an HMAC of the session id. A record contains its own id, so a copy under another id is not valid. */
export function createSessionStore(options: SessionsOptions) {
  const { store, masterKeys } = options
  const records = createSealedRecords<IdentifiedSession>({
    ...options,
    seal: createSeal(masterKeys, 'session'),
    names: createSigner(masterKeys, 'session-names'),
    keyOf: (hmac) => `gatehouse:sess:${hmac}`,
    codec: { encode, decode },
    kind: 'session',
  })

  return {
    /** For express-session. It writes only sessions that still exist, so a sign-out is final. */
    redisStore: () =>
      new RedisStore({
        client: createRedisClient(store, records),
        serializer: createSerializer(records),
        ttl: ({ stored }) => (stored === undefined ? 0 : remainingMs(stored.session, options) / 1000),
        prefix: '',
        disableTouch: true,
      }),

    create: (id: string, session: Session) =>
      records.write(id, { id, session }, remainingMs(session, options)),

    /** undefined: the session does not exist, has expired, or cannot be read. */
    async read(id: string): Promise<Session | undefined> {
      const found = (await records.read(id))?.value
      return found?.id === id && remainingMs(found.session, options) > 0 ? found.session : undefined
    },

    /** Also true for a record that only another version can read. */
    async exists(id: string): Promise<boolean> {
      const found = await Promise.all(records.keysOf(id).map((key) => store.get(key)))
      return found.some((raw) => raw !== undefined)
    },

    remove: records.remove,
  }
}

const ID_BYTES = 32

export function newSessionId(): string {
  return randomBytes(ID_BYTES).toString('base64url')
}

/** The session was ended after it was read. */
export class SessionEnded extends Error {}

/** A session in `req.session.stored`, where express-session keeps it. */
class StoredSession implements IdentifiedSession {
  readonly id: string
  /** The Redis key of its record. */
  readonly key: string
  readonly session: Session

  constructor({ id, session }: IdentifiedSession, key: string) {
    this.id = id
    this.key = key
    this.session = session
  }

  extendedAt(lastSeenAtMs: number): StoredSession {
    return new StoredSession({ id: this.id, session: { ...this.session, lastSeenAtMs } }, this.key)
  }

  /**
   * express-session hashes the JSON of a session three times per request to detect changes. Only this field ever changes, and
   * hashing the whole session would cost more than reading it (docs/decisions/0024-express-session-holds-the-session.md).
   */
  toJSON(): number {
    return this.session.lastSeenAtMs
  }
}

/**
 * The ioredis commands that connect-redis uses, on the broker's store. The serializer needs the Redis key, which is the associated
 * data of the seal, so it is passed in front of each record.
 */
function createRedisClient(store: Store, { keysOf, remove }: SealedRecords<IdentifiedSession>) {
  return {
    async get(id: string) {
      for (const key of keysOf(id)) {
        const raw = await store.get(key)
        if (raw !== undefined) return `${key} ${raw}`
      }
      return null
    },
    async set(_id: string, keyAndRaw: string, _unit: 'EX', ttlSeconds: number) {
      const [key, raw] = split(keyAndRaw)
      const ttlMs = Math.round(ttlSeconds * 1000)
      if (!(await store.set(key, raw, ttlMs, 'present'))) throw new SessionEnded()
    },
    del: (ids: readonly string[]) => Promise.all(ids.map(remove)),
  }
}

function createSerializer({ open, seal }: SealedRecords<IdentifiedSession>) {
  return {
    parse(keyAndRaw: string): SessionData {
      const [key, raw] = split(keyAndRaw)
      const found = open(raw, key)
      const cookie = { originalMaxAge: null }
      return found === undefined ? { cookie } : { cookie, stored: new StoredSession(found, key) }
    },
    stringify({ stored }: SessionData): string {
      if (stored === undefined) throw new TypeError('a session that was not read cannot be saved')
      return `${stored.key} ${seal(stored, stored.key)}`
    },
  }
}

function split(keyAndRaw: string): [key: string, raw: string] {
  const end = keyAndRaw.indexOf(' ')
  return [keyAndRaw.slice(0, end), keyAndRaw.slice(end + 1)]
}

const SessionRecord = z.object({
  version: z.literal(1),
  ownId: z.string(),
  publicId: z.string(),
  userId: z.string(),
  login: z.string(),
  profile: z.record(z.string(), z.unknown()),
  amr: z.array(z.string()),
  loginHash: z.string(),
  device: z.string(),
  userAgent: z.string(),
  createdAtMs: z.number(),
  lastSeenAtMs: z.number(),
})

function encode({ id, session }: IdentifiedSession): string {
  return JSON.stringify({ version: 1, ownId: id, ...session })
}

function decode(text: string): IdentifiedSession | undefined {
  const { success, data } = SessionRecord.safeParse(parseStoredJson(text))
  if (!success) return undefined
  const { version: _version, ownId: id, ...session } = data
  return { id, session }
}
