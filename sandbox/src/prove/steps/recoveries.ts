import type { AuthnApi } from '../authn.ts'
import type { Reply } from '../caller.ts'
import type { Context } from '../context.ts'
import type { Json } from '../json.ts'
import type { ProofUser } from '../org.ts'

export const RECOVERY_FACTORS = ['EMAIL', 'SMS', 'CALL'] as const
export type RecoveryFactor = (typeof RECOVERY_FACTORS)[number]

export function startOwnRecovery<Answer extends Reply>(
  api: AuthnApi<Answer>,
  { login }: ProofUser,
  factorType: RecoveryFactor,
): Promise<Answer> {
  return api.post('/recovery/password', { username: login, factorType })
}

/** Redeems a recovery token, answers the question, and sets a new password. */
export async function resetByRecovery<Answer extends Reply>(
  api: AuthnApi<Answer>,
  user: ProofUser,
  body: { recoveryToken: string; options?: Json },
): Promise<Answer> {
  const redeemed = await api.post('/recovery/token', body)
  const answered = await answerIfAsked(api, redeemed, user)
  return api.step(answered, '/credentials/reset_password', { newPassword: `New-${user.password}` })
}

export async function answerIfAsked<Answer extends Reply>(
  api: AuthnApi<Answer>,
  redeemed: Answer,
  user: ProofUser,
): Promise<Answer> {
  if (redeemed.body.status !== 'RECOVERY') return redeemed
  return api.step(redeemed, '/recovery/answer', { answer: user.answer })
}

/** An emailed link, which the user has asked for at the portal; an empty token: none arrived. */
export async function mailedLink({ org, openPortal, target }: Context, existing?: ProofUser) {
  const user = existing ?? (await org.createUser())
  await startOwnRecovery(await openPortal(), user, 'EMAIL')
  const message = await target.person?.inbox.next(user.login, 'mail')
  return { user, token: message?.link?.split(/[/=]/).at(-1) ?? '' }
}

/** Wrong passwords until the org locks the user; false if it does not. */
export async function lockOut(
  { org, authn }: Pick<Context, 'org' | 'authn'>,
  user: ProofUser,
): Promise<boolean> {
  for (let count = 1; count <= 12; count += 1) {
    await authn.signIn({ ...user, password: `Wrong-Password-${count}` })
    if ((await org.read(user)).status === 'LOCKED_OUT') return true
  }
  return false
}
