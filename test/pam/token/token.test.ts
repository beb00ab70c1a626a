import { afterEach, expect, test } from '@jest/globals'
import { until } from '../../support/until.ts'
import { counted } from '../counted.ts'
import { LOGIN, type PamBroker } from '../pam-broker.ts'
import { type PamHarness, type PamHarnessOptions, startPamHarness } from '../pam-harness.ts'

let harness: PamHarness
afterEach(() => harness.close())

async function start(options: PamHarnessOptions = {}) {
  harness = await startPamHarness(options)
  harness.pam.control.setUserGroups(LOGIN, ['Platform Admins'])
  return harness
}
const minted = () => harness.pam.control.counts().tokensMinted
const asked = () => harness.pam.control.counts().tokenRequests
const status = async (broker = harness.broker) => (await broker.get('/api/v1/pam/me')).status
/** Whether these brokers have processed every token and page that was sent. */
async function isIdle(brokers: PamBroker[]): Promise<boolean> {
  let taken = 0
  for (const broker of brokers) {
    taken += broker.logLines().filter(({ event }) => event === 'pam_token_minted').length
    taken += (await counted(broker.metrics, 'pam_pages_fetched_total')).me ?? 0
  }
  return taken === minted() + (harness.pam.control.counts().userPages[LOGIN] ?? 0)
}
/** Older than lists may be served, so that the next lookup needs a call. */
const LISTS_ARE_OLD_MS = 901_000

// shows: P-5.1, P-8.3, P-10.4
test.each([
  { bearer_token: 'two words', team_name: 'example-team' },
  { bearer_token: 'line\nbreak', team_name: 'example-team' },
  { bearer_token: '', team_name: 'example-team' },
  { team_name: 'example-team' },
  ['not an object'],
  '<html></html>',
])('a token response without a valid token is pam_unexpected (%#)', async (body) => {
  await start()
  harness.pam.faults.set({ kind: 'status', status: 200, path: '/v1/teams/example-team/service_token', body })
  const answer = await harness.broker.get('/api/v1/pam/me')
  expect([answer.status, answer.body.errorCode]).toEqual([502, 'pam_unexpected'])
})

// shows: F-7.2, P-10.5, D-1.9
test('after a refused token, a new one is minted once, and the call is repeated once', async () => {
  await start()
  const other = await harness.replica()
  const login = 'other@example.com'
  harness.pam.control.setUserGroups(login, [])
  expect([await status(), (await other.get('/api/v1/pam/me', { login })).status]).toEqual([200, 200])
  harness.advance(LISTS_ARE_OLD_MS)
  harness.pam.control.expireTokens()
  expect(await status()).toBe(200)
  expect(minted()).toBe(2)

  // The other replica still has the old token. It gets the new one from the store, and does not
  // delete it.
  expect((await other.get('/api/v1/pam/me', { login })).status).toBe(200)
  expect(minted()).toBe(2)
  expect(harness.pam.control.counts().errors).toEqual({ authentication_error: 2 })
  expect(
    [...harness.store.entries.keys()].filter((key) => key.startsWith('gatehouse:pam-token')),
  ).toHaveLength(1)
})

// shows: P-5.2, P-8.3, D-1.5, V13.2.1
// sandbox shows: F-7.2, P-5.2
test('the token is refreshed in the background in its last fifth, at most 5 min, while the old one is used', async () => {
  await start({ sandbox: { tokenLifetimeSeconds: 1500 } })
  await status()
  harness.advance(1190_000)
  expect(await status()).toBe(200)
  expect(asked()).toBe(1)
  harness.advance(LISTS_ARE_OLD_MS - 885_000) // 16 s later: within the last 300 s
  harness.pam.control.setUserGroups('other@example.com', [])
  expect((await harness.broker.get('/api/v1/pam/me', { login: 'other@example.com' })).status).toBe(200)
  await until(() => minted() === 2)
  expect(await counted(harness.broker.metrics, 'pam_tokens_total')).toMatchObject({ refreshed: 1 })
})

// shows: D-1.6
test('jitter starts the refresh earlier, by up to a tenth', async () => {
  await start({ sandbox: { tokenLifetimeSeconds: 1500 }, random: () => 0.999 })
  await status()
  harness.advance(1160_000)
  expect(await status()).toBe(200)
  expect(asked()).toBe(1)
  harness.advance(15_000)
  harness.pam.control.setUserGroups('other@example.com', [])
  expect((await harness.broker.get('/api/v1/pam/me', { login: 'other@example.com' })).status).toBe(200)
  await until(() => minted() === 2)
})

// shows: F-7.14, D-1.7
test('no request fails while tokens cannot be issued and the current token is valid', async () => {
  await start({ sandbox: { tokenLifetimeSeconds: 1000 } })
  await status()
  harness.pam.faults.set({ kind: 'status', status: 503, path: '/v1/teams/example-team/service_token' })
  for (let elapsed = 0; elapsed < 990_000; elapsed += 45_000) {
    for (const login of [LOGIN, `user-${elapsed}@example.com`]) {
      harness.pam.control.setUserGroups(login, ['Everyone'])
      expect((await harness.broker.get('/api/v1/pam/me', { login })).status).toBe(200)
    }
    harness.advance(45_000)
  }
  await until(async () => (await counted(harness.broker.metrics, 'pam_tokens_total')).refresh_failed)
  expect(minted()).toBe(1)
  harness.pam.faults.clear()
  expect(await status()).toBe(200)
})

// shows: D-1.4
test.each([3_600_000, -3_600_000])(
  'with a clock that is wrong by %i ms, tokens are refreshed in time',
  async (skewMs) => {
    await start({ skewMs, sandbox: { tokenLifetimeSeconds: 1000 } })
    const honest = await harness.replica({ now: () => harness.pam.now() })
    for (let elapsed = 0; elapsed < 3_600_000; elapsed += 90_000) {
      expect([await status(), await status(honest)]).toEqual([200, 200])
      // a late response would set the clock back
      await until(() => isIdle([harness.broker, honest]))
      harness.advance(90_000)
    }
    expect(harness.pam.control.counts().errors).toEqual({}) // no expired token was used
    expect(minted()).toBeGreaterThanOrEqual(4)
    expect(minted()).toBeLessThanOrEqual(6)
  },
)

// shows: P-5.1, P-8.3, P-10.1, D-1.4
test('a token with an unreadable expiry is used for a while', async () => {
  await start()
  const tokens = { bearer_token: 'pamtok-short', expires_at: 'soon', team_name: 'example-team' }
  harness.pam.faults.set({
    kind: 'status',
    status: 200,
    path: '/v1/teams/example-team/service_token',
    body: tokens,
  })
  // the token is not one of the sandbox
  expect((await harness.broker.get('/api/v1/pam/me')).body.errorCode).toBe('pam_credentials')
  expect(harness.pam.requestLog.entries.map(({ headers }) => headers.authorization)).toContain(
    'Bearer pamtok-short',
  )
})

// shows: P-10.6, D-1.14
test('the expiry of the key is a gauge', async () => {
  await start({ keyExpiresAtMs: Date.parse('2026-11-10T00:00:00Z') })
  expect(await counted(harness.broker.metrics, 'pam_key_expiry_timestamp_seconds')).toEqual({
    '': 1794268800,
  })
})
