import { v4 as uuid } from 'uuid'
import { anothersSession } from '../errors.ts'
import { allWritten } from '../store/store.ts'
import type { Session, SessionsOptions } from './session.ts'
import type { DeviceSessions, SessionDevice, TakenDevice } from './session-device.ts'
import { newSessionId, type SessionStore } from './session-store.ts'
import type { EndedSession, UserSessions } from './user-sessions.ts'

/** What sign-in knows of the user when it is done. */
export type SessionGrant = Omit<Session, 'publicId' | 'createdAtMs' | 'lastSeenAtMs' | 'device'> & {
  readonly deviceId: string
}

/** A session whose ids are chosen; nothing is written yet. What it writes belongs to the commit of a sign-in step. */
export interface PreparedSession {
  /** For the cookie. */
  readonly id: string
  readonly publicId: string
  write(): Promise<void>
  /** Makes it the session of its device. To be called once it is written: a sign-in that replaces it must find it. */
  takeDevice(): Promise<void>
  /**
   * To be called once the step is committed: ends what the device had before, `shownId` by the request's cookie included, and
   * evicts the user's oldest sessions when there are too many; says how many those were.
   *
   * @throws 403 if it would replace another user's session, unless `mayReplaceAnothers`
   */
  replace(shownId: string | undefined, mayReplaceAnothers: boolean): Promise<number>
  /**
   * Undoes all of it, also when that failed: Redis may still carry it out, late. Nothing is read first: on a stalled Redis, the
   * delete is then queued right behind the write, so both happen or neither.
   */
  rollback(): Promise<void>
}

export interface PrepareSessionOptions extends SessionsOptions {
  readonly sessionStore: SessionStore
  readonly userSessions: UserSessions
  readonly deviceSessions: DeviceSessions
  readonly device: SessionDevice
}

export function prepareSession(options: PrepareSessionOptions, grant: SessionGrant): PreparedSession {
  const { sessionStore, userSessions, deviceSessions, absoluteMs, maxPerUser, metrics } = options
  const { userId, deviceId } = grant
  const id = newSessionId()
  const publicId = uuid()
  let entries = 0
  let taken: TakenDevice | undefined

  return {
    id,
    publicId,

    async write() {
      const session = newSession(options, grant, publicId)
      // An index entry that is found before its session exists is left alone (user-sessions.ts).
      const adding = userSessions.add(userId, { id, ...session }, absoluteMs)
      ;[entries] = await allWritten(adding, sessionStore.create(id, session))
      metrics.sessionsOpened.inc()
    },

    async takeDevice() {
      taken = await deviceSessions.take(deviceId, id, absoluteMs)
    },

    async replace(shownId, mayReplaceAnothers) {
      const replaced = await readReplaced(options, taken, shownId, deviceId)
      const isAnothers = replaced.some(({ session }) => session !== undefined && session.userId !== userId)
      if (isAnothers && !mayReplaceAnothers) throw anothersSession('stateToken')
      await Promise.all(replaced.map((one) => userSessions.end(one, 'replaced')))
      return entries > maxPerUser ? userSessions.evict(userId) : 0
    },

    async rollback() {
      const [wasThere] = await allWritten(
        sessionStore.remove(id),
        userSessions.remove(userId, publicId),
        Promise.resolve(taken?.rollback()),
      )
      if (wasThere) metrics.sessionsEnded.inc({ reason: 'orphaned' })
    },
  }
}

function newSession({ device, now }: PrepareSessionOptions, grant: SessionGrant, publicId: string): Session {
  const { deviceId, ...granted } = grant
  const at = now()
  return { ...granted, publicId, device: device.hashOf(deviceId), createdAtMs: at, lastSeenAtMs: at }
}

/** What the device had before, and the session of the request's cookie: the device's entry may be lost, or unreadable. */
async function readReplaced(
  { sessionStore, device }: PrepareSessionOptions,
  taken: TakenDevice | undefined,
  shownId: string | undefined,
  deviceId: string,
): Promise<readonly EndedSession[]> {
  const read = async (id: string) => ({ id, session: await sessionStore.read(id) })
  const replaced = await Promise.all((taken?.replaced ?? []).map(read))
  if (shownId === undefined || taken?.replaced.includes(shownId)) return replaced
  const shown = await read(shownId)
  const isOwn = shown.session !== undefined && device.isOf(shown.session, deviceId)
  return isOwn ? [...replaced, shown] : replaced
}
