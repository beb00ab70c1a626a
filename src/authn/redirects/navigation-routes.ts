import type { Request, Response } from 'express'
import { assertNavigation } from '../../http/navigation.ts'
import { getRequestContext } from '../../http/request-context.ts'
import { type Operation, type Operations, type Route, routesOf } from '../../http/route.ts'
import type { Client } from '../browser/client.ts'
import { normalizePath } from '../transaction/link-paths.ts'
import type { SsoTokens } from './sso-tokens.ts'
import type { StepUp } from './step-up.ts'

const PAGE = {
  method: 'GET',
  withoutHead: true, // HEAD must not consume a one-use link
  kind: 'open', // the route accepts only navigations
} as const satisfies Partial<Operation>

/** Pages that the browser itself opens. */
export const NAVIGATION_OPERATIONS = {
  goToSignIn: { ...PAGE, path: '/signin' },
  beginStepUp: { ...PAGE, path: '/signin/step-up' },
  followStepUp: { ...PAGE, path: '/login/step-up/redirect' },
  followTokenRedirect: { ...PAGE, path: '/login/token/redirect' },
  followIdentityProvider: { ...PAGE, path: '/sso/idps/:id' },
  redeemSsoToken: { ...PAGE, path: '/login/sessionCookieRedirect' },
} as const satisfies Operations

export interface NavigationRoutesOptions {
  readonly stepUp: Pick<StepUp, 'importToken'>
  /** The target of a redirect that Okta offered. */
  readonly follow: (path: string, handle: unknown, client: Client) => Promise<string>
  readonly ssoTokens: Pick<SsoTokens, 'redeem'>
  readonly returnTo: (req: Request, client: Client, res: Response) => Promise<string>
  readonly clientOf: (req: Request, res: Response) => Client
}

/** Routes for navigations. Each redirects, or shows an error page. None opens a session. */
export function createNavigationRoutes({
  stepUp,
  follow,
  ssoTokens,
  returnTo,
  clientOf,
}: NavigationRoutesOptions): Route[] {
  const redirect =
    (
      status: 302 | 303,
      target: (req: Request, client: Client, res: Response) => Promise<string>,
      from?: Parameters<typeof assertNavigation>[1],
    ): Route['handle'] =>
    async (req, res) => {
      getRequestContext(req).errorFormat = 'page'
      assertNavigation(req.headers, from)
      const href = await target(req, clientOf(req, res), res)
      res.status(status).set('Location', href).end()
    }
  const followOffered = redirect(302, (req, client) =>
    follow(normalizePath(req.path), req.query.stateToken, client),
  )

  return routesOf(NAVIGATION_OPERATIONS, {
    goToSignIn: redirect(303, returnTo, 'own-origin'),
    beginStepUp: redirect(303, (req, client) => stepUp.importToken(req.query.stateToken, client)),
    followStepUp: followOffered,
    followTokenRedirect: followOffered,
    followIdentityProvider: followOffered,
    redeemSsoToken: redirect(302, (req, client) => ssoTokens.redeem(req.query, client)),
  })
}
