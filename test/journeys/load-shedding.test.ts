import { afterEach, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { AMELIA, FROM_PROXY, type Harness, PASSWORD, startHarness, WALTER } from '../support/harness.ts'
import { until } from '../support/until.ts'

let harness: Harness
afterEach(() => harness.stop())

const MAX_IN_FLIGHT = 3

/** A broker with few requests in flight per class and long upstream time-outs. */
const startWithFewInFlight = () =>
  startHarness({
    env: { TRUST_PROXY: '127.0.0.1' },
    tunables: (tunables) => ({
      ...tunables,
      http: {
        ...tunables.http,
        load: {
          ...tunables.http.load,
          inFlight: { sign_in: MAX_IN_FLIGHT, recovery: MAX_IN_FLIGHT, session: 50, pam: MAX_IN_FLIGHT },
        },
      },
      upstream: {
        ...tunables.upstream,
        authn: { ...tunables.upstream.authn, totalTimeoutMs: 120_000 },
        pam: { ...tunables.upstream.pam, totalTimeoutMs: 120_000 },
      },
    }),
  })

test('a PAM API that hangs uses up its own class alone: sign-in and sessions still work', async () => {
  harness = await startWithFewInFlight()
  const browser = await harness.visit()
  const signIn = () => browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  await signIn()
  harness.sandbox.faults.pam.hold({})
  const lookups = Array.from({ length: 20 }, (_, n) =>
    browser.get('/api/v1/pam/groups', { headers: { 'x-forwarded-for': `192.0.2.${n + 1}` } }),
  )
  await until(async () =>
    (await harness.gatehouse.metrics()).includes(`http_requests_in_flight{kind="pam"} ${MAX_IN_FLIGHT}`),
  )
  const shed = await browser.get('/api/v1/pam/me')
  expect([shed.status, shed.json.errorCode]).toEqual([503, 'E0000009'])
  expect(shed.headers.get('retry-after')).toBe('2')
  for (let n = 0; n < 10; n++) {
    expect((await signIn()).json.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(AMELIA)
    expect((await browser.get('/forward-auth')).status).toBe(200)
  }

  harness.sandbox.faults.pam.clear()
  const statuses = (await Promise.all(lookups)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 503).length).toBeGreaterThanOrEqual(20 - MAX_IN_FLIGHT)
  await until(async () => (await browser.get('/api/v1/pam/groups')).status === 200)
  expect(await harness.gatehouse.metrics()).toMatch(
    /requests_shed_total\{kind="pam",reason="in_flight"\} \d+/,
  )
})

test('an Authentication API that hangs uses up the sign-in class alone, and recovers', async () => {
  harness = await startWithFewInFlight()
  const [browser, other] = [await harness.visit(), await harness.visit()]
  await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  harness.sandbox.faults.authn.hold({})
  const slow = Array.from({ length: MAX_IN_FLIGHT }, (_, n) =>
    other.post(
      '/api/v1/authn',
      { username: WALTER, password: `${PASSWORD}-${n}` },
      { headers: { 'x-forwarded-for': `192.0.2.${n + 1}` } },
    ),
  )
  await until(async () =>
    (await harness.gatehouse.metrics()).includes(`http_requests_in_flight{kind="sign_in"} ${MAX_IN_FLIGHT}`),
  )
  const shed = await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  expect([shed.status, shed.json.errorCode]).toEqual([503, 'E0000009'])
  expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(AMELIA) // not signed out
  expect((await browser.get('/api/v1/pam/me')).status).toBe(200)
  for (const path of ['/livez', '/readyz', '/metrics'])
    expect((await fetch(`${harness.gatehouse.opsUrl}${path}`)).status).toBe(200)

  harness.sandbox.faults.authn.clear()
  for (const { status } of await Promise.all(slow)) expect(status).toBe(401)
  expect((await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })).json.status).toBe(
    'SUCCESS',
  )
})

test('session routes are shed last: reading, keeping alive and ending a session', async () => {
  const never = 3_600_000
  harness = await startHarness({
    tunables: (tunables) => ({
      ...tunables,
      http: {
        ...tunables.http,
        load: { ...tunables.http.load, maxLagMs: { sign_in: 0, recovery: 0, session: never, pam: 0 } },
      },
    }),
  })
  const browser = openBrowser(harness.gatehouse.url, FROM_PROXY)
  const ask = {
    GET: (path: string) => browser.get(path),
    POST: (path: string) => browser.post(path, {}),
    DELETE: (path: string) => browser.delete(path),
  }
  for (const [method, path, status] of [
    ['GET', '/forward-auth', 401],
    ['GET', '/api/v1/sessions/me', 404],
    ['DELETE', '/api/v1/sessions/me', 404],
    ['POST', '/api/v1/sessions/me/lifecycle/refresh', 404],
    ['GET', '/api/v1/users/me', 401],
    ['GET', '/api/v1/sessions', 401],
    ['DELETE', '/api/v1/sessions', 401],
    ['DELETE', '/api/v1/sessions/1', 401],
    ['GET', '/api/v1/devices', 401],
    ['DELETE', '/api/v1/devices/1', 401],
    ['POST', '/api/v1/authn', 503],
    ['POST', '/api/v1/authn/skip', 503],
    ['POST', '/api/v1/authn/recovery/password', 503],
    ['GET', '/api/v1/users/1/factors/questions', 503],
    ['GET', '/api/v1/pam/me', 503],
    ['GET', '/api/v1/pam/groups/1', 503],
  ] as const)
    expect([method, path, (await ask[method](path)).status]).toEqual([method, path, status])
})
