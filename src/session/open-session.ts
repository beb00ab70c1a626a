import { z } from 'zod'
import { createSeal, createSigner } from '../crypto/keys.ts'
import { otherUsersSession } from '../errors.ts'
import { allSettledOrThrow } from '../store/all-settled-or-throw.ts'
import { KEYS } from '../store/keys.ts'
import { createSealedRecords } from '../store/sealed-records.ts'
import type { IdentifiedSession, SessionsOptions } from './session.ts'
import { newSessionId, type SessionStore } from './session-store.ts'
import type { SessionToEnd, UserSessions } from './user-sessions.ts'

export interface OpenSessionOptions extends SessionsOptions {
  readonly sessionStore: SessionStore
  readonly userSessions: UserSessions
}

export type SessionOpening = ReturnType<typeof createSessionOpening>

/**
 * What the commit of a sign-in step writes to open a session, and how each write is undone. Whether
 * a session opens: `opensSession` in authn/transaction/assess-answer.ts.
 */
export function createSessionOpening(options: OpenSessionOptions) {
  const { sessionStore, userSessions, voidTimes, absoluteMs, maxPerUser, metrics } = options
  const devices = createDeviceSessions(options)

  return {
    newId: (userId: string) => newSessionId(voidTimes.tagOf(userId)),

    /**
     * Writes the session and its entry in the index of its user.
     *
     * @returns how many entries the index has now
     */
    async write({ id, session }: IdentifiedSession): Promise<number> {
      // The index may show the entry before the session exists. It is not removed then
      // (user-sessions.ts).
      const adding = userSessions.add(session.userId, { id, ...session }, absoluteMs)
      const [entries] = await allSettledOrThrow(adding, sessionStore.create(id, session))
      metrics.sessionsOpened.inc()
      return entries
    },

    /**
     * Undoes `write`, also one that failed, because Redis may still execute it later. Nothing is
     * read first: on a stalled Redis, the delete is queued right behind the write, so either both
     * are executed or neither.
     *
     * @param writing what `write` returned
     */
    async undoWrite({ id, session }: IdentifiedSession, writing: Promise<number>): Promise<void> {
      await allSettledOrThrow(sessionStore.destroy(id), userSessions.remove(session.userId, id))
      const [{ status }] = await Promise.allSettled([writing])
      if (status === 'fulfilled') metrics.sessionsEnded.inc({ reason: 'rolled_back' })
    },

    /**
     * Makes this the session of its device. To be called after `write`: a sign-in that replaces the
     * session must find it.
     */
    takeDevice: ({ id, session }: IdentifiedSession) => devices.take(session.deviceId, id, absoluteMs),

    /** Restores the previous session, unless a later sign-in has already replaced this one. */
    undoTakeDevice: (taken: TakenDevice) => devices.restore(taken, absoluteMs),

    /**
     * Ends the previous sessions of the device, and that of the request's cookie, `presentedId`:
     * the index entry of the device may be lost or unreadable.
     *
     * @throws 403 if this would end another user's session, unless `mayReplaceOtherUser`
     */
    async replace(
      { session: { userId, deviceId } }: IdentifiedSession,
      { replaced }: TakenDevice,
      presentedId: string | undefined,
      mayReplaceOtherUser: boolean,
    ): Promise<void> {
      const ends = await readReplaced(sessionStore, replaced, presentedId, deviceId)
      const hasOtherUser = ends.some(({ session }) => session !== undefined && session.userId !== userId)
      if (hasOtherUser && !mayReplaceOtherUser) throw otherUsersSession('stateToken')
      await Promise.all(ends.map((session) => userSessions.end(session, 'replaced')))
    },

    /**
     * Evicts the user's oldest sessions if there are too many.
     *
     * @returns how many sessions were evicted
     */
    evict: async ({ session }: IdentifiedSession, entries: number): Promise<number> =>
      entries > maxPerUser ? userSessions.evict(session.userId) : 0,
  }
}

async function readReplaced(
  sessionStore: SessionStore,
  replaced: readonly string[],
  presentedId: string | undefined,
  deviceId: string,
): Promise<readonly SessionToEnd[]> {
  const read = async (id: string) => {
    const stored = await sessionStore.read(id)
    return stored === undefined ? [] : [{ id, session: stored.session }]
  }
  const ofDevice = (await Promise.all(replaced.map(read))).flat()
  if (presentedId === undefined || replaced.includes(presentedId)) return ofDevice
  const presented = await read(presentedId)
  const isOwn = ({ session }: SessionToEnd) => session?.deviceId === deviceId
  return [...ofDevice, ...presented.filter(isOwn)]
}

/** What `takeDevice` has replaced. */
export interface TakenDevice {
  readonly key: string
  /** The entry as it is stored now, and the one before. */
  readonly own: string
  readonly before: string | undefined
  /** The sessions that the device had before. There is more than one only during a key rotation. */
  readonly replaced: readonly string[]
}

/**
 * The index device → session. A device has one session, even if several of its tabs sign in at
 * once: each sign-in swaps its own session into the index, and ends the sessions that it replaced.
 */
function createDeviceSessions(options: Pick<SessionsOptions, 'store' | 'masterKeys' | 'log' | 'metrics'>) {
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
    async take(deviceId: string, id: string, ttlMs: number): Promise<TakenDevice> {
      const [key, ...older] = keysOf(deviceId)
      const own = seal({ version: 1, id }, key)
      const swapping = store.swap(key, own, ttlMs).catch((error: unknown) => {
        // A stalled store still executes the swap when it resumes. This deletion is queued right
        // behind it.
        store.deleteIf(key, own).catch(() => {}) // if this fails too, the entry expires
        throw error
      })
      const reading = older.map(async (olderKey) => open(await store.get(olderKey), olderKey))
      const [before, ...others] = await Promise.all([swapping, ...reading])
      const replaced = [open(before, key), ...others].flatMap((entry) => entry?.id ?? [])
      return { key, own, before, replaced }
    },

    async restore({ key, own, before }: TakenDevice, ttlMs: number): Promise<void> {
      const wasOurs = await store.deleteIf(key, own)
      if (wasOurs && before !== undefined) await store.set(key, before, ttlMs, 'absent')
    },
  }
}
