import { boundCookieNotRenewed } from '../errors.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { BoundEvidence } from './bound-sessions.ts'
import { createSessionOpening } from './open-session.ts'
import { auditFieldsOf, type LoadedSession, type Session, type SessionsOptions } from './session.ts'
import { createSessionStore, type SessionStore } from './session-store.ts'
import { formatTimes } from './session-times.ts'
import { createUserSessions } from './user-sessions.ts'

export type SessionRecords = ReturnType<typeof createSessionRecords>

/** Reads, lists and ends sessions, whatever request asks for it. */
export function createSessionRecords(options: SessionsOptions) {
  const sessionStore = createSessionStore(options)
  const isProved = createBindingCheck(options, sessionStore)
  const userSessions = createUserSessions(options, sessionStore)
  const { voidTimes } = options
  /** Without a session: the record cannot be read. */
  const readValid = async (id: string) => {
    const [voidBeforeMs, stored] = await Promise.all([voidTimes.timeFor(id), sessionStore.read(id)])
    const isVoid = stored?.session !== undefined && voidTimes.isVoid(stored.session, voidBeforeMs)
    return isVoid ? undefined : stored
  }

  return {
    sessionStore,
    readValid,
    isProved,

    limits: { idleMs: options.idleMs, absoluteMs: options.absoluteMs },
    formatTimes: (session: Session) => formatTimes(session, options),

    /** undefined: the device has no such session. */
    async get(id: string, deviceId: string): Promise<Session | undefined> {
      const session = (await readValid(id))?.session
      return session?.deviceId === deviceId ? session : undefined
    },

    /**
     * As `get`, for a request that uses the session: undefined also without the bound cookie.
     *
     * @throws 503 if the browser could not renew it
     */
    async getFor(id: string, { device, evidence, ...from }: SessionUser): Promise<Session | undefined> {
      const found = await readValid(id)
      if (found?.session === undefined || found.session.deviceId !== device.id) return undefined
      return isProved(found, evidence, from) ? found.session : undefined
    },

    /** Also true for a record that only another version can read. */
    exists: async (id: string) => (await readValid(id)) !== undefined,

    /** For the commit of a sign-in step. */
    opening: createSessionOpening({ ...options, sessionStore, userSessions }),

    list: userSessions.list,
    end: userSessions.end,
    endAll: userSessions.endAll,
  }
}

/** The browser that uses a session. */
export interface SessionUser {
  readonly device: { readonly id: string }
  readonly evidence: BoundEvidence
  readonly requestId: string
  readonly address: string
}

/**
 * Whether a request has what its session wants: if it is bound, the bound cookie. A refusal is
 * counted and audited.
 *
 * @throws 503 if the browser says that it could not renew the cookie
 */
function createBindingCheck({ boundSessions }: SessionsOptions, sessionStore: SessionStore) {
  const markUsed = (session: Session): Session =>
    session.binding === undefined || session.binding.isUsed
      ? session
      : { ...session, binding: { ...session.binding, isUsed: true } }

  return (
    found: LoadedSession,
    evidence: BoundEvidence,
    from: Pick<RequestContext, 'requestId' | 'address'>,
  ): boolean => {
    const verdict = boundSessions.judge(found.id, found.session.binding, evidence)
    if (verdict.kind === 'served') {
      // in the background: the time without the cookie ends by itself soon
      if (verdict.isFirstUse) sessionStore.update(found, markUsed).catch(() => {})
      return true
    }
    boundSessions.report(verdict.reason, auditFieldsOf(from, found.session))
    if (verdict.kind === 'unavailable') throw boundCookieNotRenewed()
    return false
  }
}
