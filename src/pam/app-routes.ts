import type { Request } from 'express'
import { findBearer, type NamedToken } from '../bearer-auth/bearer-token.ts'
import { createCallLimits } from '../bearer-auth/call-limits.ts'
import { createSigner } from '../crypto/keys.ts'
import { wrongBearerToken } from '../errors.ts'
import { addressForLimits, getRequestContext } from '../http/request-context.ts'
import { type Route, routesOf } from '../http/route.ts'
import type { Store } from '../store/store.ts'
import type { Groups } from './groups.ts'
import { APP_OPERATIONS } from './pam-operations.ts'
import { createLookups, type LookupClient } from './routes.ts'
import type { PamDepsOptions } from './upstream/pam-deps.ts'

export interface AppRoutesOptions extends Pick<PamDepsOptions, 'masterKeys' | 'log' | 'metrics' | 'now'> {
  readonly groups: Groups
  /** Two of them may have one name. Without one, the routes do not exist. */
  readonly appTokens: readonly NamedToken[]
  readonly store: Pick<Store, 'keyPrefix' | 'countAttempt'>
  /** As in other audit events. */
  readonly hashLogin: (login: string) => string
}

/** docs/configuration.md#limits has the reasons. */
export const APP_LIMITS = {
  app: { attempts: 6000, perSeconds: 60 },
  app_address: { attempts: 20, perSeconds: 600 },
} as const

/**
 * Look-ups for the portal's own backends. A token of `APP_TOKENS` gives access; cookies and
 * `Origin` have no effect.
 */
export function createAppRoutes(options: AppRoutesOptions): Route[] {
  if (options.appTokens.length === 0) return []
  const { masterKeys, store, metrics, now = Date.now } = options
  const nameSigner = createSigner(masterKeys, 'app-limit-names')
  const limits = createCallLimits({ limits: APP_LIMITS, store, nameSigner, metrics, now })
  const { me, list, group } = createLookups(options.groups, async (req) =>
    identify({ ...options, limits }, req),
  )
  return routesOf(APP_OPERATIONS, { appGetAccess: me, appListGroups: list, appGetGroup: group })
}

type Deps = AppRoutesOptions & {
  readonly limits: ReturnType<typeof createCallLimits<keyof typeof APP_LIMITS>>
}

function identify(deps: Deps, req: Request): LookupClient {
  const { appTokens, limits, hashLogin, log, metrics } = deps
  const app = findBearer(req, appTokens)?.name
  const { requestId, address } = getRequestContext(req)
  const { login } = req.params
  const loginHash = typeof login === 'string' ? hashLogin(login) : undefined
  return {
    login: String(login), // only `me` reads it
    async admit() {
      if (app !== undefined) return limits.count('app', app)
      await limits.count('app_address', addressForLimits(address))
      throw wrongBearerToken('one of APP_TOKENS')
    },
    audit(lookup) {
      if (app === undefined) metrics.requestsRefused.inc({ reason: 'app_token' })
      else metrics.appLookups.inc({ name: app, status: lookup.status })
      log.audit('app_lookup', { requestId, address, app, loginHash, ...lookup })
    },
  }
}
