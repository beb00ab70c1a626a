import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { KEYS } from '../../src/store/keys.ts'
import { type Browser, openBrowser } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { delivery, orgEvent } from '../support/org-event.ts'
import { kindsOf } from '../support/redis-keys.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** Two deployments share a Redis, and even SECRET_KEYS. Only REDIS_KEY_PREFIX differs. */

const ME = '/api/v1/sessions/me'
const [APP_TOKEN, HOOK_SECRET] = ['plainly-fake-token-of-the-portal', 'plainly-fake-hook-secret']
const ENVIRONMENT = {
  REDIS_KEY_PREFIX: 'portal:',
  STEP_UP: 'on',
  SSO_REDIRECTS: 'http://localhost:3000/home',
  APP_TOKENS: `portal:${APP_TOKEN}`,
  EVENT_HOOK_SECRET: HOOK_SECRET,
  SESSION_RECHECK_MINUTES: '10',
}
const credentials = { username: TOMAS, password: PASSWORD }

let harness: Harness
let other: Gatehouse
let aheadMs = 0
beforeAll(async () => {
  harness = await startHarness({ env: ENVIRONMENT, now: () => Date.now() + aheadMs })
  other = await harness.replica({ REDIS_KEY_PREFIX: 'other:' })
})
afterAll(() => harness.stop())

const keys = (pattern: string) => harness.redis.client().keys(pattern)
async function onlyKey(pattern: string): Promise<string> {
  const found = await keys(pattern)
  expect(found).toHaveLength(1)
  return found[0] ?? ''
}
const move = (from: string, to: string) => harness.redis.client().rename(from, to)

const verify = (browser: Browser, handle: string, path: string) =>
  browser.post(path, { stateToken: handle, passCode: harness.sandbox.totpCode(TOMAS) })

test('a transaction does not exist under another prefix, and its record cannot be moved there', async () => {
  const browser = await harness.visit()
  const started = await browser.post('/api/v1/authn', credentials)
  const [handle, path] = [handleOf(started), new URL(verifyHref(started, 'token:software:totp')).pathname]
  const refused = { status: 401, json: expect.objectContaining({ errorCode: 'E0000011' }) }
  expect(await verify(browser, handle, other.url + path)).toMatchObject(refused)

  const key = await onlyKey('portal:txn:{*}')
  const moved = key.replace('portal:', 'other:')
  await move(key, moved)
  expect(await verify(browser, handle, other.url + path)).toMatchObject(refused)
  expect(other.logText()).toContain('unreadable_record')
  await move(moved, key)
  expect((await verify(browser, handle, path)).json.status).toBe('SUCCESS')
  await browser.delete(ME)
})

test('a session does not exist under another prefix, and its record cannot be moved there', async () => {
  const browser = await openSession()
  const same = await harness.replica({ REDIS_KEY_PREFIX: 'portal:' })
  expect((await browser.get(same.url + ME)).status).toBe(200)
  expect((await browser.get(other.url + ME)).status).toBe(404)

  const key = await onlyKey('portal:sess:*')
  const moved = key.replace('portal:', 'other:')
  await move(key, moved)
  expect((await browser.get(other.url + ME)).status).toBe(404)
  await move(moved, key)
  expect((await browser.get(ME)).status).toBe(200)
})

test('every key begins with the prefix, whatever happens', async () => {
  const acl = (...args: string[]) => harness.redis.client().call('ACL', ...args)
  await acl('SETUSER', 'default', 'resetkeys', '~portal:*', '~other:*')
  const browser = await openSession()
  for (const path of ['/api/v1/sessions', '/api/v1/pam/me', '/api/v1/pam/groups'])
    expect([path, (await browser.get(path)).status]).toEqual([path, 200])
  await pollPush()
  expect((await browser.post('/api/v1/authn/recovery/password', RECOVERY)).status).toBe(200)
  const stepUp = `${harness.gatehouse.url}/signin/step-up?stateToken=${'a'.repeat(40)}`
  expect((await navigate(browser, stepUp)).status).toBe(303)
  await lookUpAsApp()
  await endSessionsByEvent()
  aheadMs += 11 * 60_000 // the re-check is due
  expect((await browser.get('/forward-auth')).status).toBe(200)
  await until(async () => (await keys('portal:recheck:*')).length > 0)
  const found = (await keys('*')).map((key) => ({ key, kinds: kindsOf(key, 'portal:') }))
  const unknown = found.filter(({ key, kinds }) => kinds.length === 0 && !key.startsWith('other:'))
  expect(unknown).toEqual([])
  const patterns = found.flatMap(({ kinds }) => kinds)
  expect(LASTING.filter(({ pattern }) => !patterns.includes(pattern))).toEqual([])
  expect((await browser.delete('/api/v1/sessions')).status).toBe(204)
  expect(await acl('LOG')).toEqual([]) // no command with another key was tried
})

/** Those that live for more than seconds. */
const LASTING = [
  KEYS.orgEvent,
  KEYS.voidTime,
  KEYS.recheck,
  KEYS.session,
  KEYS.userSessions,
  KEYS.transaction,
  KEYS.transactionsOfUser,
  KEYS.revocationTime,
  KEYS.importedToken,
  KEYS.ssoToken,
  KEYS.limit,
  KEYS.knownDevice,
  KEYS.signedIn,
  KEYS.devicesOfUser,
  KEYS.recoverySent,
  KEYS.pamToken,
  KEYS.pamGroups,
  KEYS.keyRegistry,
]
const RECOVERY = { username: TOMAS, factorType: 'SMS' }

async function pollPush() {
  const browser = await harness.visit()
  const asked = await browser.post('/api/v1/authn', { username: PRIYA, password: PASSWORD })
  const { pathname } = new URL(verifyHref(asked, 'push'))
  const polled = await browser.post(pathname, { stateToken: handleOf(asked) })
  expect(polled.json.factorResult).toBe('WAITING')
}

/** With a token of APP_TOKENS, and with a wrong one, which another limit counts. */
async function lookUpAsApp() {
  const path = `${harness.gatehouse.url}/app/v1/pam/users/${encodeURIComponent(AMELIA)}`
  const ask = async (token: string) =>
    (await fetch(path, { headers: { authorization: `Bearer ${token}` } })).status
  expect([await ask(APP_TOKEN), await ask('wrong')]).toEqual([200, 401])
}

/** The session of a user with a password only; a delivery with a wrong secret is counted. */
async function endSessionsByEvent() {
  const browser = await harness.visit()
  await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  const { userId } = (await browser.get(ME)).json
  const body = JSON.stringify(delivery(orgEvent(String(userId))))
  const deliver = async (authorization: string) => {
    const headers = { 'content-type': 'application/json', authorization }
    return (await fetch(`${harness.gatehouse.url}/hooks/org-events`, { method: 'POST', headers, body }))
      .status
  }
  expect([await deliver(HOOK_SECRET), await deliver('wrong')]).toEqual([204, 401])
  await until(() => harness.gatehouse.logText().includes('sessions_revoked'))
  expect((await browser.get(ME)).status).toBe(404)
}

async function openSession(): Promise<Browser> {
  const browser = openBrowser(harness.gatehouse.url)
  await browser.get(ME)
  const started = await browser.post('/api/v1/authn', credentials)
  const path = new URL(verifyHref(started, 'token:software:totp')).pathname
  expect((await verify(browser, handleOf(started), path)).json.status).toBe('SUCCESS')
  return browser
}
