import { type CookieNames, cookieNames } from '../http/cookie-names.ts'
import { BOUND_SESSION_REQUEST_HEADERS, BOUND_SESSION_RESPONSE_HEADERS } from '../http/doctor-probe.ts'
import { createTrustedProxies } from '../http/request-context.ts'
import { fieldsOf, type HttpApi } from '../upstream/http-api.ts'
import { checkApplications } from './applications.ts'
import { type Answer, createDoctorApi, reasonOf, sendOrFail } from './calls.ts'
import { watchCertificate } from './certificate.ts'
import type { Check, CheckGroup, DoctorContext } from './check.ts'
import { FORGED_ADDRESS, judgeClientAddress, PROXY_FIX } from './client-address.ts'
import { type Finding, fail, ok, skipped } from './finding.ts'
import { checkKeepAlive } from './keep-alive.ts'
import { opsChecks } from './ops.ts'
import { checkPaths } from './paths.ts'
import { createProbes, outcomeOf, type Probed, SESSION_PATH, type SendProbe } from './probes.ts'
import { causeOf, checkReach, NO_ANSWER_FIX, type Reached } from './reach.ts'
import { checkSharedStore } from './shared-store.ts'

/** Checks of the running broker, from where browsers are. */
export function publicChecks(context: DoctorContext): CheckGroup {
  const { config, now } = context
  const { publicUrl, ops } = config
  const api = createDoctorApi(publicUrl.origin, context)
  const cookies = { secure: publicUrl.secure, httpOnlyPrefix: config.session.deviceBound }
  const { hostname } = new URL(publicUrl.origin)
  const isLoopback = /^(127\.|localhost$|::1$)/.test(ops.host)
  const portApi = isLoopback ? undefined : createDoctorApi(`http://${hostname}:${ops.port}`, context)
  const certificate = watchCertificate(publicUrl.origin)
  const probe = createProbes(api, context)
  const accept = (detail: string) => certificate.judge(now(), detail)
  let reached: Reached | undefined
  /** Runs only after `public.reach`. */
  const through = (run: (reached: Reached) => Promise<Finding>) => () =>
    reached === undefined ? skipped('not possible without public.reach') : run(reached)
  const needs = ['public.reach']
  const checks: Check[] = [
    {
      name: 'public.reach',
      mayTakeLong: true,
      async run() {
        const result = await checkReach({ context, api, probe, accept })
        reached = result.reached
        return result.finding
      },
    },
    {
      name: 'public.paths',
      needs,
      run: through(async ({ answer }) =>
        answer === undefined ? skipped(UNANSWERED) : checkPaths(config, probe),
      ),
    },
    {
      name: 'public.redis',
      needs,
      mayTakeLong: true,
      run: through(async ({ answer }) =>
        answer === undefined ? skipped(UNANSWERED) : checkSharedStore(context, probe),
      ),
    },
    {
      name: 'public.keepalive',
      needs,
      run: through(async ({ answer }) =>
        answer === undefined ? skipped(UNANSWERED) : checkKeepAlive(probe),
      ),
    },
    {
      name: 'public.event_hook',
      needs,
      // the secret goes to a proven broker only
      run: through(async ({ answer }) =>
        answer === undefined ? skipped(UNANSWERED) : checkEventHook(api, context),
      ),
    },
    { name: 'public.cookies', needs, run: through((found) => checkCookies(found, api, cookies)) },
    { name: 'public.headers', needs, run: through((found) => checkHeaders(found, api, probe, context)) },
    {
      name: 'public.bound_sessions',
      needs,
      run: config.session.deviceBound
        ? through(() => checkBoundSessions(api, probe))
        : async () => skipped('DEVICE_BOUND_SESSIONS is off'),
    },
    { name: 'public.applications', run: () => checkApplications(context) },
    { name: 'ops.closed', needs, run: through((found) => opsChecks(found, api, portApi)) },
  ]
  return {
    checks,
    close() {
      certificate.stop()
      return Promise.all([api.close(), portApi?.close()])
    },
  }
}

const UNANSWERED = 'the broker does not answer the doctor’s probes'

