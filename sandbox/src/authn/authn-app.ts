import express, { type Express, type Request, type Router } from 'express'
import type { EventHook } from '../event-hook.ts'
import type { Faults } from '../faults.ts'
import { createManagementRoutes } from '../management/management-routes.ts'
import type { RequestLog } from '../request-log.ts'
import {
  bodyParser,
  checkApiToken,
  enforceConcurrency,
  enforceRateLimit,
  errorHandler,
  notFoundHandler,
  rateLimitedResponse,
  refuseBlockedAddress,
} from './authn-middleware.ts'
import { createAuthnRoutes } from './authn-routes.ts'
import { createDuoRoutes } from './duo-routes.ts'
import { createIdentityProviderRoutes } from './identity-provider-routes.ts'
import type { Org } from './org.ts'
import { createPageRoutes } from './page-routes.ts'
import { createSessionRoutes } from './session-routes.ts'
import { setRequestId } from './system-log.ts'

/**
 * The Express app of the authentication API. The request log, rate limit and faults do not apply to
 * control routes.
 */
export function createAuthnApp({
  org,
  requestLog,
  faults,
  eventHook,
  control,
  originOf,
}: {
  org: Org
  requestLog: RequestLog
  faults: Faults
  eventHook: EventHook
  control: Router
  originOf: (req: Request) => string
}): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing')
  app.enable('strict routing')
  app.set('query parser', 'simple')

  app.use('/sandbox', control)
  app.use(requestLog.middleware())
  app.use(setRequestId())
  app.use(enforceConcurrency(org))
  app.use(enforceRateLimit(org))
  app.use(bodyParser())
  app.use(faults.middleware({ rateLimited: rateLimitedResponse(org) }))
  app.use(refuseBlockedAddress(org))
  app.use(checkApiToken(org))
  app.use(createManagementRoutes({ org, eventHook, originOf }))
  app.use(createAuthnRoutes({ org, originOf }))
  app.use(createPageRoutes({ org, originOf }))
  app.use(createSessionRoutes({ org, originOf }))
  app.use(createIdentityProviderRoutes({ org }))
  app.use(createDuoRoutes({ org }))
  app.use(notFoundHandler)
  app.use(errorHandler(org))
  return app
}
