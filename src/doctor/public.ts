import { BOUND_SESSION_REQUEST_HEADERS, BOUND_SESSION_RESPONSE_HEADERS } from '../http/doctor-probe.ts'
import { fieldsOf, type HttpApi } from '../upstream/http-api.ts'
import { checkApplications } from './applications.ts'
import { type Answer, createDoctorApi, reasonOf, sendOrFail } from './calls.ts'
import { watchCertificate } from './certificate.ts'
import type { Check, CheckGroup, DoctorContext } from './check.ts'
import { PROXY_FIX } from './client-address.ts'
import { checkConfiguration } from './configuration.ts'
import { checkCookies } from './cookies.ts'
import { type Finding, fail, ok, skipped } from './finding.ts'
import { checkHeaders } from './headers.ts'
import { checkKeepAlive } from './keep-alive.ts'
import { opsChecks } from './ops.ts'
import { checkPaths } from './paths.ts'
import { createProbes, outcomeOf, type Probed, type SendProbe, UNANSWERED } from './probes.ts'
import { checkReach, type Reached } from './reach.ts'
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
  /** For checks that only a broker proven to be this one can pass. */
  const proven = (run: (reached: Reached) => Promise<Finding>) =>
    through(async (found) => (found.answer === undefined ? skipped(UNANSWERED) : run(found)))
  /** For checks of requests that the broker refuses without the client's address. */
  const admitted = (run: (reached: Reached) => Promise<Finding>) =>
    proven(async (found) =>
      found.answer?.addressProblem === undefined
        ? run(found)
        : skipped('not possible without public.headers'),
    )
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
    { name: 'public.configuration', needs, run: proven(() => checkConfiguration(config, probe)) },
    { name: 'public.paths', needs, run: proven(() => checkPaths(config, probe)) },
    {
      name: 'public.redis',
      needs,
      mayTakeLong: true,
      run: proven(() => checkSharedStore(context, probe)),
    },
    { name: 'public.keepalive', needs, run: proven(() => checkKeepAlive(probe)) },
    {
      name: 'public.event_hook',
      needs,
      // the secret goes to a proven broker only
      run: admitted(() => checkEventHook(api, probe, context)),
    },
    { name: 'public.cookies', needs, run: through((found) => checkCookies(found, api, probe, cookies)) },
    { name: 'public.headers', needs, run: through((found) => checkHeaders(found, api, probe, context)) },
    {
      name: 'public.bound_sessions',
      needs,
      run: config.session.deviceBound
        ? admitted(() => checkBoundSessions(api, probe))
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

/** As Okta verifies the hook: the secret in Authorization, and a challenge that comes back. */
async function checkEventHook(api: HttpApi, probe: SendProbe, { config }: DoctorContext): Promise<Finding> {
  const [secret] = config.session.eventHookSecrets?.value ?? []
  if (secret === undefined) return skipped('EVENT_HOOK_SECRET is not set')
  const answer = await sendOrFail(api, {
    method: 'GET',
    path: '/hooks/org-events',
    headers: { Authorization: secret, 'X-Okta-Verification-Challenge': 'doctor' },
  })
  if (fieldsOf(answer.json).verification === 'doctor')
    return (await judgeLargeEvents(probe)) ?? ok('the event hook answers as Okta expects')
  const reason = answer.failure === undefined ? `HTTP ${answer.status}` : reasonOf(answer.failure)
  return fail(
    `the event hook does not answer as Okta expects (${reason})`,
    `The proxy must pass /hooks/org-events with Authorization and X-Okta-Verification-Challenge, and the broker must have this EVENT_HOOK_SECRET. ${PROXY_FIX}`,
  )
}

/** Less than the broker accepts. */
const LARGE_EVENTS = { padding: 'x'.repeat(900_000) }

async function judgeLargeEvents(probe: SendProbe): Promise<Finding | undefined> {
  const large = await probe({ method: 'POST', path: '/hooks/org-events', body: LARGE_EVENTS })
  if (large.answer?.bodyBytes === JSON.stringify(LARGE_EVENTS).length) return undefined
  return fail(
    `the proxy does not pass events of 900 kB to the event hook (${outcomeOf(large)})`,
    `Okta does not send them again: on /hooks/org-events, the proxy must pass 1 MB (nginx: client_max_body_size 1m). ${PROXY_FIX}`,
  )
}

/** Browsers bind no session, and say nothing, if one of the headers is lost. */
async function checkBoundSessions(api: HttpApi, probe: SendProbe): Promise<Finding> {
  const headers = Object.fromEntries(BOUND_SESSION_REQUEST_HEADERS.map((name) => [name, 'doctor']))
  const seen = await probe({ headers })
  const send = (path: string) => sendOrFail(api, { method: 'POST', path, headers })
  const [registration, refresh] = [await send('/bound-session'), await send('/bound-session/refresh')]
  return judgeBoundSessions(seen, registration, refresh)
}

/** `registration`, `refresh`: the answers to requests without a session. */
function judgeBoundSessions({ response, answer }: Probed, registration: Answer, refresh: Answer): Finding {
  const arrived: readonly string[] = answer?.boundSessionHeaders ?? []
  const lost = BOUND_SESSION_REQUEST_HEADERS.filter((name) => !arrived.includes(name))
  const problems = [
    ...lost.map((name) => `${name} does not arrive`),
    ...BOUND_SESSION_RESPONSE_HEADERS.filter(
      (name) => response.headers[name.toLowerCase()] === undefined,
    ).map((name) => `${name} does not come back`),
  ]
  const isOfBroker = ({ json }: Answer) => fieldsOf(json).continue === false || 'errorCode' in fieldsOf(json)
  if (!isOfBroker(registration)) problems.push('/bound-session does not lead to the broker')
  if (!isOfBroker(refresh)) problems.push('/bound-session/refresh does not lead to the broker')
  // 400: the header is missing
  else if (refresh.status === 400 && !lost.includes('Sec-Secure-Session-Id'))
    problems.push('Sec-Secure-Session-Id does not arrive at /bound-session/refresh')
  if (problems.length === 0) return ok('the headers of device-bound sessions pass both ways')
  return fail(
    problems.join('; '),
    `The proxy must pass /bound-session and the headers of docs/device-bound-sessions.md. ${PROXY_FIX}`,
  )
}
