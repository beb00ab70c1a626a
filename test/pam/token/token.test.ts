import { afterEach, expect, test } from '@jest/globals'
import { storeUnavailable } from '../../../src/errors.ts'
import { until } from '../../support/until.ts'
import { counted, KEY, LOGIN, type PamBroker, STANDBY_KEY } from '../pam-broker.ts'
import { type Journey, type JourneyOptions, startJourney } from '../pam-journey.ts'

let journey: Journey
afterEach(() => journey.close())

async function start(options: JourneyOptions = {}) {
  journey = await startJourney(options)
  journey.pam.control.setUserGroups(LOGIN, ['Platform Admins'])
  return journey
}
const minted = () => journey.pam.control.counts().tokensMinted
const asked = () => journey.pam.control.counts().tokenRequests
const status = async (broker = journey.broker) => (await broker.get('/api/v1/pam/me')).status
/** Whether these brokers have taken in every token and page that was sent. */
async function nothingIsOnItsWay(brokers: PamBroker[]): Promise<boolean> {
  let taken = 0
  for (const broker of brokers) {
    taken += broker.logLines().filter(({ event }) => event === 'pam_token_minted').length
    taken += (await counted(broker.metrics, 'pam_pages_fetched_total')).me ?? 0
  }
  return taken === minted() + (journey.pam.control.counts().userPages[LOGIN] ?? 0)
}
/** Past what lists are served for, so that the next answer needs a call. */
const LISTS_ARE_OLD_MS = 901_000

test('a token for another team is refused, and not used', async () => {
  await start()
  journey.pam.control.setReportedTeam('other-team')
  const answer = await journey.broker.get('/api/v1/pam/me')
  expect([answer.status, answer.body.errorCode]).toEqual([502, 'pam_misconfigured'])
  expect(journey.pam.requestLog.entries.every(({ path }) => path.endsWith('/service_token'))).toBe(true)
  expect([...journey.store.entries.keys()].filter((key) => key.startsWith('gatehouse:pam-token'))).toEqual([])
})

test.each([
  { bearer_token: 'two words', team_name: 'example-team' },
  { bearer_token: 'line\nbreak', team_name: 'example-team' },
  { bearer_token: '', team_name: 'example-team' },
  { team_name: 'example-team' },
  ['not an object'],
  '<html></html>',
])('a token response without a valid token is pam_unexpected (%#)', async (body) => {
  await start()
  journey.pam.faults.set({ kind: 'status', status: 200, path: '/v1/teams/example-team/service_token', body })
  const answer = await journey.broker.get('/api/v1/pam/me')
  expect([answer.status, answer.body.errorCode]).toEqual([502, 'pam_unexpected'])
})

test('a refused key is paused for 60 s, then twice as long each time, up to 15 min', async () => {
  await start({ keys: () => [{ id: KEY.id, secret: 'wrong' }] })
  const askedAt: number[] = []
  for (let elapsedS = 0; elapsedS < 4000; elapsedS += 60) {
    const answer = await journey.broker.get('/api/v1/pam/me')
    expect([answer.status, answer.body.errorCode]).toEqual([502, 'pam_credentials'])
    if (asked() > askedAt.length) askedAt.push(elapsedS)
    journey.advance(60_000)
  }
  expect(askedAt.map((at, n) => at - (askedAt[n - 1] ?? 0))).toEqual([0, 60, 120, 240, 480, 900, 900, 900])
})

test('a changed key is tried at once; of two keys, the second is tried after the first', async () => {
  let keys = [{ id: KEY.id, secret: 'wrong' }]
  await start({ keys: () => keys })
  expect(await status()).toBe(502)
  keys = [{ id: KEY.id, secret: 'wrong' }, STANDBY_KEY]
  expect(await status()).toBe(200)
  expect(asked()).toBe(2) // the refused one was left alone
  expect(journey.broker.logLines().filter(({ event }) => event === 'pam_key_refused')).toHaveLength(1)
})

test('many concurrent requests for many users mint one token', async () => {
  await start()
  const people = Array.from({ length: 20 }, (_, n) => `person-${n}@example.com`)
  for (const login of people) journey.pam.control.setUserGroups(login, ['Everyone'])
  const answers = await Promise.all(people.map((login) => journey.broker.get('/api/v1/pam/me', { login })))
  expect(answers.map(({ status }) => status)).toEqual(people.map(() => 200))
  expect(minted()).toBe(1)
})

