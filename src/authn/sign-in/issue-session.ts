import type { PreparedSession, Sessions } from '../../session/sessions.ts'
import { allSettledOrThrow } from '../../store/store.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { SsoTokens } from '../redirects/sso-tokens.ts'
import type { Throttling } from '../throttling/throttling.ts'
import type { Answer, AnsweredUser } from '../transaction/answer.ts'
import type { IssuedSession } from '../transaction/step-result.ts'
import type { Transaction } from '../transaction/transaction.ts'

/** A sign-in that opens a session. */
export interface FinishedSignIn {
  readonly answer: Answer & { readonly user: AnsweredUser }
  readonly after: Transaction
  /** Sanitized, so that the session contains no token. */
  readonly profile: Readonly<Record<string, unknown>>
  readonly ssoToken: string | undefined
}

export interface IssueSessionDeps {
  readonly sessions: Pick<Sessions, 'prepare'>
  readonly ssoTokens: Pick<SsoTokens, 'write' | 'remove'>
  readonly throttling: Pick<Throttling, 'rememberDevice'>
  readonly audit: StepAudit
}

/** Prepares the session of a finished sign-in. Nothing is stored yet. */
export function issueSession(signIn: FinishedSignIn, client: Client, deps: IssueSessionDeps): IssuedSession {
  const { answer, after, profile } = signIn
  const login = readLogin(profile) ?? after.login ?? ''
  const amr = toAmr(after)
  const session = deps.sessions.prepare({
    userId: answer.user.id,
    login,
    profile,
    amr,
    loginHash: deps.audit.hashLogin(login),
    deviceId: client.device.id,
    userAgent: client.userAgent,
  })
  return {
    id: session.id,
    write: () => write(session, signIn, client, deps),
    bindDevice: session.bindDevice,
    afterCommit: () => afterCommit(session, { ...signIn, login, amr }, client, deps),
    async rollback() {
      const { ssoToken } = signIn
      await allSettledOrThrow(
        session.rollback(),
        ssoToken === undefined ? Promise.resolve() : deps.ssoTokens.remove(ssoToken),
      )
    },
  }
}

async function write(
  session: PreparedSession,
  { answer, after, ssoToken }: FinishedSignIn,
  client: Client,
  { ssoTokens, throttling }: IssueSessionDeps,
): Promise<void> {
  const { sessionToken, user } = answer
  const logins = [after.login, readLogin(user.profile)].filter((name) => name !== undefined)
  await allSettledOrThrow(
    session.write(),
    ssoToken === undefined || sessionToken === undefined
      ? Promise.resolve()
      : ssoTokens.write(ssoToken, sessionToken, session.id, client),
    // also if the session is rolled back: Okta has accepted the user's credentials
    throttling.rememberDevice({ userId: user.id, logins }, client),
  )
}

async function afterCommit(
  session: PreparedSession,
  signIn: FinishedSignIn & { readonly login: string; readonly amr: readonly string[] },
  client: Client,
  { audit }: IssueSessionDeps,
): Promise<void> {
  const { answer, after, login, amr } = signIn
  const userId = answer.user.id
  const mayReplaceOtherUser = after.userProved && after.origin !== 'imported'
  const evicted = await session.replace(client.sessionId, mayReplaceOtherUser)
  if (evicted > 0) audit.sessionsRevoked({ userId, count: evicted, reason: 'evicted' }, login, client)
  audit.succeeded({ userId, sessionId: session.publicId, methods: amr.join(' ') }, login, client)
}

function readLogin(profile: Readonly<Record<string, unknown>>): string | undefined {
  return typeof profile.login === 'string' && profile.login !== '' ? profile.login : undefined
}

/** Adds `mfa` if more than one method was used (RFC 8176 §2). */
function toAmr({ amr }: Transaction): string[] {
  return amr.length > 1 ? [...new Set([...amr, 'mfa'])] : [...amr]
}
