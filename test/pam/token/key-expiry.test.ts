import { afterEach, expect, test } from '@jest/globals'
import { until } from '../../support/until.ts'
import { counted, KEY, LOGIN, type PamBroker, STANDBY_KEY } from '../pam-broker.ts'
import { type PamHarness, type PamHarnessOptions, startPamHarness } from '../pam-harness.ts'

let harness: PamHarness
afterEach(() => harness.close())

const KEYS = '/v1/teams/example-team/service_users/gatehouse/keys'
const EXPIRES_AT = '2026-11-10T00:00:00Z'
const CONFIGURED = Date.parse('2030-01-01T00:00:00Z')
const HOUR_MS = 3_600_000

async function start(options: PamHarnessOptions = {}) {
  harness = await startPamHarness({ keyCheckMs: 10, ...options })
  harness.pam.control.setUserGroups(LOGIN, ['Everyone'])
  harness.pam.control.expireKey(KEY.id, EXPIRES_AT)
  harness.broker.watchKey()
}
const lookUp = () => harness.broker.get('/api/v1/pam/me')
const asked = (path = KEYS) => harness.pam.requestLog.entries.filter((call) => call.path === path).length
const gauge = async (name: string, { metrics }: PamBroker = harness.broker) =>
  (await counted(metrics, `pam_key_${name}_timestamp_seconds`))['']
const seconds = (time: string) => Date.parse(time) / 1000
const events = (name: string) => harness.broker.logLines().filter(({ event }) => event === name)

test('without a token PAM is not asked', async () => {
  await start({ keyExpiresAtMs: CONFIGURED, keyCheckMs: 1 })
  expect(await gauge('expiry')).toBe(CONFIGURED / 1000)
  await harness.broker.get('/api/v1/pam/me', { login: '' })
  expect(harness.pam.requestLog.entries).toEqual([])
})

test('it is read as soon as there is a token, not at the next check', async () => {
  await start({ keyCheckMs: 2 * HOUR_MS })
  await lookUp()
  await until(async () => (await gauge('expiry')) === seconds(EXPIRES_AT))
})

test('a check that starts when there is a token reads it at once', async () => {
  harness = await startPamHarness({ keyCheckMs: 2 * HOUR_MS })
  harness.pam.control.setUserGroups(LOGIN, ['Everyone'])
  await lookUp()
  expect(asked()).toBe(0)
  harness.broker.watchKey()
  await until(() => asked() === 1)
})

test("the key's own expiry and last use are read from PAM, and replace PAM_KEY_EXPIRES_AT", async () => {
  await start({ keyExpiresAtMs: CONFIGURED })
  await lookUp()
  await until(async () => (await gauge('expiry')) === seconds(EXPIRES_AT))
  expect(await gauge('last_used')).toBe(seconds('2026-11-02T08:00:00Z'))
  expect(events('pam_key_expires_soon')).toMatchObject([{ level: 'warn', count: 8 }])
})

test('the key is found on a later page, among all keys of the service user', async () => {
  await start({ keys: () => [STANDBY_KEY] })
  harness.pam.control.expireKey(STANDBY_KEY.id, EXPIRES_AT)
  harness.pam.control.expireKey(KEY.id, '2027-01-01T00:00:00Z')
  harness.pam.control.setPageSize(1)
  await lookUp()
  await until(async () => (await gauge('expiry')) === seconds(EXPIRES_AT))
  expect(asked()).toBeGreaterThan(1)
})

test('a key that does not expire has no time, whatever PAM_KEY_EXPIRES_AT says', async () => {
  await start({ keyExpiresAtMs: CONFIGURED, keys: () => [STANDBY_KEY] })
  await lookUp()
  await until(async () => (await gauge('expiry')) === 0)
})

test('it is read again after an hour, and at once after the key has changed', async () => {
  let key = KEY
  await start({ keys: () => [key] })
  await lookUp()
  await until(async () => (await gauge('expiry')) === seconds(EXPIRES_AT))
  harness.pam.control.expireKey(KEY.id, '2026-12-24T00:00:00Z')
  harness.advance(HOUR_MS - 1000)
  await lookUp()
  await until(() => harness.pam.control.counts().tokensMinted > 1)
  expect(asked()).toBe(1)
  harness.advance(1000)
  await until(async () => (await gauge('expiry')) === seconds('2026-12-24T00:00:00Z'))
  harness.pam.control.expireKey(STANDBY_KEY.id, '2027-06-01T00:00:00Z')
  key = STANDBY_KEY
  await until(async () => (await gauge('expiry')) === seconds('2027-06-01T00:00:00Z'))
})

