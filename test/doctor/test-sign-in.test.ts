import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { SandboxConfig } from 'gatehouse-sandbox/sandbox-config'
import { PASSWORD, TOMAS } from '../support/harness.ts'
import { type SandboxUpstream, startSandboxUpstream } from '../support/sandbox-upstream.ts'
import { diagnose } from './diagnose.ts'

const SANDBOX_ADDRESS = '127.0.0.1'

let upstream: SandboxUpstream
let config: SandboxConfig
beforeAll(async () => {
  upstream = await startSandboxUpstream({
    sandboxConfig: (given) => {
      config = { ...given, zones: [] }
      return config
    },
  })
})
beforeEach(() => {
  upstream.sandbox.reset()
  upstream.sandbox.faults.authn.clear()
  upstream.sandbox.requestLog.authn.clear()
  config.zones = [{ name: 'Portal', gateways: [], proxies: [SANDBOX_ADDRESS] }]
})
afterAll(() => upstream.close())

const signInAs = async (login?: string, password?: string) => {
  const results = await diagnose(upstream.signInEnv, { login, password })
  return [results['authn.forwarded_for'], results['authn.device_token']]
}
const sent = () => upstream.sandbox.requestLog.authn.entries.map(({ path }) => path)
const LOGS = '/api/v1/logs'

test('Okta uses the address and the device token of a test sign-in, whose transactions are cancelled', async () => {
  expect(await signInAs(TOMAS, PASSWORD)).toEqual([
    `ok: Okta uses the address in X-Forwarded-For, in no zone (IP chain: 192.0.2.1, ${SANDBOX_ADDRESS})`,
    'ok: Okta recognizes the device token',
  ])
  expect(upstream.sandbox.signIns.map(({ login, outcome }) => [login, outcome])).toEqual([
    [TOMAS, 'MFA_REQUIRED'],
    [TOMAS, 'MFA_REQUIRED'],
  ])
  expect(sent().filter((path) => path === '/api/v1/authn/cancel')).toHaveLength(2)
})

/** docs/unproven.md O1 and R3. The other ways to set up zones are in `faults/okta-org.ts`. */
test('the broker is a proxy of one zone, which the doctor cannot tell from all', async () => {
  config.zones = [
    { name: 'Office', gateways: ['203.0.113.10'], proxies: [] },
    { name: 'Plant', gateways: ['203.0.113.20'], proxies: [SANDBOX_ADDRESS] },
  ]
  expect(await signInAs(TOMAS, PASSWORD)).toEqual([
    `ok: Okta uses the address in X-Forwarded-For, in no zone (IP chain: 192.0.2.1, ${SANDBOX_ADDRESS})`,
    'ok: Okta recognizes the device token',
  ])
})

const event = (dtHash: string | undefined, ipAddress: unknown = '192.0.2.1') => ({
  client: { ipAddress },
  debugContext: { debugData: dtHash === undefined ? {} : { dtHash } },
})
const answerLogs = (body: unknown) =>
  upstream.sandbox.faults.authn.set({ kind: 'status', status: 200, body: body as object, path: LOGS })

test.each([
  [
    'without an address or a hash',
    [event(undefined, null)],
    ['skipped: the System Log shows no address', 'skipped: the System Log shows no hash of a device token'],
  ],
  ['without an event', [], Array(2).fill('skipped: the System Log has no event of the test sign-in yet')],
  ['that is no list', {}, Array(2).fill('skipped: the System Log is not readable (HTTP 200)')],
])('a System Log %s', async (_, body, results) => {
  answerLogs(body)
  expect(await signInAs(TOMAS, PASSWORD)).toEqual(results)
})

test('a wrong password is sent once, and Okta’s code is shown', async () => {
  expect(await signInAs(TOMAS, 'a-wrong-password')).toEqual(
    Array(2).fill('skipped: Okta refuses the test sign-in (HTTP 401 E0000004)'),
  )
  expect(upstream.sandbox.signIns).toHaveLength(1)
})

test('without a login or a password, nothing is signed in', async () => {
  const skipped = Array(2).fill('skipped: only a sign-in shows it: use --login and --password-stdin')
  expect(await signInAs(TOMAS)).toEqual(skipped)
  expect(await signInAs()).toEqual(skipped)
  expect(upstream.sandbox.signIns).toEqual([])
})
