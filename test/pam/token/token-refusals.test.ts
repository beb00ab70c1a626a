import { afterEach, expect, test } from '@jest/globals'
import { storeUnavailable } from '../../../src/errors.ts'
import type { PamErrorName } from '../../../src/pam/upstream/pam-errors.ts'
import { until } from '../../support/until.ts'
import { LOGIN } from '../pam-broker.ts'
import { type PamHarness, startPamHarness } from '../pam-harness.ts'

/** PAM refuses every lookup for this user, with any token. */
const REFUSED = 'refused@example.com'

let harness: PamHarness
afterEach(() => harness.close())

async function start(error: PamErrorName = 'authorization_error') {
  harness = await startPamHarness()
  for (const login of [LOGIN, 'other@example.com', REFUSED]) harness.pam.control.setUserGroups(login, [])
  harness.pam.control.failNext({ error, path: listOf(REFUSED), times: 'always' })
}
const listOf = (login: string) => `/v1/teams/example-team/users/${encodeURIComponent(login)}/groups`
const lookUp = async (login: string, broker = harness.broker) => {
  const { status, body } = await broker.get('/api/v1/pam/me', { login })
  return status === 200 ? 200 : `${status} ${body.errorCode}`
}
const minted = () => harness.pam.control.counts().tokensMinted
/** The tokens that were sent for this user, in order. */
const sentFor = (login: string) =>
  harness.pam.requestLog.entries
    .filter(({ path }) => path === listOf(login))
    .map(({ headers }) => headers.authorization)

test('a refused lookup does not stop other users from renewing the token', async () => {
  await start()
  expect(await lookUp(REFUSED)).toBe('502 pam_not_permitted')
  expect(await lookUp(LOGIN)).toBe(200)
  harness.pam.control.expireTokens()
  expect(await lookUp('other@example.com')).toBe(200)
  expect(await lookUp(REFUSED)).toBe('502 pam_not_permitted')
})

test.each(['authorization_error', 'authentication_error', 'server_authorization_revoked'] as const)(
  'a token that was refused with %s is never sent again',
  async (error) => {
    await start(error)
    await lookUp(REFUSED)
    const other = await harness.replica()
    expect([await lookUp(LOGIN), await lookUp('other@example.com', other)]).toEqual([200, 200])
    const refused = sentFor(REFUSED)
    expect(refused).toHaveLength(error === 'server_authorization_revoked' ? 1 : 2)
    expect(refused).not.toContain(sentFor(LOGIN)[0])
    expect(refused).not.toContain(sentFor('other@example.com')[0])
  },
)

test('any other 401 discards the token too', async () => {
  await start()
  harness.pam.control.clearFailures()
  expect(await lookUp(LOGIN)).toBe(200)
  const answer = { error: 'invalid_request' }
  harness.pam.faults.set({ kind: 'status', status: 401, path: listOf(REFUSED), body: answer, times: 1 })
  expect(await lookUp(REFUSED)).toBe('502 pam_bad_request')
  expect(await lookUp('other@example.com')).toBe(200)
  expect(sentFor('other@example.com')).not.toEqual(sentFor(REFUSED))
})

test('only the token that was sent is discarded: a newer one stays', async () => {
  await start()
  const other = await harness.replica()
  expect([await lookUp(LOGIN), await lookUp('other@example.com', other)]).toEqual([200, 200])
  harness.advance(901_000)
  harness.pam.control.expireTokens()
  expect(await lookUp(LOGIN)).toBe(200)
  expect(await lookUp('other@example.com', other)).toBe(200) // this replica sends the old token first
  harness.advance(901_000)
  expect(await lookUp(LOGIN)).toBe(200)
  expect(minted()).toBe(2)
})

test('a late refusal of an old token does not discard the new one, even without the store', async () => {
  await start()
  harness.store.disconnect(storeUnavailable())
  expect(await lookUp(LOGIN)).toBe(200)
  harness.advance(901_000)
  harness.pam.control.expireTokens()
  const release = harness.pam.faults.hold({ times: 1 })
  const late = lookUp('other@example.com')
  await until(() => sentFor('other@example.com').length === 1)
  expect(await lookUp(LOGIN)).toBe(200)
  release()
  expect(await late).toBe(200)
  expect(minted()).toBe(2)
})

test('for a refused lookup, a token is minted once in 60 s over all replicas', async () => {
  await start()
  await lookUp(LOGIN) // mints a token
  const other = await harness.replica()
  for (let elapsedS = 0; elapsedS < 60; elapsedS += 3) {
    for (const broker of [harness.broker, other])
      expect(await lookUp(REFUSED, broker)).toBe('502 pam_not_permitted')
    harness.advance(3000)
  }
  expect(minted()).toBe(2)
  harness.advance(60_000)
  expect(await lookUp(REFUSED, other)).toBe('502 pam_not_permitted')
  expect(minted()).toBeGreaterThan(2)
})