test.each([
  ['forbidden_error', 'forbidden_error'],
  ['authorization_error', 'authorization_error'],
  ['resource_does_not_exist', 'unknown_team'],
  ['unknown_error', 'unknown_error'],
  ['gateway_timeout', 'gateway_timeout'],
] as const)('if PAM answers %s, PAM_KEY_EXPIRES_AT is used, and lookups continue', async (error, name) => {
  await start()
  const configured = await harness.replica({ keyExpiresAtMs: CONFIGURED })
  configured.watchKey()
  harness.pam.control.failNext({ error, path: KEYS, times: 'always' })
  await lookUp()
  await configured.get('/api/v1/pam/me')
  await until(() => events('pam_key_expiry_unknown').length === 1)
  expect(events('pam_key_expiry_unknown')).toMatchObject([{ level: 'warn', name }])
  expect(await gauge('expiry')).toBe(0)
  expect(await gauge('expiry', configured)).toBe(CONFIGURED / 1000)
  harness.advance(61_000)
  expect((await lookUp()).status).toBe(200)
  expect(harness.pam.control.counts().tokensMinted).toBe(1) // a refusal does not discard the token
  expect(await counted(harness.broker.metrics, 'pam_errors_total')).toEqual({})
  expect(events('pam_call_failed')).toEqual([])
})

test('after a failure the last known time stays, and PAM is asked again ten minutes later', async () => {
  await start({ keys: () => [KEY] })
  await lookUp()
  await until(async () => (await gauge('expiry')) === seconds(EXPIRES_AT))
  harness.pam.control.setTokenLifetime(86_400)
  harness.advance(HOUR_MS + 1000)
  harness.pam.control.failNext({ error: 'forbidden_error', path: KEYS, times: 1 })
  await lookUp()
  await until(() => asked() === 2)
  expect(await gauge('expiry')).toBe(seconds(EXPIRES_AT))
  harness.pam.control.expireKey(KEY.id, '2026-12-24T00:00:00Z')
  harness.advance(600_000)
  await until(async () => (await gauge('expiry')) === seconds('2026-12-24T00:00:00Z'))
})

test('a failure that stays the same is logged once', async () => {
  await start()
  harness.pam.control.setTokenLifetime(86_400)
  harness.pam.control.failNext({ error: 'forbidden_error', path: KEYS, times: 'always' })
  await lookUp()
  await until(() => events('pam_key_expiry_unknown').length === 1)
  for (const reads of [2, 3]) {
    harness.advance(600_000)
    await until(() => asked() === reads) // the failure before has been handled: otherwise this one would not be due
  }
  expect(events('pam_key_expiry_unknown')).toHaveLength(1)
})

test('after the key has changed, the time of the old one no longer counts, even if PAM refuses', async () => {
  let key = KEY
  await start({ keys: () => [key], keyExpiresAtMs: CONFIGURED })
  await lookUp()
  await until(async () => (await gauge('expiry')) === seconds(EXPIRES_AT))
  harness.pam.control.failNext({ error: 'forbidden_error', path: KEYS, times: 'always' })
  key = STANDBY_KEY
  await until(async () => (await gauge('expiry')) === CONFIGURED / 1000)
})

test.each([
  ['no name', '/v1/teams/example-team/current_user', { id: 'x' }],
  ['a name that has no UTF-8', '/v1/teams/example-team/current_user', { name: 'service-\ud800' }],
  ['a name that is a dot segment', '/v1/teams/example-team/current_user', { name: '..' }],
  ['no list', KEYS, {}],
  ['another key', KEYS, { list: [{ id: 'other', expires_at: null, last_used: null }] }],
  ['no time', KEYS, { list: [{ id: KEY.id }] }],
  ['a number', KEYS, { list: [{ id: KEY.id, expires_at: 5 }] }],
  ['not a time', KEYS, { list: [{ id: KEY.id, expires_at: 'soon' }] }],
])('a response without the key is no failure of lookups: %s', async (_, path, body) => {
  await start()
  harness.pam.faults.set({ kind: 'status', status: 200, path, body })
  await lookUp()
  await until(() => events('pam_key_expiry_unknown').length === 1)
  expect(events('pam_key_expiry_unknown')).toMatchObject([{ name: 'unreadable' }])
  expect((await lookUp()).status).toBe(200)
})
