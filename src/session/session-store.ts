import { randomBytes } from 'node:crypto'
import { RedisStore } from 'connect-redis'
import type { SessionData } from 'express-session'
import { z } from 'zod'
import { createSeal } from '../crypto/keys.ts'
import { storeUnavailable } from '../errors.ts'
import { KEYS, startOf } from '../store/keys.ts'
import { createSealedValues } from '../store/sealed-records.ts'
import type { Store } from '../store/store.ts'
import {
  Binding,
  type LoadedSession,
  type Session,
  type SessionsOptions,
  STORED_TEXT,
  UnboundSession,
} from './session.ts'
import { remainingMs } from './session-times.ts'

/**
 * A bound session has a version of its own: 0.2.0 cannot read it, and does not erase the key when
 * it extends the session.
 */
const SessionRecord = z.discriminatedUnion('version', [
  z.object({ version: z.literal(1), id: z.string(), session: UnboundSession }),
  z.object({
    version: z.literal(2),
    id: z.string(),
    session: UnboundSession.extend({ binding: Binding }),
  }),
])

declare module 'express-session' {
  interface SessionData {
    /**
     * undefined: the stored record cannot be read. A function, which JSON leaves out: to find
     * changes, express-session hashes the JSON of what it reads. Here it never saves any.
     */
    stored?: () => LoadedSession
  }
}

export type SessionStore = ReturnType<typeof createSessionStore>

const ID_BYTES = 32

/** `tag` is that of the session's user (void-times.ts). */
export function newSessionId(tag: string): string {
  return randomBytes(ID_BYTES).toString('base64url') + tag
}

/**
 * The records of sessions, in express-session's store: connect-redis, over the broker's own store.
 * express-session only reads: a session is created in the commit of a sign-in step, and extended
 * only if it still exists, so that a sign-out is final.
 */
export function createSessionStore(options: SessionsOptions) {
  const { store } = options
  const prefix = startOf(store, KEYS.session)
  const serializer = createSerializer(options, prefix)
  const expressStore = new RedisStore({
    client: toRedisClient(store),
    prefix,
    serializer,
    ttl: ({ stored }) => Math.ceil((stored ? remainingMs(stored().session, options) : options.idleMs) / 1000),
    disableTouch: true,
  })

  return {
    expressStore,

    /**
     * undefined: the session does not exist or has expired. Without a session: the record cannot be
     * read. It may be void.
     */
    async read(id: string): Promise<LoadedSession | { readonly session: undefined } | undefined> {
      const data: SessionData | null = await expressStore.get(id)
      if (data === null) return undefined
      const stored = data.stored?.()
      if (stored?.id !== id) return { session: undefined }
      return remainingMs(stored.session, options) > 0 ? stored : undefined
    },

    async create(id: string, session: Session): Promise<void> {
      await expressStore.set(id, { cookie, stored: () => ({ id, session }) })
    },

    /**
     * Changes a session that was read, by compare-and-set: of two changes at once, the later one is
     * made to what the earlier one has written. connect-redis would write a session again that was
     * ended meanwhile.
     *
     * @param change returns the session itself if there is nothing to write
     * @returns undefined: the session has ended, and is not written
     */
    async update(loaded: LoadedSession, change: (session: Session) => Session): Promise<Session | undefined> {
      const { id, session, [STORED_TEXT]: text = '' } = loaded
      const key = prefix + id
      let [current, expected] = [session, text]
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const changed = change(current)
        if (changed === current) return current
        const value = serializer.stringify({ cookie, stored: () => ({ id, session: changed }) })
        if (await store.replaceIf(key, expected, value, remainingMs(changed, options))) return changed
        const stored = await store.get(key)
        if (stored === undefined) return undefined
        const again = serializer.parse(stored).stored?.()
        if (again?.id !== id) return undefined
        ;[current, expected] = [again.session, stored]
      }
      throw storeUnavailable() // never seen: each try that fails is another request's success
    },

    async destroy(id: string): Promise<void> {
      await expressStore.destroy(id)
    },
  }
}

/** A session is written when it is extended, bound, or used for the first time after that. */
const MAX_TRIES = 5

export interface StoredSession {
  readonly session: Session | undefined
}

/** What connect-redis needs of an ioredis client to read, write and delete a session. */
function toRedisClient(store: Pick<Store, 'get' | 'set' | 'delete'>) {
  return {
    get: async (key: string) => (await store.get(key)) ?? null,
    set: (key: string, value: string, _unit: 'EX', seconds: number) => store.set(key, value, seconds * 1000),
    del: (keys: readonly string[]) => Promise.all(keys.map((key) => store.delete(key))),
  }
}

/** The attributes of the cookie are configured, not stored. */
const cookie = { originalMaxAge: null }

/**
 * Seals the records. The id is in the Redis key: reading Redis is not enough to use a session, as
 * its cookie is signed. connect-redis does not pass the key to the serializer, so the record
 * contains its own id: a copy under another id is not valid.
 *
 * @param prefix of the Redis keys, the associated data
 */
function createSerializer(options: SessionsOptions, prefix: string) {
  const values = createSealedValues({
    ...options,
    seal: createSeal(options.masterKeys, 'session'),
    schema: SessionRecord,
    kind: 'session',
  })
  return {
    parse(raw: string): SessionData {
      const record = values.open(raw, prefix)
      if (record === undefined) return { cookie }
      const { id, session } = record
      return { cookie, stored: () => ({ id, session, [STORED_TEXT]: raw }) }
    },
    stringify({ stored }: SessionData): string {
      if (stored === undefined) throw new TypeError('there is no session to save')
      const { id, session } = stored()
      const { binding } = session
      return values.seal(
        binding === undefined
          ? { version: 1, id, session }
          : { version: 2, id, session: { ...session, binding } },
        prefix,
      )
    },
  }
}
