import { v4 as uuid } from 'uuid'
import { z } from 'zod'
import { createSeal, createSigner } from '../crypto/keys.ts'
import { otherUsersSession } from '../errors.ts'
import { allSettledOrThrow } from '../store/all-settled-or-throw.ts'
import { KEYS } from '../store/keys.ts'
import { createSealedRecords } from '../store/sealed-records.ts'
import { newSessionId, type Session, type SessionStore, type SessionsOptions } from './session.ts'
import type { SessionToEnd, UserSessions } from './user-sessions.ts'

/** The result of a finished sign-in. */
export type SessionGrant = Omit<Session, 'publicId' | 'createdAtMs' | 'authenticatedAtMs' | 'lastSeenAtMs'>

/**
 * A new session with its ids. Nothing is written yet. Its methods belong to the commit of a sign-in
 * step.
 */
export interface PreparedSession {
  /** The id in the cookie. */
  readonly id: string
  readonly publicId: string
  write(): Promise<void>
  /**
   * Makes this the session of its device. To be called after `write`: a sign-in that replaces the
   * session must find it.
   */
  bindDevice(): Promise<void>
  /**
   * To be called after the commit. Ends the previous sessions of the device and the session of the
   * request's cookie, `presentedId`. Evicts the user's oldest sessions if there are too many.
   *
   * @returns how many sessions were evicted
   * @throws 403 if this would end another user's session, unless `mayReplaceOtherUser`
   */
  replace(presentedId: string | undefined, mayReplaceOtherUser: boolean): Promise<number>
  /**
   * Reverses all writes, failed ones too, because Redis may still execute them later. Nothing is
   * read first: on a stalled Redis, the delete is queued right behind the write, so either both are
   * executed or neither.
   */
  rollback(): Promise<void>
}

export interface PrepareSessionOptions extends SessionsOptions {
  readonly sessionStore: SessionStore
  readonly userSessions: UserSessions
  readonly deviceSessions: DeviceSessions
}

export function prepareSession(
  options: PrepareSessionOptions,
  grant: SessionGrant,
  open: Session | undefined,
): PreparedSession {
  const { sessionStore, userSessions, deviceSessions, absoluteMs, maxPerUser, metrics, now } = options
  const { userId, deviceId } = grant
  const id = newSessionId(options.voidTimes.tagOf(userId))
  const publicId = open?.userId === userId ? open.publicId : uuid()
  let entries = 0 // of the user's index, once the session is written
  let bound: DeviceSwap | undefined

  return {
    id,
    publicId,

    async write() {
      const session = newSession(grant, publicId, now())
      // The index may show the entry before the session exists. It is not removed then
      // (user-sessions.ts).
      const adding = userSessions.add(userId, { id, ...session }, absoluteMs)
      ;[entries] = await allSettledOrThrow(adding, sessionStore.create(id, session))
      metrics.sessionsOpened.inc()
    },

    async bindDevice() {
      bound = await deviceSessions.bind(deviceId, id, absoluteMs)
    },

    async replace(presentedId, mayReplaceOtherUser) {
      const replaced = await readReplaced(options, bound, presentedId, deviceId)
      const hasOtherUser = replaced.some(({ session }) => session !== undefined && session.userId !== userId)
      if (hasOtherUser && !mayReplaceOtherUser) throw otherUsersSession('stateToken')
      await Promise.all(replaced.map((session) => userSessions.end(session, 'replaced')))
      return entries > maxPerUser ? userSessions.evict(userId) : 0
    },

    async rollback() {
      await allSettledOrThrow(
        sessionStore.destroy(id),
        userSessions.remove(userId, id),
        Promise.resolve(bound?.rollback()),
      )
      if (entries > 0) metrics.sessionsEnded.inc({ reason: 'rolled_back' })
    },
  }
}

function newSession(grant: SessionGrant, publicId: string, nowMs: number): Session {
  return { ...grant, publicId, createdAtMs: nowMs, authenticatedAtMs: nowMs, lastSeenAtMs: nowMs }
}

/**
 * Includes the session of the request's cookie, because the index entry of the device may be lost
 * or unreadable.
 */
async function readReplaced(
  { sessionStore }: PrepareSessionOptions,
  bound: DeviceSwap | undefined,
  presentedId: string | undefined,
  deviceId: string,
): Promise<readonly SessionToEnd[]> {
  const read = async (id: string) => {
    const stored = await sessionStore.read(id)
    return stored === undefined ? [] : [{ id, session: stored.session }]
  }
  const replaced = (await Promise.all((bound?.replaced ?? []).map(read))).flat()
  if (presentedId === undefined || bound?.replaced.includes(presentedId)) return replaced
  const presented = await read(presentedId)
  const isOwn = ({ session }: SessionToEnd) => session?.deviceId === deviceId
  return [...replaced, ...presented.filter(isOwn)]
}

type DeviceSessions = ReturnType<typeof createDeviceSessions>
type DeviceSwap = Awaited<ReturnType<DeviceSessions['bind']>>

/**
 * The index device → session. A device has one session, even if several of its tabs sign in at
 * once: each sign-in swaps its own session into the index, and ends the sessions that it replaced.
 */
export function createDeviceSessions(
  options: Pick<SessionsOptions, 'store' | 'masterKeys' | 'log' | 'metrics'>,
) {
  const { store, masterKeys } = options
  const { keysOf, open, seal } = createSealedRecords({
    ...options,
    seal: createSeal(masterKeys, 'user-session'),
    nameSigner: createSigner(masterKeys, 'device-session-names'),
    keyPattern: KEYS.userSessions.pattern,
    schema: z.object({ version: z.literal(1), id: z.string() }),
    kind: 'user_session',
  })

  return {
    /** Makes this the session of the device. */
    async bind(deviceId: string, id: string, ttlMs: number) {
      const [key, ...older] = keysOf(deviceId)
      const own = seal({ version: 1, id }, key)
      const swapping = store.swap(key, own, ttlMs).catch((error: unknown) => {
        // A stalled store still executes the swap when it resumes. This deletion is queued right
        // behind it.
        store.deleteIf(key, own).catch(() => {}) // if this fails too, the entry expires
        throw error
      })
      const reading = older.map(async (formerKey) => open(await store.get(formerKey), formerKey))
      const [before, ...others] = await Promise.all([swapping, ...reading])
      return {
        /**
         * The sessions that the device had before. There is more than one only during a key
         * rotation.
         */
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
