import { type Request, type Response, Router } from 'express'
import { appLogo } from './app-logo.ts'
import { findSpInitiatedApp } from './apps.ts'
import { invalidToken, notFound } from './authn-error.ts'
import { clientContextOf, requireFactorRights } from './authn-middleware.ts'
import { rejectOtherMethods } from './authn-routes.ts'
import { enrollmentQrCode } from './enrollment-qr-code.ts'
import { escapeHtml, sendHtmlPage, sendSignInPage, signedInAs } from './html-page.ts'
import { isSupported } from './identity-engine.ts'
import { oktaSessionUser, openOktaSession } from './okta-sessions.ts'
import type { Org } from './org.ts'
import { presentUser } from './present.ts'
import { beginStepUp } from './step-up.ts'
import { systemLogEvents } from './system-log.ts'
import { statusOf } from './user-lifecycle.ts'

const ORG_ID = '00osandboxorg00000001'

type PageRoutesOptions = { org: Org; originOf: (req: Request) => string }

/**
 * GET routes: the org's description, the System Log, users, security questions, QR codes, logos,
 * step-ups, and links in emails.
 */
export function createPageRoutes({ org, originOf }: PageRoutesOptions): Router {
  const router = Router({ caseSensitive: true, strict: true })

  get('/.well-known/okta-organization', (req, res) => {
    res.json({
      id: ORG_ID,
      pipeline: org.settings.pipeline,
      settings: { analyticsCollectionEnabled: false, bugReportingEnabled: false, omEnabled: false },
      _links: { organization: { href: originOf(req) } },
    })
  })

  get('/api/v1/logs', (req, res) => {
    if (!clientContextOf(org, req).trusted) throw invalidToken()
    res.json(systemLogEvents(org, req.query))
  })

  get('/api/v1/users/:idOrLogin', (req, res) => {
    if (!clientContextOf(org, req).trusted) throw invalidToken()
    const idOrLogin = String(req.params.idOrLogin)
    const user = org.users.findById(idOrLogin) ?? org.users.findByUsername(idOrLogin)
    if (user === undefined) throw notFound(`${idOrLogin} (User)`)
    res.json({ ...presentUser(user), status: statusOf(user) })
  })

  get('/api/v1/users/:userId/factors/questions', (req, res) => {
    requireFactorRights(org, req)
    if (org.users.findById(String(req.params.userId)) === undefined)
      throw notFound(`${req.params.userId} (User)`)
    res.json(
      Object.entries(org.config.questions).map(([question, questionText]) => ({ question, questionText })),
    )
  })

  get('/api/v1/users/:userId/factors/:factorId/qr/:token', async (req, res) => {
    requireFactorRights(org, req)
    const { userId, factorId, token } = req.params
    const enrolling = org.transactions.all().find(({ user, factor, challenge }) => {
      return user?.id === userId && factor?.id === factorId && challenge?.qrToken === token
    })
    const { user, factor } = enrolling ?? {}
    if (user === undefined || factor === undefined) throw notFound(`${factorId} (UserFactor)`)
    res.type('image/png').send(await enrollmentQrCode(user, factor))
  })

  get('/assets/img/logos/:file', (req, res) => {
    const app = org.config.apps.find(({ name }) => `${name}.png` === req.params.file)
    if (app === undefined) throw notFound(`${req.params.file} (Logo)`)
    res.type('image/png').send(appLogo(app.name))
  })

  /** Ends a step-up: redeems the state token and signs the user in to the app. */
  get('/login/step-up/redirect', (req, res) => {
    const transaction = org.transactions.find(String(req.query.stateToken))
    const { app, user, status } = transaction
    if (status !== 'SUCCESS' || app === undefined || user === undefined) throw invalidToken()
    org.transactions.end(transaction)
    openOktaSession(org, res, user)
    const signInPage = app.signInPage && new URL('/', app.signInPage).href
    const back = signInPage ? `<p><a href="${escapeHtml(signInPage)}">Back to the sign-in page</a></p>` : ''
    sendHtmlPage(res, `Signed in to the app: ${app.label}`, signedInAs(user) + back)
  })

  /**
   * Starts an SP-initiated step-up: redirects to the app's custom sign-in page, if the org supports
   * one, with a state token.
   */
  get('/app/:app/sso', (req, res) => {
    if (!isSupported(org, 'apps')) return sendSignInPage(res)
    const app = findSpInitiatedApp(org, String(req.params.app))
    const user = oktaSessionUser(org, req)
    const { redirectUrl } = beginStepUp(org, { app, user, client: clientContextOf(org, req) })
    res.redirect(302, redirectUrl)
  })

  /** The link of an email or text message that enrolls Okta Verify. */
  get('/signin/push-activation/:token', (req, res) => {
    const stateToken = org.pushLinks.take(String(req.params.token))
    const challenge = stateToken === undefined ? undefined : org.transactions.find(stateToken).challenge
    if (challenge === undefined) throw invalidToken()
    challenge.pushAnswer = 'approve'
    sendHtmlPage(res, 'Okta Verify is set up', '<p>You can close this page.</p>')
  })
  return router

  function get(path: string, handle: (req: Request, res: Response) => void | Promise<void>): void {
    router.get(path, handle)
    router.all(path, rejectOtherMethods('GET'))
  }
}
