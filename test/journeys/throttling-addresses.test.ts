import { expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { useHarness } from '../support/harness.ts'
import { atMost, onlyLimits } from '../support/limits.ts'
import { errorOf, factorAt, hrefAt } from '../support/transaction-view.ts'

/**
 * Whatever one address sends: Okta gets no more than this many calls that it answers with a 4xx.
 */
const LIMIT = 20
const LIMITED = [429, 'E0000047']

const harness = useHarness({
  env: { TRUST_PROXY: '127.0.0.1' },
  tunables: onlyLimits({
    call: { perAddress: atMost(LIMIT), perKnownDevice: atMost(LIMIT) },
  }),
})

/** Sends the request from a new browser behind this address. */
const postFrom = (address: string, path: string, body: object, origin = '') =>
  openBrowser(harness.gatehouse.url, { 'x-forwarded-for': address }).post(origin + path, body)

// shows: V6.3.1
test('60 anonymous calls with an unknown audience are stopped after the limit of their address, on all replicas', async () => {
  const other = await harness.replica()
  harness.clearUpstreamCalls()
  const answers: unknown[] = []
  for (let n = 0; n < 6; n++) {
    const tenAtOnce = Array.from({ length: 10 }, (_, m) => {
      const credentials = { username: `anyone-${n}-${m}@example.test`, password: 'x', audience: 'unknown' }
      return postFrom('198.51.100.1', '/api/v1/authn', credentials, m % 2 ? '' : other.url)
    })
    answers.push(...(await Promise.all(tenAtOnce)).map(errorOf))
  }
  expect(harness.upstreamCalls()).toHaveLength(LIMIT)
  expect(answers.filter((answer) => String(answer) === String(LIMITED))).toHaveLength(60 - LIMIT)
  expect(await harness.gatehouse.metrics()).toContain('gatehouse_limit_hits_total{limit="call_address"}')
})

/** Sends one refused call from each of these /64s, ten at a time. */
async function refusedCallsFrom(addresses: readonly string[]) {
  harness.clearUpstreamCalls()
  for (let n = 0; n < addresses.length; n += 10)
    await Promise.all(
      addresses.slice(n, n + 10).map((address, m) => {
        const credentials = { username: `${address}-${m}@example.test`, password: 'x', audience: 'unknown' }
        return postFrom(address, '/api/v1/authn', credentials)
      }),
    )
  return harness.upstreamCalls().length
}
const hex = (n: number) => n.toString(16).padStart(2, '0')

test('an IPv6 /56, such as one home line has, gets three times the limit of a /64, however many /64s it uses', async () => {
  const home = Array.from({ length: 4 * LIMIT }, (_, n) => `2001:db8:1:1${hex(n)}::${n + 1}`)
  expect(await refusedCallsFrom(home)).toBe(3 * LIMIT)
  expect(await refusedCallsFrom(['2001:db8:1:200::1'])).toBe(1) // the /56 beside it
})

test('an IPv6 /48 gets ten times the limit of a /64, however many /56s it uses', async () => {
  const site = Array.from({ length: 11 * LIMIT }, (_, n) => `2001:db8:2:${hex(n)}00::1`)
  expect(await refusedCallsFrom(site)).toBe(10 * LIMIT)
  expect(await refusedCallsFrom(['2001:db8:3::1'])).toBe(1) // the /48 beside it
})

test('calls that Okta refuses because of the SSWS token are limited too, and those for security questions', async () => {
  const token = harness.sandbox.activationToken('arno.activate@example.test')
  const browser = openBrowser(harness.gatehouse.url, { 'x-forwarded-for': '198.51.100.3' })
  const begun = await browser.post('/api/v1/authn', { token })
  const questions = hrefAt(begun, `${factorAt(begun, 'question')}._links.questions`)
  const credentials = { username: 'anyone@example.test', password: 'x' }
  harness.sandbox.apiTokens.delete(harness.sandbox.apiToken)
  // the call for questions carries no token
  const body = { errorCode: 'E0000011', errorSummary: 'x', errorLink: 'x', errorId: 'oae1', errorCauses: [] }
  harness.sandbox.faults.authn.set({ kind: 'status', status: 401, path: '/api/v1/users/', body })
  harness.clearUpstreamCalls()
  for (let n = 0; n < LIMIT / 2; n++) {
    expect((await browser.get(questions)).status).toBe(502)
    expect((await browser.post('/api/v1/authn', credentials)).status).toBe(503)
  }
  for (const refused of [await browser.get(questions), await browser.post('/api/v1/authn', credentials)])
    expect(errorOf(refused)).toEqual(LIMITED)
  expect(harness.upstreamCalls()).toHaveLength(LIMIT)
})
