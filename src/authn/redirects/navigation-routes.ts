import type { Request, Response } from 'express'
import { setErrorFormat } from '../../http/present-error.ts'
import type { Route } from '../../http/routes.ts'
import type { Client } from '../browser/client.ts'
import { inOneSpelling } from '../transaction/offered-steps.ts'
import type { HandOver } from './hand-over.ts'
import { assertNavigation, type StepUp } from './step-up.ts'

export interface NavigationRoutesParts {
  readonly stepUp: StepUp
  /** Where a link leads that Okta offered. */
  readonly follow: (path: string, handle: unknown, client: Client) => Promise<string>
  readonly handOver: HandOver
  readonly clientOf: (req: Request, res: Response) => Client
}

/** What a browser opens by itself: it is sent on, or sees an error page. Nothing here sets a session. */
export function createNavigationRoutes({
  stepUp,
  follow,
  handOver,
  clientOf,
}: NavigationRoutesParts): Route[] {
  const page = (
    path: string,
    status: 302 | 303,
    target: (req: Request, client: Client) => Promise<string>,
  ): Route => ({
    method: 'GET',
    path,
    withoutHead: true, // a look must not use up what can be used once
    getFrom: 'any-site', // a navigation: asserted below
    async handle(req, res) {
      setErrorFormat(req, 'page')
      assertNavigation(req.headers)
      const href = await target(req, clientOf(req, res))
      res.status(status).set('Location', href).end()
    },
  })
  const offered = (path: string) =>
    page(path, 302, (req, client) => follow(inOneSpelling(req.path), req.query.stateToken, client))

  return [
    page('/signin/step-up', 303, (req, client) => stepUp.take(req.query.stateToken, client)),
    offered('/login/step-up/redirect'),
    offered('/login/token/redirect'),
    offered('/sso/idps/:id'),
    page('/login/sessionCookieRedirect', 302, (req, client) =>
      handOver.redeem(req.query.token, req.query.redirectUrl, client),
    ),
  ]
}
