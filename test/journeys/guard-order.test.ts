import type { OutgoingHttpHeaders } from 'node:http'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createSigner } from '../../src/crypto/keys.ts'
import { createProbe, PROBE_HEADER } from '../../src/http/doctor-probe.ts'
import { type Answer, askPort } from '../support/ask-port.ts'
import { type Gatehouse, startGatehouse, TEST_KEY } from '../support/gatehouse.ts'

/**
 * In which order a request is checked, by kind of route: each request has several faults, and is
 * refused for the first. Without that fault it is refused for the next one, and so on.
 */

const ENV = {
  AUTHN_BASE_URL: 'http://127.0.0.1:9',
  PAM_BASE_URL: 'http://127.0.0.1:9',
  PAM_TEAM: 'team',
  PAM_KEY_ID: 'plainly-fake-id',
  PAM_KEY_SECRET: 'plainly-fake-secret',
  APP_TOKENS: 'portal:plainly-fake-token-of-the-portal-1',
  EVENT_HOOK_SECRET: 'plainly-fake-hook-secret',
  TRUST_PROXY: '127.0.0.1/32',
}

let broker: Gatehouse
/** It refuses every request that it counts as in flight. */
let overloaded: Gatehouse
beforeAll(async () => {
  broker = await startGatehouse({ env: ENV })
  const tunables = <T extends { http: object }>(shipped: T) => ({
    ...shipped,
    http: { ...shipped.http, maxRequestsInFlight: 0 },
  })
  overloaded = await startGatehouse({ env: ENV, tunables })
})
afterAll(async () => {
  await broker.stop()
  await overloaded.stop()
})

const signer = createSigner([Buffer.from(TEST_KEY, 'base64')], 'doctor-probe')
const probe = () => createProbe({ nonce: 'a-nonce', waitMs: 0 }, { signer, now: Date.now })

/**
 * Faults, and what a request gets for each. The probe is no fault, but its answer shows when it is
 * looked for.
 */
const FAULTS = {
  ambiguous: 'path: has an encoded slash, a backslash or a dot segment',
  crossSite: 'Origin: https://evil.example is neither PUBLIC_URL nor one of ALLOWED_ORIGINS',
  probe: 'probe',
  address: 'X-Forwarded-For: missing; the proxies in TRUST_PROXY must send it',
  method: 'E0000022',
  body: 'body: not a JSON object',
  overload: 'Retry-After: 2',
} as const
type Fault = keyof typeof FAULTS
const CAUSES = new Map<unknown, string>(Object.entries(FAULTS).map(([fault, cause]) => [cause, fault]))

async function ask([method, path]: readonly [string, string], faults: ReadonlySet<Fault>): Promise<string> {
  const { url } = faults.has('overload') ? overloaded : broker
  const used = faults.has('method') ? 'PUT' : method
  const headers: OutgoingHttpHeaders = {
    ...(faults.has('address') ? {} : { 'X-Forwarded-For': '192.0.2.1' }),
    Origin: faults.has('crossSite') ? 'https://evil.example' : url,
    'Sec-Fetch-Site': faults.has('crossSite') ? 'cross-site' : 'same-origin',
    ...(faults.has('probe') ? { [PROBE_HEADER]: probe() } : {}),
    ...(used === 'GET' ? {} : { 'Content-Type': 'application/json' }),
  }
  const body = used === 'GET' ? {} : { body: faults.has('body') ? '{' : '{}' }
  const spelled = path.replace('{id}', faults.has('ambiguous') ? 'a%2fb' : 'a')
  return shown(await askPort(Number(new URL(url).port), { method: used, path: spelled, headers, ...body }))
}

/**
 * The fault that an answer names. Errors of `/forward-auth` have no body, so only their status
 * tells it.
 */
function shown({ status, json, headers, text }: Answer): string {
  if (status === 302) return 'probe'
  if (status === 503 && headers['retry-after'] === '2') return 'overload'
  if (text === '') return status === 400 ? 'address' : `status ${status}`
  const { errorCode, errorCauses } = Object(json)
  const causes = [errorCauses?.[0]?.errorSummary, errorCode].map((cause) => CAUSES.get(cause))
  return causes.find((fault) => fault !== undefined) ?? errorCode
}

/** What requests are refused for whose faults are removed one by one. */
async function refusals(route: readonly [string, string], faults: readonly Fault[]) {
  const answers: string[] = []
  for (const at of faults.keys()) answers.push(await ask(route, new Set(faults.slice(at))))
  return answers
}

const READ: readonly Fault[] = ['ambiguous', 'probe', 'address', 'crossSite', 'overload']
const STEP = '/api/v1/authn/factors/{id}/verify'
const SESSION = '/api/v1/sessions/{id}'

test.each<readonly [string, string, string, readonly Fault[]]>([
  ['step', 'POST', STEP, ['ambiguous', 'crossSite', 'probe', 'address', 'body', 'overload']],
  ['step, wrong method', 'POST', STEP, ['ambiguous', 'crossSite', 'probe', 'address', 'method', 'body']],
  ['write', 'DELETE', SESSION, ['ambiguous', 'crossSite', 'probe', 'address', 'body', 'overload']],
  ['write, wrong method', 'DELETE', SESSION, ['ambiguous', 'crossSite', 'probe', 'address', 'method']],
  ['read of a session', 'GET', '/api/v1/pam/groups/{id}', READ],
  ['read', 'GET', '/api/v1/users/{id}/factors/questions', READ],
  ['image', 'GET', '/api/v1/users/user/factors/{id}/qr/token', READ],
  ['navigation', 'GET', '/sso/idps/{id}', ['ambiguous', 'probe', 'address', 'overload']],
  ['event hook', 'POST', '/hooks/org-events', ['crossSite', 'probe', 'address', 'overload']],
  ['unlisted path', 'POST', '/nowhere/{id}', ['ambiguous', 'crossSite', 'probe', 'address']],
  ['backend', 'GET', '/app/v1/pam/groups/{id}', ['ambiguous', 'address', 'overload']],
  ['forward-auth', 'POST', '/forward-auth', ['address', 'overload']],
])('%s: %s %s', async (_, method, path, faults) => {
  expect(await refusals([method, path], faults)).toEqual(faults)
})

test('what is no fault for a proxy and a backend: another site, a probe, a body', async () => {
  const others = new Set<Fault>(['crossSite', 'probe', 'body'])
  expect(await ask(['POST', '/forward-auth'], others)).toBe('status 401')
  expect(await ask(['GET', '/app/v1/pam/groups/{id}'], others)).toBe('E0000011')
})
