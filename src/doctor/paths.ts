import type { Config } from '../config/load-config.ts'
import { PROXY_FIX } from './client-address.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import { outcomeOf, type Probed, type SendProbe } from './probes.ts'

/** A path that the proxy must pass on. */
export interface ExpectedPath {
  readonly path: string
  /**
   * The variable, or the part of a sign-in, that needs it. Undefined: some sign-ins and
   * applications need it.
   */
  readonly neededBy: string | undefined
}

/** A query with an encoded slash and an empty value, which some proxies change. */
export const QUERY = 'doctor=a%2Fb&empty='

/** Longer than the limit of some proxies, as a page to return to may be. */
const LONG_QUERY = `returnTo=${'x'.repeat(3000)}`

/** One path of each prefix that the proxy may have a rule for. */
export function expectedPaths(config: Config): readonly ExpectedPath[] {
  const { authn, pam, session, jwtAudiences, returnTargets, allowedOrigins } = config
  const when = (isNeeded: boolean, variable: string) => (isNeeded ? variable : undefined)
  const hasReturnTargets = returnTargets.length > 1 + allowedOrigins.length
  return [
    { path: '/signin', neededBy: when(hasReturnTargets, 'RETURN_TO') },
    { path: '/signin/step-up', neededBy: when(authn.stepUp, 'STEP_UP') },
    { path: '/login/sessionCookieRedirect', neededBy: when(authn.ssoRedirects.length > 0, 'SSO_REDIRECTS') },
    { path: '/login/step-up/redirect', neededBy: when(authn.stepUp, 'STEP_UP') },
    { path: '/sso/idps/doctor', neededBy: undefined },
    { path: '/api/v1/users/me', neededBy: 'second factors' },
    { path: '/api/v1/authn/introspect', neededBy: 'steps of a sign-in' },
    ...(pam === undefined ? [] : [{ path: '/api/v1/pam/me', neededBy: 'PAM_BASE_URL' }]),
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
  const asked = await Promise.all(expectedPaths(config).map(ask))
  const finding = judgePaths(asked)
  return finding.status === 'ok'
    ? judgeLongQuery(await probe({ path: `/signin?${LONG_QUERY}` }), finding)
    : finding
}

function judgeLongQuery(long: Probed, otherwise: Finding): Finding {
  if (long.answer !== undefined && (long.answer.query ?? LONG_QUERY) === LONG_QUERY) return otherwise
  return fail(
    `the proxy does not pass a query of 3 kB (${long.answer === undefined ? outcomeOf(long) : 'changed on the way'})`,
    `A page to return to may be as long (IIS: maxQueryString; nginx: large_client_header_buffers). ${PROXY_FIX}`,
  )
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
