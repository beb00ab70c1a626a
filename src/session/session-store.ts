import { randomBytes } from 'node:crypto'
import { RedisStore } from 'connect-redis'
import session, { type Store as ExpressStore, type SessionData } from 'express-session'
import { z } from 'zod'
import { createSeal } from '../crypto/keys.ts'
import { toStoreError } from '../store/redis-errors.ts'
import { createSealedValues, jsonCodec } from '../store/sealed-records.ts'
import type { Store } from '../store/store.ts'
import { type IdentifiedSession, remainingMs, type Session, type SessionsOptions } from './session.ts'

declare module 'express-session' {
  interface SessionData {
    /** undefined: the stored record cannot be read. */
    stored?: IdentifiedSession
  }
}

export type SessionStore = ReturnType<typeof createSessionStore>

const ID_BYTES = 32

export function newSessionId(): string {
  return randomBytes(ID_BYTES).toString('base64url')
}

/**
 * The records of sessions, in the store of express-session: connect-redis, or its MemoryStore if there is no Redis. All reads and
 * deletions go through it. express-session itself never saves: a session is created in the commit of a sign-in step, and extended only
 * if it still exists, so that a sign-out is final.
 */
export function createSessionStore(options: SessionsOptions) {
  const { redis } = options.store
  const { expressStore, write } = redis === undefined ? embeddedRecords() : redisRecords(options, redis)
  const toError = (error: unknown) => {
    options.metrics.storeFailures.inc()
    return toStoreError(error)
  }

  return {
    expressStore,

    /** The 503 for an error of `expressStore`. */
    toError,

    /** undefined: the session does not exist or has expired. Without a session: the record cannot be read. */
    async read(id: string): Promise<StoredSession | undefined> {
      const data = await promised<SessionData>((done) => expressStore.get(id, done), toError)
      if (!data) return undefined
      const { stored } = data
      if (stored?.id !== id) return { session: undefined }
      return remainingMs(stored.session, options) > 0 ? stored : undefined
    },

    async create(id: string, session: Session): Promise<void> {
      await write({ id, session })
    },

    /** False: the session was ended after it was read, and is not written. */
    extend: (id: string, session: Session) => write({ id, session }, 'present'),

    destroy: (id: string) => promised<void>((done) => expressStore.destroy(id, done), toError),
  }
}

export interface StoredSession {
  readonly session: Session | undefined
}

interface Records {
  readonly expressStore: ExpressStore
  write(stored: IdentifiedSession, when?: 'present'): Promise<boolean>
}

/**
 * The id is in the Redis key. Reading Redis is not enough to use a session, as its cookie is signed. connect-redis does not pass the key to
 * the serializer, so the record contains its own id: a copy under another id is not valid.
 */
function redisRecords(options: SessionsOptions, redis: NonNullable<Store['redis']>): Records {
  const serializer = createSerializer(options)
  return {
    expressStore: new RedisStore({ client: redis, serializer, prefix: PREFIX, disableTouch: true }),
    write(stored, when) {
      const ttlMs = remainingMs(stored.session, options)
      return options.store.set(PREFIX + stored.id, serializer.stringify({ cookie, stored }), ttlMs, when)
    },
  }
}

function embeddedRecords(): Records {
  const expressStore = new EmbeddedSessions()
  return {
    expressStore,
    async write(stored, when) {
      if (when === 'present' && !(stored.id in expressStore.sessions)) return false
      expressStore.set(stored.id, { cookie, stored })
      return true
    },
  }
}

class EmbeddedSessions extends session.MemoryStore {
  /** By id. Its type does not name this property of every MemoryStore. */
  declare readonly sessions: Readonly<Record<string, string>>
}

function promised<Result>(
  call: (done: (error: unknown, result?: Result | null) => void) => void,
  toError: (error: unknown) => Error,
): Promise<Result | null | undefined> {
  return new Promise((resolve, reject) => {
    call((error, result) => (error ? reject(toError(error)) : resolve(result)))
  })
}

const PREFIX = 'gatehouse:sess:'
/** The attributes of the cookie are configured, not stored. */
const cookie = { originalMaxAge: null }

/**
 * express-session hashes the JSON of a session at the beginning and at the end of each request, to see whether it has changed. A
 * session never does. Without its fields, this takes a tenth less CPU time of a session check (S) and of forward-auth (F).
 */
const toJSON = () => undefined

function createSerializer(options: SessionsOptions) {
  const values = createSealedValues({
    ...options,
    seal: createSeal(options.masterKeys, 'session'),
    codec: jsonCodec(SessionRecord),
    kind: 'session',
  })
  return {
    parse(raw: string): SessionData {
      const record = values.open(raw, PREFIX)
      if (record === undefined) return { cookie }
      const stored = { ...record, toJSON }
      return { cookie, stored }
    },
    stringify({ stored }: SessionData): string {
      if (stored === undefined) throw new TypeError('there is no session to save')
      return values.seal({ version: 1, ...stored }, PREFIX)
    },
  }
}

const SessionRecord = z.object({
  version: z.literal(1),
  id: z.string(),
  session: z.object({
    publicId: z.string(),
    userId: z.string(),
    login: z.string(),
    profile: z.record(z.string(), z.unknown()),
    amr: z.array(z.string()).readonly(),
    deviceId: z.string(),
    loginHash: z.string(),
    deviceHash: z.string(),
    userAgent: z.string(),
    createdAtMs: z.number(),
    lastSeenAtMs: z.number(),
  }),
})
