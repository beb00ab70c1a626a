import { randomBytes } from 'node:crypto'
import { RedisStore } from 'connect-redis'
import type { SessionData } from 'express-session'
import { z } from 'zod'
import { createSeal, createSigner } from '../crypto/keys.ts'
import { createSealedRecords, parseStoredJson, type SealedRecords } from '../store/sealed-records.ts'
import type { Store } from '../store/store.ts'
import { type IdentifiedSession, remainingMs, type Session, type SessionsOptions } from './session.ts'

declare module 'express-session' {
  interface SessionData {
    stored?: StoredSession
  }
}

export type SessionStore = ReturnType<typeof createSessionStore>

/** Sessions are sealed, under an HMAC of their id. A record holds its own id: copied to another id, it is no session. */
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
    /** For express-session. It writes only where the session still exists: a sign-out is never undone. */
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

    /** undefined: none, or one that has expired or cannot be read. */
    async read(id: string): Promise<Session | undefined> {
      const found = (await records.read(id))?.value
      return found?.id === id && remainingMs(found.session, options) > 0 ? found.session : undefined
    },

    /** Whether anything is stored under this id, also what only another version can read. */
    async exists(id: string): Promise<boolean> {
      const found = await Promise.all(records.keysOf(id).map((key) => store.get(key)))
      return found.some((raw) => raw !== undefined)
    },

    /** False if there was none. */
    remove: records.remove,
  }
}

const ID_BYTES = 32

export function newSessionId(): string {
  return randomBytes(ID_BYTES).toString('base64url')
}

/** The session was signed out or ended while it was in use. */
export class SessionEnded extends Error {}

/** The session as express-session holds it, in `req.session.stored`. */
class StoredSession implements IdentifiedSession {
  readonly id: string
  /** The Redis key that it was read from. */
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
   * express-session hashes the JSON of a session three times a request, to see whether it has changed. Only this ever changes;
   * hashing all of it would cost more than reading it (docs/decisions/0024-express-session-holds-the-session.md).
   */
  toJSON(): number {
    return this.session.lastSeenAtMs
  }
}

/**
 * The part of ioredis that connect-redis uses, on the broker's store: any Redis, or the embedded one. Between it and the serializer,
 * a record is preceded by its Redis key, which is the associated data of its seal.
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
      if (stored === undefined) throw new TypeError('only a session that was read is written')
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
