import { type AppRoutesOptions, createAppRoutes } from './app-routes.ts'
import { createGroups, type GroupsOptions } from './groups.ts'
import { createGroupCache } from './lists/group-cache.ts'
import { createListReader } from './lists/list-reader.ts'
import { createListStore } from './lists/list-store.ts'
import { toPamUserName } from './pam-user-name.ts'
import { createPamRoutes, type PamRoutesOptions } from './routes.ts'
import type { MintOptions } from './token/mint-token.ts'
import { createAuthorizedCall } from './token/token.ts'
import { createPamCall, type PamCallOptions } from './upstream/pam-call.ts'
import { createPamDeps, type PamDepsOptions } from './upstream/pam-deps.ts'

export interface PamOptions
  extends PamDepsOptions,
    Pick<AppRoutesOptions, 'appTokens' | 'hashLogin'>,
    Pick<GroupsOptions, 'userName' | 'directory'>,
    Pick<MintOptions, 'key'>,
    Pick<PamCallOptions, 'api' | 'breaker'> {
  readonly keyExpiresAtMs?: number | undefined
  /** With the placeholder `{team_name}`. */
  readonly tokenPath: string
}

/** Composition root of the module. */
export function createPam(options: PamOptions) {
  const { api, breaker, key, keyExpiresAtMs, team, userName, directory, log } = options
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
    /** For users in browsers. */
    routes: (requireSession: PamRoutesOptions['requireSession']) =>
      createPamRoutes({ groups, requireSession, log }),
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
