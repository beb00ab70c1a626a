import { type Request, type RequestHandler, type Response, Router } from 'express'
import { invalidToken, notFound } from './authn-error.ts'
import { rejectOtherMethods } from './authn-routes.ts'
import { isTrustedOrigin, isTrustedRedirect } from './factors/trusted-origins.ts'
import { sendHtmlPage, sendSignInPage, signedInAs } from './html-page.ts'
import { isSupported } from './identity-engine.ts'
import { endOktaSession, oktaSessionUser, openOktaSession } from './okta-sessions.ts'
import type { Org } from './org.ts'
import type { User } from './user.ts'

type SessionRoutesOptions = { org: Org; originOf: (req: Request) => string }

/** The session of a browser at the org: how it begins, what it opens, and how it ends. */
export function createSessionRoutes({ org, originOf }: SessionRoutesOptions): Router {
  const router = Router({ caseSensitive: true, strict: true })
  const ME = '/api/v1/sessions/me'

  /**
   * Redeems a session token for a session cookie. Classic Engine ignores the token if the browser
   * has a session already, whoever's it is (A1). A token that was issued before an upgrade to
   * Identity Engine is not accepted after it (A3).
   */
  router.get('/login/sessionCookieRedirect', (req, res) => {
    const open = oktaSessionUser(org, req)
    if (open !== undefined && !org.settings.sessionTokenReplacesSession) return arrive(req, res, open)
    const issued = org.sessionTokens.take(String(req.query.token))
    if (issued === undefined) throw invalidToken()
    const { user, pipeline } = issued
    const isOld = pipeline !== org.settings.pipeline
    if (isOld || !isSupported(org, 'sessionToken')) return sendSignInPage(res)
    openOktaSession(org, res, user)
    arrive(req, res, user)
  })
  router.all('/login/sessionCookieRedirect', rejectOtherMethods('GET'))

  /**
   * An app's embed link: the app opens as the user of the browser's session, whoever is signed in
   * at a portal (A1).
   */
  router.get('/home/:name/:id/:link', (req, res) => {
    const { name, id } = req.params
    const app = org.config.apps.find((each) => each.name === name && each.id === id)
    if (app === undefined) throw notFound(`${id} (AppInstance)`)
    const user = oktaSessionUser(org, req)
    if (user === undefined) sendSignInPage(res)
    else sendHtmlPage(res, `Signed in to the app: ${app.label}`, signedInAs(user))
  })

  /** Ends the browser's session (A2). Any page can send a browser here: nothing is asked. */
  router.get('/login/signout', (req, res) => {
    endOktaSession(org, req, res)
    const { fromURI } = req.query
    if (isTrustedRedirect(fromURI, { org, origin: originOf(req) })) res.redirect(302, fromURI)
    else sendSignInPage(res)
  })
  router.all('/login/signout', rejectOtherMethods('GET'))

  /**
   * The same for a script on a page of a trusted origin (A2), if the browser sends it the cookie.
   */
  router.all(ME, allowTrustedPages)
  router.get(ME, (req, res) => {
    const user = oktaSessionUser(org, req)
    if (user === undefined) throw notFound('me (Session)')
    res.json({ userId: user.id, login: user.login, status: 'ACTIVE' })
  })
  router.delete(ME, (req, res) => {
    if (!endOktaSession(org, req, res)) throw notFound('me (Session)')
    res.status(204).end()
  })
  return router

  function arrive(req: Request, res: Response, user: User): void {
    const { redirectUrl } = req.query
    if (isTrustedRedirect(redirectUrl, { org, origin: originOf(req) })) res.redirect(302, redirectUrl)
    else sendHtmlPage(res, 'Signed in', signedInAs(user))
  }

  function allowTrustedPages(...[req, res, next]: Parameters<RequestHandler>): void {
    const { origin } = req.headers
    if (isTrustedOrigin(origin, { org, origin: originOf(req), pageOrigin: origin }))
      res.set({
        'Access-Control-Allow-Origin': origin,
        'Access-Control-Allow-Credentials': 'true',
        'Access-Control-Allow-Methods': 'DELETE',
        'Access-Control-Allow-Headers': 'accept, content-type',
        Vary: 'Origin',
      })
    if (req.method === 'OPTIONS') res.status(204).end()
    else next()
  }
}
