import type { Sessions } from '../../session/sessions.ts'
import { allWritten } from '../../store/all-written.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { HandOver } from '../redirects/hand-over.ts'
import type { Throttling } from '../throttling/throttling.ts'
import type { Answer, AnsweredUser } from '../transaction/answer.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { readAnswer, record } from '../upstream/read-answer.ts'

/** The session that a sign-in has earned, from the answer that says so to the browser that may use it. */
export type EarnSession = (earned: Earned, client: Client) => EarnedSession

export interface Earned {
  readonly answer: Answer & { readonly user: AnsweredUser }
  readonly after: Transaction
  /** What goes out: guarded, so that no token reaches the session either. */
  readonly body: string
}

/** Nothing is there before `write`, nobody is told before `settled`. */
export interface EarnedSession {
  readonly sessionId: string
  /** For the upstream's own session token, where hand-over is allowed: what the browser gets in its place. */
  readonly sessionToken: string | undefined
  write(): Promise<void>
  /** Makes it the session of its device; once it is written. */
  takeDevice(): Promise<void>
  /** Once the step is settled too: the sessions that it replaces end, and the sign-in has succeeded. */
  settled(): Promise<void>
  undo(): Promise<void>
}

export interface EarnedSessionParts {
  readonly sessions: Pick<Sessions, 'prepare'>
  readonly handOver: HandOver
  readonly throttling: Pick<Throttling, 'remember'>
  readonly audit: StepAudit
}

export function createEarnSession(parts: EarnedSessionParts): EarnSession {
  const { sessions, handOver, throttling, audit } = parts

  return ({ answer, after, body }, client) => {
    const profile = readAnswer(record(JSON.parse(body))).user?.profile ?? {}
    const userId = answer.user.id
    const login = loginOf(profile) ?? after.login ?? ''
    const amr = amrOf(after)
    const session = sessions.prepare({
      userId,
      login,
      profile,
      amr,
      loginHash: audit.hashLogin(login),
      deviceId: client.device.id,
      userAgent: client.userAgent,
    })
    const { sessionToken } = answer
    const handedOver =
      sessionToken !== undefined && handOver.enabled
        ? handOver.prepare(sessionToken, session.id, client)
        : undefined
    const logins = [after.login, loginOf(answer.user.profile)].filter((name) => name !== undefined)

    return {
      sessionId: session.id,
      sessionToken: handedOver?.handle,

      async write() {
        await allWritten(
          session.write(),
          handedOver?.write() ?? Promise.resolve(),
          // the upstream has taken all they showed, whatever becomes of the session: known under every name
          throttling.remember({ userId, logins }, client),
        )
      },

      takeDevice: session.takeDevice,

      async settled() {
        const evicted = await session.replace(
          client.sessionId,
          after.userProved && after.origin !== 'imported',
        )
        if (evicted > 0) audit.sessionsRevoked({ userId, count: evicted, reason: 'too_many' }, login, client)
        audit.succeeded({ userId, sessionId: session.publicId, methods: amr.join(' ') }, login, client)
      },

      async undo() {
        await allWritten(
          session.takeBack(),
          handedOver === undefined ? Promise.resolve() : handOver.forget(handedOver.handle),
        )
      },
    }
  }
}

function loginOf(profile: Readonly<Record<string, unknown>>): string | undefined {
  return typeof profile.login === 'string' && profile.login !== '' ? profile.login : undefined
}

/** `mfa` when more than one kind of proof was taken (RFC 8176 §2). */
function amrOf({ amr }: Transaction): string[] {
  return amr.length > 1 ? [...new Set([...amr, 'mfa'])] : [...amr]
}