test('while minting is limited for a lookup, it is still sent with a token that was minted for another one', async () => {
  await start()
  expect(await lookUp(REFUSED)).toBe('502 pam_not_permitted')
  harness.pam.control.clearFailures()
  expect(await lookUp(LOGIN)).toBe(200)
  expect(await lookUp(REFUSED)).toBe(200)
})

test('fast polling of a refused lookup does not force a new token for each other user', async () => {
  await start()
  const replicas = [harness.broker, await harness.replica()]
  const SECONDS = 30
  for (let elapsedS = 0; elapsedS < SECONDS; elapsedS++) {
    for (const broker of replicas) {
      expect(await lookUp(REFUSED, broker)).toBe('502 pam_not_permitted')
      const login = `user-${minted()}-${harness.pam.requestLog.entries.length}@example.com`
      harness.pam.control.setUserGroups(login, [])
      expect(await lookUp(login, broker)).toBe(200)
    }
    harness.advance(1000)
  }
  // Two at first, one for each time that the lookup was sent with another lookup's token, and the current one.
  expect(minted()).toBeLessThanOrEqual(2 + SECONDS / 10 + 1)
})

test('after a success, a refused lookup has no limit on any replica', async () => {
  await start()
  const other = await harness.replica()
  for (let n = 0; n < 2; n++) expect(await lookUp(REFUSED)).toBe('502 pam_not_permitted')
  harness.pam.control.clearFailures()
  expect(await lookUp(LOGIN, other)).toBe(200)
  for (let n = 0; n < 5; n++) {
    for (const broker of [other, harness.broker]) {
      const { status } = await broker.get('/api/v1/pam/me?maxAge=0', { login: REFUSED })
      expect(status).toBe(200)
    }
    harness.advance(8000)
  }
})

test('a success ends the minting limit of a lookup, so that other lookups cannot exhaust it', async () => {
  await start()
  harness.pam.control.clearFailures()
  expect(await lookUp(LOGIN)).toBe(200)
  harness.advance(901_000)
  harness.pam.control.expireTokens()
  expect(await lookUp(LOGIN)).toBe(200) // this mints a token
  harness.pam.control.failNext({ error: 'authorization_error', path: listOf(REFUSED), times: 'always' })
  expect(await lookUp(REFUSED)).toBe('502 pam_not_permitted') // now there is no token
  harness.pam.control.setUserGroups(LOGIN, ['Security'])
  harness.store.entries.forEach((_, key) => {
    if (key.startsWith('gatehouse:pam-groups')) harness.store.entries.delete(key)
  })
  expect(await lookUp(LOGIN, await harness.replica())).toBe(200)
})

test('a failed attempt to mint a token does not count', async () => {
  await start()
  harness.pam.control.clearFailures()
  expect(await lookUp(LOGIN)).toBe(200)
  harness.advance(901_000)
  harness.pam.control.expireTokens()
  const issuing = '/v1/teams/example-team/service_token'
  harness.pam.faults.set({ kind: 'status', status: 500, path: issuing })
  expect(await lookUp(LOGIN)).toBe('502 pam_unavailable')
  harness.pam.faults.clear()
  expect(await lookUp(LOGIN)).toBe(200)
})

test('without the store, the limit applies in each process', async () => {
  await start()
  harness.store.disconnect(storeUnavailable())
  for (let n = 0; n < 10; n++) expect(await lookUp(REFUSED)).toBe('502 pam_not_permitted')
  expect(minted()).toBe(2)
  expect(await lookUp(LOGIN)).toBe(200)
})

test('a token that PAM refused once and issues again is used again, and not minted for each call', async () => {
  await start()
  let mints = 0
  let isRefused = true
  const api = await harness.stub((req, res) => {
    res.setHeader('Date', new Date(harness.pam.now()).toUTCString())
    res.setHeader('Content-Type', 'application/json')
    if (req.method === 'POST') {
      mints += 1
      const expires_at = new Date(harness.pam.now() + 86_400_000).toISOString()
      res.end(JSON.stringify({ bearer_token: 'the-same-token', expires_at, team_name: 'example-team' }))
    } else {
      res.statusCode = isRefused ? 401 : 200
      isRefused = false
      res.end('{"status":"ACTIVE","list":[]}')
    }
  })
  const broker = await harness.replica({ baseUrl: api.origin })
  for (let n = 0; n < 5; n++) expect(await lookUp(`user-${n}@example.com`, broker)).toBe(200)
  expect(mints).toBe(2)
})
