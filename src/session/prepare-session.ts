import { v4 as uuid } from 'uuid'
import { otherUsersSession } from '../errors.ts'
import { allSettledOrThrow } from '../store/store.ts'
import type { DeviceBinding } from './device-binding.ts'
import type { DeviceSessions, DeviceSwap } from './device-sessions.ts'
import type { Session, SessionsOptions } from './session.ts'
import { newSessionId, type SessionStore } from './session-store.ts'
import type { SessionToEnd, UserSessions } from './user-sessions.ts'

/** The result of a finished sign-in. */
export type SessionGrant = Omit<Session, 'publicId' | 'createdAtMs' | 'lastSeenAtMs' | 'deviceHash'>

/** A new session with its ids. Nothing is written yet. Its methods belong to the commit of a sign-in step. */
export interface PreparedSession {
  /** The id in the cookie. */
  readonly id: string
  readonly publicId: string
  write(): Promise<void>
  /** Makes this the session of its device. To be called after `write`: a sign-in that replaces the session must find it. */
  bindDevice(): Promise<void>
  /**
   * To be called after the commit. Ends the previous sessions of the device and the session of the request's cookie, `presentedId`.
   * Evicts the user's oldest sessions if there are too many.
   *
   * @returns how many sessions were evicted
   * @throws 403 if this would end another user's session, unless `mayReplaceOtherUser`
   */
  replace(presentedId: string | undefined, mayReplaceOtherUser: boolean): Promise<number>
  /**
   * Reverses all writes, failed ones too, because Redis may still execute them later. Nothing is read first: on a stalled Redis, the
   * delete is queued right behind the write, so either both are executed or neither.
   */
  rollback(): Promise<void>
}

export interface PrepareSessionOptions extends SessionsOptions {
  readonly sessionStore: SessionStore
  readonly userSessions: UserSessions
  readonly deviceSessions: DeviceSessions
  readonly device: DeviceBinding
}

export function prepareSession(options: PrepareSessionOptions, grant: SessionGrant): PreparedSession {
  const { sessionStore, userSessions, deviceSessions, absoluteMs, maxPerUser, metrics } = options
  const { userId, deviceId } = grant
  const id = newSessionId()
  const publicId = uuid()
  let entries = 0 // of the user's index, once the session is written
  let bound: DeviceSwap | undefined

  return {
    id,
    publicId,

    async write() {
      const session = newSession(options, grant, publicId)
      // The index may show the entry before the session exists. It is not removed then (user-sessions.ts).
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
      await Promise.all(replaced.map((one) => userSessions.end(one, 'replaced')))
      return entries > maxPerUser ? userSessions.evict(userId) : 0
    },

    async rollback() {
      await allSettledOrThrow(
        sessionStore.destroy(id),
        userSessions.remove(userId, publicId),
        Promise.resolve(bound?.rollback()),
      )
      if (entries > 0) metrics.sessionsEnded.inc({ reason: 'rolled_back' })
    },
  }
}

function newSession({ device, now }: PrepareSessionOptions, grant: SessionGrant, publicId: string): Session {
  const at = now()
  const deviceHash = device.hash(grant.deviceId)
  return { ...grant, publicId, deviceHash, createdAtMs: at, lastSeenAtMs: at }
}

/** Includes the session of the request's cookie, because the index entry of the device may be lost or unreadable. */
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