async function checkCookies({ plain }: Reached, api: HttpApi, names: CookieNames): Promise<Finding> {
  const { secure } = names
  if (causeOf(plain).startsWith('X-Forwarded-For:')) return skipped('not possible without public.headers')
  const [name] = cookieNames('gatehouse-device', names)
  const cookie = cookieOf(plain, name)
  const fix = `The proxy must pass Set-Cookie unchanged. ${PROXY_FIX}`
  if (cookie === undefined) return fail('the response sets no device cookie', fix)
  const [value = '', ...attributes] = cookie.split(';').map((part) => part.trim().toLowerCase())
  const expected = ['path=/', 'httponly', 'samesite=lax', ...(secure ? ['secure'] : [])]
  const missing = expected.filter((attribute) => !attributes.includes(attribute))
  const added = attributes.filter((attribute) => attribute.startsWith('domain='))
  if (missing.length + added.length > 0) {
    const changes = [...missing.map((name) => `${name} is missing`), ...added.map(() => 'domain is added')]
    return fail(`the proxy changes the attributes of cookies: ${changes.join(', ')}`, fix)
  }
  if (value === '') return fail('the device cookie is empty', fix)
  const again = await sendOrFail(api, {
    method: 'GET',
    path: SESSION_PATH,
    headers: { Cookie: cookie.split(';')[0] ?? '' },
  })
  if (again.failure) return fail(`no response (${reasonOf(again.failure)})`, NO_ANSWER_FIX)
  // the broker replaces a device cookie that it cannot verify
  if (cookieOf(again, name) === undefined) return ok('the device cookie comes back')
  return fail(
    'the device cookie does not come back, or another replica does not accept it',
    `The proxy must pass Cookie unchanged, and all replicas must have the same SECRET_KEYS. ${PROXY_FIX}`,
  )
}

function cookieOf({ headers }: Answer, name: string): string | undefined {
  return [headers['set-cookie'] ?? []].flat().find((cookie) => cookie.startsWith(`${name}=`))
}

/** A host name that never exists (RFC 2606). */
const FOREIGN_ORIGIN = 'https://doctor.invalid'

async function checkHeaders(
  { plain, answer }: Reached,
  api: HttpApi,
  probe: SendProbe,
  { config }: DoctorContext,
): Promise<Finding> {
  const { secure } = config.publicUrl
  const options = { secure, isTrustedProxy: createTrustedProxies(config.trustProxy) }
  if (answer === undefined) {
    const cause = causeOf(plain)
    const addressProblem =
      (['missing', 'empty'] as const).find((problem) => cause.includes(problem)) ?? 'malformed'
    const refused = { address: '', addressProblem } as const
    const isRefused = cause.startsWith('X-Forwarded-For:')
    return judgeClientAddress(isRefused ? refused : undefined, isRefused ? refused : undefined, options)
  }
  const headers = { Origin: FOREIGN_ORIGIN, 'Sec-Fetch-Site': 'cross-site' }
  const seen = await probe({ headers })
  const forged = await probe({ headers: { ...headers, 'X-Forwarded-For': FORGED_ADDRESS } })
  const unanswered = [seen, forged].find((probe) => probe.answer === undefined)
  if (unanswered !== undefined)
    return fail(
      `the proxy refuses requests of browsers, with Origin or Sec-Fetch-Site (${outcomeOf(unanswered)})`,
      `The proxy must pass them to the broker, which checks them. ${PROXY_FIX}`,
    )
  const problems = [...headerProblems(seen, plain), ...(await allowedOriginProblems(api, config))]
  const address = judgeClientAddress(seen.answer, forged.answer, options)
  if (problems.length === 0) return address
  const fix = `It must pass Origin, Sec-Fetch-Site and Cache-Control unchanged, and neither add nor remove Access-Control-Allow-Origin. ${PROXY_FIX}`
  if (address.status !== 'fail') return fail(problems.join('; '), fix)
  return fail([...problems, address.detail].join('; '), `${fix} ${address.fix}`)
}

