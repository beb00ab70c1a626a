import { sessionCookieIn } from '../authn.ts'
import { type Check, holds, notTestable } from '../check.ts'
import { NO_SESSION, openOktaSession, ownerOfSession } from '../steps/okta-sessions.ts'

const SHARED = 'connect-your-okta-org.md#browsers-that-users-share'

export const SESSION_CHECKS: readonly Check[] = [
  {
    id: 'A1',
    belief: 'Okta ignores a session token if the browser already has an Okta session of another user.',
    where: SHARED,
    change: 'The early-access flag is on: OKTA_SIGN_OUT is not needed for a change of users.',
    needs: [],
    async run(context) {
      const first = await context.org.createUser()
      const second = await context.org.createUser()
      const { cookie } = await openOktaSession(context, first)
      if (cookie === undefined) return notTestable(NO_SESSION)
      const { redeemed } = await openOktaSession(context, second, cookie)
      const owner = await ownerOfSession(context, sessionCookieIn(redeemed) ?? cookie)
      const who =
        owner === first.id ? 'of the first user' : owner === second.id ? 'of the second user' : 'of nobody'
      return holds(owner === first.id, `first user, then second user: the session is ${who}`)
    },
  },
  {
    id: 'A1.fresh',
    belief: 'A session token opens the session of its user in a browser without one, once.',
    where: 'connect-your-okta-org.md#7-single-sign-on',
    change: 'Do not set SSO_REDIRECTS.',
    needs: [],
    async run(context) {
      const user = await context.org.createUser()
      const { path, cookie } = await openOktaSession(context, user)
      const cookies = [cookie, sessionCookieIn(await context.authn.browse(path))]
      const owners = []
      for (const cookie of cookies) owners.push(cookie && (await ownerOfSession(context, cookie)))
      return holds(
        owners[0] === user.id && owners[1] === undefined,
        `first: ${owners[0] === user.id ? 'a session of the user' : 'none'}; again: ${owners[1] ? 'a session' : 'none'}`,
      )
    },
  },
  {
    id: 'A2',
    belief: '`GET /login/signout` in the browser ends the Okta session.',
    where: SHARED,
    change: 'Do not set OKTA_SIGN_OUT.',
    needs: [],
    async run(context) {
      const user = await context.org.createUser()
      const { cookie } = await openOktaSession(context, user)
      if (cookie === undefined || (await ownerOfSession(context, cookie)) !== user.id)
        return notTestable(NO_SESSION)
      const signOut = await context.authn.browse('/login/signout', cookie)
      const after = await context.authn.browse('/api/v1/sessions/me', cookie)
      return holds(after.status === 404, `sign-out ${signOut.status}; session ${after.status}`)
    },
  },
  {
    id: 'A2.portal',
    belief: 'A sign-out at the portal leaves the Okta session.',
    where: SHARED,
    change: 'OKTA_SIGN_OUT is not needed for sign-outs.',
    needs: [],
    async run(context) {
      const user = await context.org.createUser()
      const { portal, cookie } = await openOktaSession(context, user)
      if (cookie === undefined) return notTestable(NO_SESSION)
      const signOut = await portal.signOut()
      const owner = await ownerOfSession(context, cookie)
      return holds(
        signOut.status === 204 && owner === user.id,
        `sign-out at the portal ${signOut.status}; Okta session ${owner === user.id ? 'open' : 'ended'}`,
      )
    },
  },
  {
    id: 'A7',
    belief: '`/login/signout` redirects without an Okta session too, and keeps the query of fromURI.',
    where: SHARED,
    change: 'Do not set OKTA_SIGN_OUT.',
    needs: ['portal'],
    async run({ authn, target }) {
      const fromURI = `${target.portalOrigin}/?a=b&c=d%20e`
      const reply = await authn.browse(`/login/signout?${new URLSearchParams({ fromURI })}`)
      const location = reply.headers.get('location')
      const seen =
        location === fromURI ? 'to fromURI' : location === null ? 'no redirect' : 'to another address'
      return holds(location === fromURI, `${reply.status}, ${seen}`)
    },
  },
  {
    id: 'E5',
    belief: 'On Identity Engine, a session token opens an Okta session.',
    where: 'connect-your-okta-org.md#1-classic-engine-or-identity-engine',
    change: 'Do not set SSO_REDIRECTS.',
    needs: ['identityEngine'],
    async run(context) {
      const { cookie, redeemed } = await openOktaSession(context, await context.org.createUser())
      return holds(cookie !== undefined, `redemption ${redeemed.status}`)
    },
  },
]
