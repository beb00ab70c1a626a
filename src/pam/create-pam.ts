import type { HttpApi } from '../upstream/http-api.ts'
import { type AppRoutesOptions, createAppRoutes } from './app-routes.ts'
import type { PamDirectory } from './directory-access.ts'
import { createGroups } from './groups.ts'
import { createGroupCache } from './lists/group-cache.ts'
import { createListReader } from './lists/list-reader.ts'
import { createListStore } from './lists/list-store.ts'
import { type PamUserName, toPamUserName } from './pam-user-name.ts'
import { createPamRoutes, type RequireSession } from './routes.ts'
import type { PamKey } from './token/mint-token.ts'
import { createAuthorizedCall } from './token/token.ts'
import { createPamCall, type PamCallOptions } from './upstream/pam-call.ts'
import { createPamDeps, type PamDepsOptions } from './upstream/pam-deps.ts'

export interface PamOptions extends PamDepsOptions, Pick<AppRoutesOptions, 'appTokens' | 'hashLogin'> {
  readonly api: HttpApi
  readonly breaker?: PamCallOptions['breaker']
  readonly key: PamKey
  readonly keyExpiresAtMs?: number | undefined
  /** With the placeholder `{team_name}`. */
  readonly tokenPath: string
  readonly userName: PamUserName
  readonly directory: PamDirectory
  readonly requireSession: RequireSession
}

/** Composition root of the module. */
export function createPam(options: PamOptions) {
  const { api, breaker, key, keyExpiresAtMs, team, userName, directory, requireSession, log } = options
  const deps = createPamDeps(options)
  const tokenPath = deps.basePath + options.tokenPath.replaceAll('{team_name}', encodeURIComponent(team))
  const call = createPamCall({ ...deps, api, breaker })
  const lists = createListStore(deps)
  const authorizedCall = createAuthorizedCall({ ...deps, call, key, path: tokenPath })
  const reader = createListReader({ ...deps, call: authorizedCall, lists })
  const cache = createGroupCache({ ...deps, lists, reader })
  const groups = createGroups({ cache, userName, directory })
  const allGroups = createGroups({ cache, userName, directory: { kind: 'all' } })
  if (keyExpiresAtMs !== undefined) options.metrics.pamKeyExpiry.set(Math.floor(keyExpiresAtMs / 1000))

  return {
    routes: createPamRoutes({ groups, requireSession, log }),
    appRoutes: createAppRoutes({ ...options, groups: allGroups }),
    state: reader.state,
    readAccess: groups.readAccess,
    /** Makes all replicas read the groups of a signed-in user again. */
    async refetch(login: string): Promise<void> {
      const user = toPamUserName(login, userName)
      if (user !== undefined) await lists.purge({ kind: 'me', user })
    },
  }
}
