import { type AuthnApi, factorIdIn } from '../authn.ts'
import type { Reply } from '../caller.ts'
import type { Context } from '../context.ts'
import type { ProofUser } from '../org.ts'
import type { Portal, PortalReply } from '../portal.ts'
import { resetByRecovery } from './recoveries.ts'

/** Signs in, and answers the security question. */
export async function signInWithFactor(
  portal: Portal,
  user: ProofUser,
  remember = false,
): Promise<PortalReply> {
  return answerQuestion(portal, await portal.signIn(user), user, remember)
}

export function answerQuestion<Answer extends Reply>(
  { step }: Pick<AuthnApi<Answer>, 'step'>,
  begun: Reply,
  user: ProofUser,
  remember = false,
): Promise<Answer> {
  const path = `/factors/${factorIdIn(begun, 'question')}/verify?rememberDevice=${remember}`
  return step(begun, path, { answer: user.answer })
}

/** A reset after which the user may set up optional factors, or skip that. */
export async function optionalEnrollment<Answer extends Reply>(
  { org }: Pick<Context, 'org'>,
  api: AuthnApi<Answer>,
): Promise<Answer> {
  const user = await org.createPromptedUser('ALWAYS')
  const recoveryToken = await org.recoveryToken(user)
  const reset = await resetByRecovery(api, user, {
    recoveryToken,
    options: { multiOptionalFactorEnroll: true },
  })
  return reset.body.status === 'MFA_REQUIRED' ? answerQuestion(api, reset, user) : reset
}
