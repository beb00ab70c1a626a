import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, WALTER } from '../support/harness.ts'

/** A session belongs to the device that opened it (docs/security.md#sessions). */

const ME = '/api/v1/sessions/me'
const HOUR_MS = 3_600_000

let aheadMs = 0
let harness: Harness
let replica: Gatehouse
beforeAll(async () => {
  harness = await startHarness({
    now: () => Date.now() + aheadMs,
    tunables: (shipped) => ({ ...shipped, device: { ...shipped.device, renewAfterHours: 1 } }),
  })
  replica = await harness.replica()
})
afterAll(() => harness.stop())
beforeEach(() => {
  aheadMs = 0
  harness.sandbox.reset()
})

async function openSession(login = AMELIA): Promise<Browser> {
  const browser = await harness.visit()
  await browser.post('/api/v1/authn', { username: login, password: PASSWORD })
  return browser
}

async function cookieOf(browser: Browser, name: 'gatehouse' | 'gatehouse-device'): Promise<string> {
  const cookies = await browser.jar.getCookies(harness.gatehouse.url)
  return cookies.find(({ key }) => key === name)?.cookieString() ?? ''
}

/** The session cookie together with another device cookie, or without one. */
const DEVICES: readonly [string, (session: string) => Promise<string>][] = [
  [
    'with the cookie of another device',
    async (session) => `${session}; ${await cookieOf(await harness.visit(), 'gatehouse-device')}`,
  ],
  ['without a device cookie', async (session) => session],
  ['with a forged device cookie', async (session) => `${session}; gatehouse-device=${'0'.repeat(32)}.t.x`],
]

const mismatches = () =>
  [...harness.gatehouse.logLines(), ...replica.logLines()].filter(
    ({ event }) => event === 'session_device_mismatch',
  )

describe.each(DEVICES)('a session cookie %s', (_name, withDevice) => {
  const ask = async (cookie: string, method: 'get' | 'post' | 'delete', path: string) => {
    const browser = openBrowser(replica.url)
    const options = { headers: { cookie } }
    return method === 'post' ? browser.post(path, undefined, options) : browser[method](path, options)
  }

  test('is no session on any route, and the session does not change', async () => {
    const owner = await openSession()
    const before = (await owner.get(ME)).json
    const cookie = await withDevice(await cookieOf(owner, 'gatehouse'))
    for (const [method, path, status] of [
      ['get', ME, 404],
      ['delete', ME, 404],
      ['post', `${ME}/lifecycle/refresh`, 404],
      ['get', '/api/v1/users/me', 401],
      ['get', '/api/v1/sessions', 401],
      ['delete', '/api/v1/sessions', 401],
      ['delete', `/api/v1/sessions/${before.id}`, 401],
      ['get', '/api/v1/devices', 401],
      ['delete', '/api/v1/devices', 401],
      ['get', '/api/v1/pam/me', 401],
      ['get', '/api/v1/pam/groups', 401],
      ['get', '/forward-auth', 401],
    ] as const) {
      expect([path, (await ask(cookie, method, path)).status]).toEqual([path, status])
    }
    expect((await owner.get(ME)).json).toEqual(before)
  })

  test('does not end the session at a sign-in, nor block another user’s sign-in', async () => {
    const owner = await openSession()
    const cookie = await withDevice(await cookieOf(owner, 'gatehouse'))
    const otherBrowser = openBrowser(replica.url)
    const credentials = { username: WALTER, password: PASSWORD }
    const answer = await otherBrowser.post('/api/v1/authn', credentials, { headers: { cookie } })
    expect(answer.json.status).toBe('SUCCESS')
    expect((await owner.get(ME)).status).toBe(200)
  })

  test('is audited once a minute per session and device', async () => {
    const owner = await openSession()
    const { id, userId } = (await owner.get(ME)).json
    const cookie = await withDevice(await cookieOf(owner, 'gatehouse'))
    const before = mismatches().length
    for (let n = 0; n < 20; n++) await ask(cookie, 'get', ME)
    const logged = mismatches().slice(before)
    expect(logged).toEqual([expect.objectContaining({ audit: true, sessionId: id, userId })])
    expect(logged[0]?.deviceHash === undefined).toBe(
      !cookie.includes('gatehouse-device=') || cookie.endsWith('.x'),
    )
    expect(await replica.metrics()).toMatch(/requests_refused_total\{reason="session_device_mismatch"\} \d/)
    aheadMs = 61_000
    await ask(cookie, 'get', ME)
    expect(mismatches()).toHaveLength(before + 2)
  })
})

test('a renewed device cookie is the same device', async () => {
  const browser = await openSession()
  const first = await cookieOf(browser, 'gatehouse-device')
  for (let hours = 0; hours < 2; hours += 0.25) {
    aheadMs = hours * HOUR_MS
    expect((await browser.post(`${ME}/lifecycle/refresh`)).status).toBe(200)
    expect((await browser.get(ME)).status).toBe(200)
  }
  const renewed = await cookieOf(browser, 'gatehouse-device')
  expect(renewed).not.toBe(first)
  expect(renewed.split('.')[0]).toBe(first.split('.')[0])
})
