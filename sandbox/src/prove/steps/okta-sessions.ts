import { sessionCookieIn } from '../authn.ts'
import { outcomeOf } from '../caller.ts'
import type { Context } from '../context.ts'
import { textAt } from '../json.ts'
import type { ProofUser } from '../org.ts'

export const NO_SESSION = 'the org gives no session for a session token, or does not show it'

/** Signs in at the portal, and redeems the session token as the browser does. */
export async function openOktaSession(
  { authn, target, openPortal }: Pick<Context, 'authn' | 'target' | 'openPortal'>,
  user: ProofUser,
  cookie?: string,
) {
  const portal = await openPortal()
  const signIn = await portal.signIn(user)
  const path = await portal.redemption(signIn, `${target.orgUrl}/`)
  if (path === undefined) throw new Error(`Gatehouse leads to no redemption after ${outcomeOf(signIn)}`)
  const redeemed = await authn.browse(path, cookie)
  return { portal, path, redeemed, cookie: sessionCookieIn(redeemed) }
}

/** The id of the user whose Okta session this cookie is; undefined: nobody's. */
export async function ownerOfSession(
  { authn }: Pick<Context, 'authn'>,
  cookie: string,
): Promise<string | undefined> {
  const { status, body } = await authn.browse('/api/v1/sessions/me', cookie)
  return status === 200 ? textAt(body, 'userId') : undefined
}