test('replicas that start together mint one token and share it through the store', async () => {
  await start()
  const replicas = [journey.broker, await journey.replica(), await journey.replica()]
  expect(await Promise.all(replicas.map((broker) => status(broker)))).toEqual([200, 200, 200])
  expect(minted()).toBe(1)
  expect(journey.pam.control.counts().userLists).toEqual({ [LOGIN]: 1 })
})

test('after a refused token, a new one is minted once, and the call is repeated once', async () => {
  await start()
  const other = await journey.replica()
  const login = 'other@example.com'
  journey.pam.control.setUserGroups(login, [])
  expect([await status(), (await other.get('/api/v1/pam/me', { login })).status]).toEqual([200, 200])
  journey.advance(LISTS_ARE_OLD_MS)
  journey.pam.control.expireTokens()
  expect(await status()).toBe(200)
  expect(minted()).toBe(2)

  // The other replica still holds the old token: it takes the new one from the store, and leaves it there.
  expect((await other.get('/api/v1/pam/me', { login })).status).toBe(200)
  expect(minted()).toBe(2)
  expect(journey.pam.control.counts().errors).toEqual({ authentication_error: 2 })
  expect(
    [...journey.store.entries.keys()].filter((key) => key.startsWith('gatehouse:pam-token')),
  ).toHaveLength(1)
})

test('many concurrent requests with a refused token mint one new token', async () => {
  await start()
  const people = Array.from({ length: 20 }, (_, n) => `person-${n}@example.com`)
  for (const login of people) journey.pam.control.setUserGroups(login, ['Everyone'])
  await status()
  journey.pam.control.expireTokens()
  const answers = await Promise.all(people.map((login) => journey.broker.get('/api/v1/pam/me', { login })))
  expect(answers.map(({ status }) => status)).toEqual(people.map(() => 200))
  expect(minted()).toBe(2)
})

test('a new token that is refused as well is not minted again for each call', async () => {
  await start()
  journey.pam.control.setAccess('gatehouse', 'none')
  for (let n = 0; n < 5; n++) expect(await status()).toBe(502)
  expect(minted()).toBe(2)
  journey.pam.control.setAccess('gatehouse', 'full')
  journey.advance(60_000)
  expect(await status()).toBe(200)
  expect(minted()).toBe(3)
})

test('the token is refreshed in the background in its last fifth, at most 5 min, while the old one is used', async () => {
  await start({ sandbox: { tokenLifetimeSeconds: 1500 } })
  await status()
  journey.advance(1190_000)
  expect(await status()).toBe(200)
  expect(asked()).toBe(1)
  journey.advance(LISTS_ARE_OLD_MS - 885_000) // 16 s on: within the last 300 s
  journey.pam.control.setUserGroups('other@example.com', [])
  expect((await journey.broker.get('/api/v1/pam/me', { login: 'other@example.com' })).status).toBe(200)
  await until(() => minted() === 2)
  expect(await counted(journey.broker.metrics, 'pam_tokens_total')).toMatchObject({ refreshed: 1 })
})

test('jitter starts the refresh earlier, by up to a tenth', async () => {
  await start({ sandbox: { tokenLifetimeSeconds: 1500 }, random: () => 0.999 })
  await status()
  journey.advance(1160_000)
  expect(await status()).toBe(200)
  expect(asked()).toBe(1)
  journey.advance(15_000)
  journey.pam.control.setUserGroups('other@example.com', [])
  expect((await journey.broker.get('/api/v1/pam/me', { login: 'other@example.com' })).status).toBe(200)
  await until(() => minted() === 2)
})

test('no request fails while tokens cannot be issued and the current token is valid', async () => {
  await start({ sandbox: { tokenLifetimeSeconds: 1000 } })
  await status()
  journey.pam.faults.set({ kind: 'status', status: 503, path: '/v1/teams/example-team/service_token' })
  for (let elapsed = 0; elapsed < 990_000; elapsed += 45_000) {
    for (const login of [LOGIN, `person-${elapsed}@example.com`]) {
      journey.pam.control.setUserGroups(login, ['Everyone'])
      expect((await journey.broker.get('/api/v1/pam/me', { login })).status).toBe(200)
    }
    journey.advance(45_000)
  }
  await until(async () => (await counted(journey.broker.metrics, 'pam_tokens_total')).refresh_failed)
  expect(minted()).toBe(1)
  journey.pam.faults.clear()
  expect(await status()).toBe(200)
})

