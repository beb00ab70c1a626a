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
