import type { Config } from '../config/load-config.ts'
import { PROXY_FIX } from './client-address.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import { outcomeOf, type Probed, type SendProbe } from './probes.ts'

/** A path that the proxy must pass on. */
export interface ExpectedPath {
  readonly path: string
  /** The variable that needs it. Undefined: some sign-ins and applications need it. */
  readonly neededBy: string | undefined
}

/** A query with an encoded slash and an empty value, which some proxies change. */
export const QUERY = 'doctor=a%2Fb&empty='

/** One path of each prefix that the proxy has a rule for, except `/api/v1/` (`public.reach`). */
export function expectedPaths(config: Config): readonly ExpectedPath[] {
  const { authn, session, jwtAudiences, returnTargets, allowedOrigins } = config
  const when = (isNeeded: boolean, variable: string) => (isNeeded ? variable : undefined)
  const hasReturnTargets = returnTargets.length > 1 + allowedOrigins.length
  return [
    { path: '/signin', neededBy: when(hasReturnTargets, 'RETURN_TO') },
    { path: '/signin/step-up', neededBy: when(authn.stepUp, 'STEP_UP') },
    { path: '/login/sessionCookieRedirect', neededBy: when(authn.ssoRedirects.length > 0, 'SSO_REDIRECTS') },
    { path: '/login/step-up/redirect', neededBy: when(authn.stepUp, 'STEP_UP') },
    { path: '/sso/idps/doctor', neededBy: undefined },
    ...(session.eventHookSecrets === undefined
      ? []
      : [{ path: '/hooks/org-events', neededBy: 'EVENT_HOOK_SECRET' }]),
    ...(jwtAudiences.length === 0
      ? []
      : [{ path: '/.well-known/gatehouse-jwks.json', neededBy: 'JWT_AUDIENCES' }]),
  ]
}

export interface AskedPath extends ExpectedPath {
  readonly probed: Probed
}

export async function checkPaths(config: Config, probe: SendProbe): Promise<Finding> {
  const ask = async (expected: ExpectedPath) => ({
    ...expected,
    probed: await probe({ path: `${expected.path}?${QUERY}` }),
  })
  return judgePaths(await Promise.all(expectedPaths(config).map(ask)))
}

export function judgePaths(asked: readonly AskedPath[]): Finding {
  const lost = asked.filter(({ path, probed }) => probed.answer?.path !== path)
  const needed = lost.filter(({ neededBy }) => neededBy !== undefined)
  const fix = `The proxy must pass all paths of Gatehouse, unchanged. ${PROXY_FIX}`
  if (needed.length > 0) return fail(`not passed to the broker: ${listOf(needed)}`, fix)
  const changed = asked.filter(({ probed: { answer } }) => (answer?.query ?? QUERY) !== QUERY)
  if (changed.length > 0)
    return fail(
      `the proxy drops or changes the query of ${changed.map(({ path }) => path).join(', ')}`,
      `It must pass queries unchanged. ${PROXY_FIX}`,
    )
  if (lost.length > 0) return warn(`not passed to the broker: ${listOf(lost)}`, fix)
  return ok('all paths that the configuration needs are passed, with their query')
}

const listOf = (paths: readonly AskedPath[]) =>
  paths
    .map(({ path, neededBy, probed }) => {
      const reason = probed.answer === undefined ? outcomeOf(probed) : 'changed on the way'
      return `${path} (${neededBy === undefined ? '' : `${neededBy}; `}${reason})`
    })
    .join(', ')
