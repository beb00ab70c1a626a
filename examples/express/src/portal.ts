import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import express, { type ErrorRequestHandler, type Express } from 'express'
import helmet from 'helmet'
import { createGatehouseCalls } from './gatehouse.ts'
import { createGatehouseProxy, GatehouseUnavailable } from './gatehouse-proxy.ts'
import { messagePage, portalPage, signInPage } from './pages.ts'

/** The paths of Gatehouse that browsers use. `/forward-auth` is for this server only. */
const GATEHOUSE_PATHS = /^\/(signin$|bound-session(\/refresh)?$|(api\/v1|login|signin|sso)\/)/

const IMPORT_MAP = JSON.stringify({
  imports: {
    'gatehouse-client': '/assets/gatehouse-client/index.js',
    'gatehouse-client/messages': '/assets/gatehouse-client/messages/index.js',
  },
})
const CLIENT = dirname(createRequire(import.meta.url).resolve('gatehouse-client'))
const BROWSER_CODE = fileURLToPath(new URL('browser/', import.meta.url))
const STYLES = fileURLToPath(new URL('../public/', import.meta.url))

/** A portal that renders its pages on the server, and passes Gatehouse's own paths on. */
export function createPortal({ gatehouseUrl }: { readonly gatehouseUrl: string }): Express {
  const gatehouse = createGatehouseCalls(gatehouseUrl)
  const portal = express()
  portal.set('trust proxy', false) // behind a proxy: its address, so that req.ip is the browser's
  portal.use(securityHeaders())
  portal.all(GATEHOUSE_PATHS, createGatehouseProxy(gatehouseUrl)) // before any body is read

  portal.use('/assets/gatehouse-client', express.static(CLIENT))
  portal.use('/assets', express.static(BROWSER_CODE), express.static(STYLES))
  portal.use((_req, res, next) => {
    res.set('Cache-Control', 'no-store')
    next()
  })

  portal.get('/sign-in', (_req, res) => {
    res.send(signInPage(IMPORT_MAP))
  })
  portal.get('/', async (req, res) => {
    const user = await gatehouse.user(req)
    if (user) res.send(portalPage(user, await gatehouse.groups(req, user)))
    else res.redirect(303, '/sign-in')
  })
  portal.post('/sign-out', express.urlencoded({ extended: false, limit: '1kb' }), async (req, res) => {
    const answer = await gatehouse.signOut(req, String(req.body?.session))
    if (answer.status === 403 || answer.status === 409)
      return void res.status(answer.status).send(REFUSED[answer.status])
    if (answer.status !== 204 && answer.status !== 404)
      throw new GatehouseUnavailable(`status ${answer.status}`)
    res.append('Set-Cookie', answer.headers.getSetCookie())
    res.set('Clear-Site-Data', '"cache"')
    const okta = answer.headers.get('x-gatehouse-sign-out')
    if (okta === null) return void res.redirect(303, '/sign-in')
    // not a redirect, to which the policy for forms would apply
    res.set('Refresh', `0; url=${okta}`).send(messagePage('Signed out', 'You are signed out.', okta))
  })
  portal.use(sendError)
  return portal
}

const REFUSED = {
  403: messagePage('Not allowed', 'Another site has sent this request.'),
  409: messagePage('You have signed in again', 'This page belonged to an earlier session.'),
}
const FAILED = messagePage('Please try again', 'The portal is not available at the moment.')

function securityHeaders() {
  const importMapHash = createHash('sha256').update(IMPORT_MAP).digest('base64')
  const self = ["'self'"]
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: [...self, `'sha256-${importMapHash}'`],
        styleSrc: self,
        imgSrc: self,
        connectSrc: self,
        formAction: self,
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
    // with no-referrer, browsers send forms with `Origin: null`
    referrerPolicy: { policy: 'same-origin' },
  })
}

const sendError: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  if (res.headersSent) return next(error)
  console.error(error)
  const status = error instanceof GatehouseUnavailable ? 503 : Number(Object(error).status) || 500
  if (status === 503) res.set('Retry-After', '2')
  res.status(status).send(FAILED)
}
