import { AUTHN } from './authn.ts'
import type { Call, Exchange, Reply } from './caller.ts'
import type { RunningGatehouse } from './gatehouse.ts'
import { type Json, textAt } from './json.ts'
import type { ProofUser } from './org.ts'

/** An answer of Gatehouse, and what it sent to the org for it. */
export interface PortalReply extends Reply {
  readonly sent: readonly Exchange[]
}

/** The page of a portal in a browser of its own: its device, its session, its address. */
export type Portal = Awaited<ReturnType<typeof openPortal>>

/** Opens the portal as a user does: Gatehouse knows the browser by a cookie from now on. */
export async function openPortal({ newBrowser, takeCalls, pathAtOrg }: RunningGatehouse) {
  const browser = newBrowser()

  async function send(call: Call): Promise<PortalReply> {
    takeCalls()
    const reply = await browser.send(call)
    return { ...reply, sent: takeCalls() }
  }

  const post = (path: string, body: Json, headers: Readonly<Record<string, string>> = {}) =>
    send({ method: 'POST', path: AUTHN + path, body, headers })

  const portal = {
    address: browser.address,
    post,
    get: (path: string) => send({ method: 'GET', path }),
    signIn: ({ login, password }: Pick<ProofUser, 'login' | 'password'>, more: Json = {}, headers = {}) =>
      post('', { username: login, password, ...more }, headers),
    /** A step of the transaction of an earlier answer. */
    step: (from: Reply, path: string, body: Json = {}) =>
      post(path, { stateToken: from.body.stateToken, ...body }),
    /** Whether the browser has a session at the portal. */
    async isSignedIn(): Promise<boolean> {
      return (await send({ method: 'GET', path: '/api/v1/sessions/me' })).status === 200
    },
    signOut: () => send({ method: 'DELETE', path: '/api/v1/sessions/me' }),
    /** The path at the org to which Gatehouse leads the browser with the session token. */
    async redemption(signedIn: Reply, redirectUrl: string): Promise<string | undefined> {
      const query = new URLSearchParams({ token: textAt(signedIn.body, 'sessionToken'), redirectUrl })
      const { headers } = await send({ method: 'GET', path: `/login/sessionCookieRedirect?${query}` })
      return pathAtOrg(headers.get('location') ?? '')
    },
  }
  await portal.isSignedIn()
  return portal
}

/** What the org answered to the last call of Gatehouse; undefined: nothing was sent. */
export function oktaReplyIn({ sent }: PortalReply): Reply | undefined {
  return sent.at(-1)?.reply
}

export function carriesToken({ call }: Exchange): boolean {
  return call.headers?.authorization !== undefined
}