/** Whether pages of ALLOWED_ORIGINS may call the broker: with a preflight, as for JSON. */
async function allowedOriginProblems(
  api: HttpApi,
  { allowedOrigins: [origin] }: DoctorContext['config'],
): Promise<string[]> {
  if (origin === undefined) return []
  const asked = [
    { method: 'OPTIONS', headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' } },
    { method: 'GET', headers: { Origin: origin } },
  ] as const
  const answers = await Promise.all(
    asked.map((request) => sendOrFail(api, { path: SESSION_PATH, ...request })),
  )
  return answers.every(({ headers }) => isAllowed(headers, origin))
    ? []
    : ['pages of ALLOWED_ORIGINS cannot call the broker (Access-Control-Allow-Origin)']
}

const isAllowed = (headers: Answer['headers'], origin: string) =>
  headers['access-control-allow-origin'] === origin && headers['access-control-allow-credentials'] === 'true'

/** As Okta verifies the hook: the secret in Authorization, and a challenge that comes back. */
async function checkEventHook(api: HttpApi, { config }: DoctorContext): Promise<Finding> {
  const [secret] = config.session.eventHookSecrets?.value ?? []
  if (secret === undefined) return skipped('EVENT_HOOK_SECRET is not set')
  const answer = await sendOrFail(api, {
    method: 'GET',
    path: '/hooks/org-events',
    headers: { Authorization: secret, 'X-Okta-Verification-Challenge': 'doctor' },
  })
  if (fieldsOf(answer.json).verification === 'doctor') return ok('the event hook answers as Okta expects')
  const reason = answer.failure === undefined ? `HTTP ${answer.status}` : reasonOf(answer.failure)
  return fail(
    `the event hook does not answer as Okta expects (${reason})`,
    `The proxy must pass /hooks/org-events with Authorization and X-Okta-Verification-Challenge, and the broker must have this EVENT_HOOK_SECRET. ${PROXY_FIX}`,
  )
}

/** Browsers bind no session, and say nothing, if one of the headers is lost. */
async function checkBoundSessions(api: HttpApi, probe: SendProbe): Promise<Finding> {
  const headers = Object.fromEntries(BOUND_SESSION_REQUEST_HEADERS.map((name) => [name, 'doctor']))
  const seen = await probe({ headers })
  const path = `/bound-session/refresh`
  // the answer for a session that does not exist
  const refresh = await sendOrFail(api, { method: 'POST', path, headers })
  return judgeBoundSessions(seen, Object(refresh.json).continue === false)
}

export function judgeBoundSessions({ response, answer }: Probed, isPassedOn: boolean): Finding {
  const arrived: readonly string[] = answer?.boundSessionHeaders ?? []
  const problems = [
    ...BOUND_SESSION_REQUEST_HEADERS.filter((name) => !arrived.includes(name)).map(
      (name) => `${name} does not arrive`,
    ),
    ...BOUND_SESSION_RESPONSE_HEADERS.filter(
      (name) => response.headers[name.toLowerCase()] === undefined,
    ).map((name) => `${name} does not come back`),
    ...(isPassedOn ? [] : ['/bound-session/refresh does not lead to the broker']),
  ]
  if (problems.length === 0) return ok('the headers of device-bound sessions pass both ways')
  return fail(
    problems.join('; '),
    `The proxy must pass /bound-session and the headers of docs/device-bound-sessions.md. ${PROXY_FIX}`,
  )
}

export function headerProblems({ response, answer }: Probed, { headers }: Pick<Answer, 'headers'>): string[] {
  const allowed = response.headers['access-control-allow-origin']
  const caching = String(headers['cache-control'] ?? '')
  return [
    ...changeOf('Origin', answer?.origin, FOREIGN_ORIGIN),
    ...changeOf('Sec-Fetch-Site', answer?.site, 'cross-site'),
    ...(allowed === undefined
      ? []
      : ['the proxy lets pages of every origin read responses (Access-Control-Allow-Origin)']),
    ...(/\bno-store\b/.test(caching) && !/\bpublic\b|max-age=[1-9]/.test(caching)
      ? []
      : ['the proxy changes Cache-Control, so that caches may keep what is one user’s']),
  ]
}

function changeOf(name: string, arrived: string | undefined, sent: string): string[] {
  if (arrived === sent) return []
  return [arrived === undefined ? `${name} does not arrive` : `the proxy changes ${name}`]
}
