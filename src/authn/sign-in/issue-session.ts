import type { Sessions } from '../../session/sessions.ts'
import { allWritten } from '../../store/all-written.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { HandOver } from '../redirects/hand-over.ts'
import type { Throttling } from '../throttling/throttling.ts'
import type { Answer, AnsweredUser } from '../transaction/answer.ts'
import type { IssuedSession } from '../transaction/step-result.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { readAnswer, record } from '../upstream/read-answer.ts'

/** Prepares the session of a finished sign-in. Nothing is stored yet. */
export type IssueSession = (
  signIn: {
    readonly answer: Answer & { readonly user: AnsweredUser }
    readonly after: Transaction
    /** Sanitized: no token gets into the session either. */
    readonly body: string
  },
  client: Client,
) => {
  /** For the cookie. */
  readonly id: string
  /** With an SSO token in place of Okta's session token, if SSO is configured. */
  readonly body: string
  readonly session: IssuedSession
}

export interface IssueSessionDeps {
  readonly sessions: Pick<Sessions, 'prepare'>
  readonly handOver: HandOver
  readonly throttling: Pick<Throttling, 'remember'>
  readonly audit: StepAudit
}

export function createIssueSession({
  sessions,
  handOver,
  throttling,
  audit,
}: IssueSessionDeps): IssueSession {
  return ({ answer, after, body }, client) => {
    const shown = record(JSON.parse(body))
    const profile = readAnswer(shown).user?.profile ?? {}
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
    const sso =
      answer.sessionToken !== undefined && handOver.enabled
        ? handOver.prepare(answer.sessionToken, session.id, client)
        : undefined
    const logins = [after.login, loginOf(answer.user.profile)].filter((name) => name !== undefined)
    const mayReplaceAnothers = after.userProved && after.origin !== 'imported'

    return {
      id: session.id,
      body: sso === undefined ? body : JSON.stringify({ ...shown, sessionToken: sso.handle }),
      session: {
        async write() {
          await allWritten(
            session.write(),
            Promise.resolve(sso?.write()),
            // Okta has accepted the user's credentials, whatever becomes of the session
            throttling.remember({ userId, logins }, client),
          )
        },

        takeDevice: session.takeDevice,

        async afterCommit() {
          const evicted = await session.replace(client.sessionId, mayReplaceAnothers)
          if (evicted > 0)
            audit.sessionsRevoked({ userId, count: evicted, reason: 'too_many' }, login, client)
          audit.succeeded({ userId, sessionId: session.publicId, methods: amr.join(' ') }, login, client)
        },

        async rollback() {
          await allWritten(session.rollback(), Promise.resolve(sso && handOver.forget(sso.handle)))
        },
      },
    }
  }
}

function loginOf(profile: Readonly<Record<string, unknown>>): string | undefined {
  return typeof profile.login === 'string' && profile.login !== '' ? profile.login : undefined
}

/** `mfa` if more than one kind of proof was accepted (RFC 8176 §2). */
function amrOf({ amr }: Transaction): string[] {
  return amr.length > 1 ? [...new Set([...amr, 'mfa'])] : [...amr]
}