test('after a failed refresh the old token is still used, even without the store', async () => {
  await start({ sandbox: { tokenLifetimeSeconds: 1000 } })
  journey.pam.control.setUserGroups('other@example.com', [])
  journey.store.lose(storeUnavailable())
  await status()
  journey.pam.faults.set({ kind: 'status', status: 503, path: '/v1/teams/example-team/service_token' })
  journey.advance(850_000)
  expect(await status()).toBe(200)
  await until(async () => (await counted(journey.broker.metrics, 'pam_tokens_total')).refresh_failed)
  expect((await journey.broker.get('/api/v1/pam/me', { login: 'other@example.com' })).status).toBe(200)
  expect(minted()).toBe(1)
})

test.each([3_600_000, -3_600_000])(
  'with a clock that is wrong by %i ms, tokens are refreshed in time',
  async (skewMs) => {
    await start({ skewMs, sandbox: { tokenLifetimeSeconds: 1000 } })
    const honest = await journey.replica({ now: () => journey.pam.now() })
    for (let elapsed = 0; elapsed < 3_600_000; elapsed += 40_000) {
      expect([await status(), await status(honest)]).toEqual([200, 200])
      await until(() => nothingIsOnItsWay([journey.broker, honest])) // a late answer would tell the time of before
      journey.advance(40_000)
    }
    expect(journey.pam.control.counts().errors).toEqual({}) // no token was used beyond its end
    expect(minted()).toBeGreaterThanOrEqual(4)
    expect(minted()).toBeLessThanOrEqual(6)
  },
)

test('a token with an unreadable expiry is used for a while', async () => {
  await start()
  const tokens = { bearer_token: 'pamtok-short', expires_at: 'soon', team_name: 'example-team' }
  journey.pam.faults.set({
    kind: 'status',
    status: 200,
    path: '/v1/teams/example-team/service_token',
    body: tokens,
  })
  expect((await journey.broker.get('/api/v1/pam/me')).body.errorCode).toBe('pam_credentials') // it is made up
  expect(journey.pam.requestLog.entries.at(-1)?.headers.authorization).toBe('Bearer pamtok-short')
})

test('without the store each process mints its own token; with it they share again', async () => {
  await start()
  const other = await journey.replica()
  journey.store.lose(storeUnavailable())
  expect([await status(), await status(other)]).toEqual([200, 200])
  expect([await status(), await status(other)]).toEqual([200, 200])
  expect(minted()).toBe(2)

  journey.store.find()
  journey.advance(LISTS_ARE_OLD_MS)
  expect([await status(), await status(other)]).toEqual([200, 200])
  expect(minted()).toBe(2)
})

test('the expiry of the key is a gauge, and a warning is logged two weeks before', async () => {
  await start({ keyExpiresAtMs: Date.parse('2026-11-10T00:00:00Z') })
  expect(await counted(journey.broker.metrics, 'pam_key_expiry_timestamp_seconds')).toEqual({
    '': 1794268800,
  })
  expect(journey.broker.logLines()).toContainEqual(
    expect.objectContaining({ level: 'warn', event: 'pam_key_expires_soon', count: 8 }),
  )
})

test('keys, values, logs and metrics contain no token, key, group or user name', async () => {
  await start()
  await journey.broker.get('/api/v1/pam/me')
  await journey.broker.get('/api/v1/pam/groups')
  journey.pam.control.failNext({ error: 'unknown_error', times: 3 })
  journey.advance(LISTS_ARE_OLD_MS)
  await journey.broker.get('/api/v1/pam/groups')
  await journey.broker.get('/api/v1/pam/me', { login: 'nobody@example.com' })

  const marks = [
    ...journey.pam.control.bearerTokens(),
    ...[KEY.id, KEY.secret, LOGIN, 'nobody@example.com', 'ada.lindqvist', 'example-team'],
    ...journey.pam.control.groups().flatMap(({ id, name }) => [id, name]),
  ]
  const raw = JSON.stringify([...journey.store.entries].map(([key, { content }]) => [key, content]))
  const seen = `${raw}${journey.broker.logText()}${await journey.broker.metrics.registry.metrics()}`
  expect(marks.filter((mark) => seen.includes(mark))).toEqual([])
  expect(raw).toContain('gatehouse:pam-token:')
  expect(raw).toContain('gatehouse:pam-groups:')
})
