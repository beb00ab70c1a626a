import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Browser, openBrowser } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { type Harness, PASSWORD, startHarness, TOMAS } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { startMonitor } from '../support/redis-monitor.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'

/** Two deployments share a Redis, and even SECRET_KEYS. Only REDIS_KEY_PREFIX differs. */

const ME = '/api/v1/sessions/me'
const credentials = { username: TOMAS, password: PASSWORD }

let harness: Harness
let other: Gatehouse
let monitor: Awaited<ReturnType<typeof startMonitor>>
const commands: string[] = []
beforeAll(async () => {
  harness = await startHarness({ env: { REDIS_KEY_PREFIX: 'portal:', STEP_UP: 'on' } })
  monitor = await startMonitor(harness.redis.client())
  monitor.on('monitor', (_time: string, args: string[]) => commands.push(args.join(' ')))
  other = await harness.replica({ REDIS_KEY_PREFIX: 'other:' })
})
afterAll(async () => {
  monitor.disconnect()
  await harness.stop()
})

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

test('every key begins with the prefix', async () => {
  const browser = await openSession()
  for (const path of ['/api/v1/sessions', '/api/v1/pam/me', '/api/v1/pam/groups'])
    expect([path, (await browser.get(path)).status]).toEqual([path, 200])
  expect((await browser.post('/api/v1/authn/recovery/password', RECOVERY)).status).toBe(200)
  const stepUp = `${harness.gatehouse.url}/signin/step-up?stateToken=${'a'.repeat(40)}`
  expect((await navigate(browser, stepUp)).status).toBe(303)
  expect((await browser.delete('/api/v1/sessions')).status).toBe(204)

  const all = await keys('*')
  expect(all.filter((key) => !/^(portal|other):/.test(key))).toEqual([])
  const kinds = ['imported', 'keys', 'known', 'limit', 'pam-groups', 'pam-token', 'sess', 'txn', 'user-sess']
  for (const kind of kinds)
    expect([kind, all.some((key) => key.startsWith(`portal:${kind}`))]).toEqual([kind, true])
  expect(commands.length).toBeGreaterThan(100)
  expect(commands.filter((command) => command.includes('gatehouse:'))).toEqual([])
})

const RECOVERY = { username: TOMAS, factorType: 'SMS' }

async function openSession(): Promise<Browser> {
  const browser = openBrowser(harness.gatehouse.url)
  await browser.get(ME)
  const started = await browser.post('/api/v1/authn', credentials)
  const path = new URL(verifyHref(started, 'token:software:totp')).pathname
  expect((await verify(browser, handleOf(started), path)).json.status).toBe('SUCCESS')
  return browser
}
