import { randomBytes } from 'node:crypto'
import { v4 as uuid } from 'uuid'
import type { LoginNames } from '../login-names.ts'
import type { SessionOpening } from '../session/open-session.ts'
import type { IdentifiedSession } from '../session/session.ts'
import type { SessionRecords } from '../session/session-records.ts'
import type { Client } from './browser/client.ts'
import type { Plan } from './plan-step.ts'
import { isRightCode } from './recovery/decide-recovery.ts'
import type { SsoTokens } from './redirects/sso-tokens.ts'
import type { Sanitizer } from './sanitize/sanitize.ts'
import type { Facts } from './step/decision.ts'
import type { SignInPlan } from './step/plan.ts'
import { assessAnswer } from './transaction/assess-answer.ts'
import type { Transaction } from './transaction/transaction.ts'
import { newHandle } from './transaction/transaction-store.ts'
import { type AuthnReply, readAnswer } from './upstream/read-answer.ts'

export interface ReadFactsDeps {
  readonly sanitizer: Pick<Sanitizer, 'step'>
  readonly sessions: Pick<SessionRecords, 'get' | 'getFor'>
  readonly opening: Pick<SessionOpening, 'newId'>
  readonly ssoTokens: Pick<SsoTokens, 'isEnabled'>
  readonly logins: Pick<LoginNames, 'isSameUser'>
}

/** Reads and makes up what the decision needs: only what the answer makes necessary. */
export async function readFacts(
  plan: Plan,
  before: Transaction,
  reply: AuthnReply | undefined,
  handle: string,
  client: Client,
  deps: ReadFactsDeps,
): Promise<Facts> {
  if (plan.kind === 'redirect') return { handle, session: await readRedirectSession(before, client, deps) }
  if (reply === undefined) return { handle }
  if (plan.kind === 'recovery-start')
    return { handle, randomStateToken: `00${randomBytes(30).toString('base64url')}` }
  if (plan.kind === 'sign-in') return readSignInFacts(plan, before, reply, handle, client, deps)
  if (!isRightCode(plan, reply)) return { handle }
  return readSignInFacts({ proof: undefined }, before, reply, handle, client, deps)
}

async function readSignInFacts(
  { proof }: Pick<SignInPlan, 'proof'>,
  before: Transaction,
  reply: AuthnReply,
  handle: string,
  client: Client,
  deps: ReadFactsDeps,
): Promise<Facts> {
  const { sanitizer, opening, ssoTokens, logins } = deps
  const tokens = { before, handle }
  if (reply.isError) return { handle, shown: sanitizer.step(reply, tokens, client) }
  const answer = readAnswer(reply.body)
  const isOfUser =
    proof?.ofLogin === undefined || logins.isSameUser(proof.ofLogin, answer.user?.profile.login)
  const assessment = assessAnswer(proof, before, answer, isOfUser)
  const { opensFor, mayBePlanted } = assessment
  const issuesSsoToken = opensFor !== undefined && ssoTokens.isEnabled && answer.sessionToken !== undefined
  const ssoToken = issuesSsoToken ? newHandle() : undefined
  const shown = sanitizer.step(reply, { ...tokens, ssoToken }, client)
  const mayReplace = opensFor !== undefined || mayBePlanted
  const session = mayReplace ? await readSession(client.sessionId, client, deps) : undefined
  if (opensFor === undefined) return { handle, assessment, shown, session }
  // a user who signs in again within the session keeps its public id
  const isSameUser = session?.session.userId === opensFor.id
  const publicId = isSameUser ? session.session.publicId : uuid()
  const ids = { session: opening.newId(opensFor.id), public: publicId, ssoToken }
  return { handle, assessment, shown, session, ids }
}

/** The session on which the redirects of a finished transaction depend. */
async function readRedirectSession(
  { origin, sessionId }: Transaction,
  client: Client,
  deps: ReadFactsDeps,
): Promise<IdentifiedSession | undefined> {
  if (origin !== 'redirect-only') return undefined
  if (sessionId === undefined) return readSession(client.sessionId, client, deps)
  // 503 if the bound cookie is not renewed
  const session = await deps.sessions.getFor(sessionId, client)
  return session && { id: sessionId, session }
}

/** A session of this browser. */
async function readSession(
  id: string | undefined,
  { device }: Client,
  { sessions }: Pick<ReadFactsDeps, 'sessions'>,
): Promise<IdentifiedSession | undefined> {
  const session = id === undefined ? undefined : await sessions.get(id, device.id)
  return id === undefined || session === undefined ? undefined : { id, session }
}
