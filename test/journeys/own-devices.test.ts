import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Browser } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, WALTER } from '../support/harness.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'

/** Must give a code once for each device, if `rememberDevice` is set. */
const REMEMBERED = 'dev.device@example.test'
/** Must give a code on each new device. */
const BEA = 'bea.newdevice@example.test'

let aheadMs = 0
const now = () => Date.now() + aheadMs
let harness: Harness
let second: Gatehouse
beforeAll(async () => {
  harness = await startHarness({ now, sandboxNow: now })
  second = await harness.replica()
})
afterAll(() => harness.stop())
beforeEach(async () => {
  harness.sandbox.reset()
  await harness.redis.client().flushall()
})

interface Device {
  readonly id: string
  readonly label: string
  readonly createdAt: string
  readonly lastUsedAt: string
  readonly current: boolean
}

/** Signs in, with a code if one is required; returns whether it was. */
async function signIn(browser: Browser, login: string, query = ''): Promise<'code' | 'no code'> {
  const answer = await browser.post('/api/v1/authn', { username: login, password: PASSWORD })
  if (answer.json.status === 'SUCCESS') return 'no code'
  aheadMs += 30_000 // the next code
  const passCode = harness.sandbox.totpCode(login)
  const href = new URL(verifyHref(answer, 'token:software:totp')).pathname
  const verified = await browser.post(href + query, { stateToken: handleOf(answer), passCode })
  expect(verified.json.status).toBe('SUCCESS')
  return 'code'
}

const listOf = async (browser: Browser): Promise<readonly Device[]> =>
  (await browser.get('/api/v1/devices')).json.devices as Device[]
const idOf = async (browser: Browser) => (await listOf(browser)).find(({ current }) => current)?.id ?? 'none'
const cookieOf = async ({ jar, origin }: Browser) =>
  (await jar.getCookies(origin)).find(({ key }) => key === 'gatehouse-device')?.value
const cookieIdOf = async (browser: Browser) => (await cookieOf(browser))?.slice(0, 32)
const sentToken = () => {
  const sent = harness.upstreamCalls().findLast(({ path }) => path === '/api/v1/authn')
  return (sent?.body as { context?: { deviceToken?: string } } | undefined)?.context?.deviceToken
}

describe('without access', () => {
  test('without a session, listing and forgetting devices return 401', async () => {
    const browser = await harness.visit()
    for (const answer of [
      await browser.get('/api/v1/devices'),
      await browser.delete('/api/v1/devices'),
      await browser.delete('/api/v1/devices/some-id'),
    ]) {
      expect([answer.status, answer.json.errorCode]).toEqual([401, 'E0000005'])
    }
  })

  test('another user’s device and an unknown one return 404, and stay remembered', async () => {
    const [own, other] = [await harness.visit(), await harness.visit()]
    await signIn(own, BEA)
    await signIn(other, WALTER)
    for (const id of [await idOf(own), await cookieIdOf(own), 'unknown', '%2e%2e']) {
      const answer = await other.delete(`/api/v1/devices/${id}`)
      expect([answer.status, answer.json.errorCode]).toEqual([404, 'E0000007'])
    }
    expect(await listOf(own)).toHaveLength(1)
    expect(await signIn(own, BEA)).toBe('no code')
    expect(sentToken()).toBe(await cookieIdOf(own))
  })
})

describe('the list of devices', () => {
  test('has the user’s own devices, last used first, without the id in the cookie', async () => {
    const [one, two] = [await harness.visit(), await harness.visit()]
    await signIn(one, AMELIA)
    const [first] = await listOf(one)
    aheadMs += 1000
    await signIn(two, AMELIA)
    const answer = await two.get('/api/v1/devices')
    expect(answer.json.devices).toEqual([
      {
        id: expect.stringMatching(/^[\w-]{43}$/),
        label: 'Browser on an unknown system',
        createdAt: expect.any(String),
        lastUsedAt: expect.any(String),
        current: true,
      },
      { ...first, current: false },
    ])
    expect(answer.text).not.toContain(await cookieIdOf(one))
    expect(answer.text).not.toContain('TestBrowser')

    aheadMs += 1000
    await signIn(one, AMELIA)
    const [again] = await listOf(one)
    expect(again).toMatchObject({ id: first?.id, createdAt: first?.createdAt, current: true })
    expect(Date.parse(again?.lastUsedAt ?? '')).toBeGreaterThan(Date.parse(first?.lastUsedAt ?? ''))
  })

  test('on a shared browser shows each user one device, under different ids', async () => {
    const browser = await harness.visit()
    await signIn(browser, AMELIA)
    const ofAmelia = await listOf(browser)
    await signIn(browser, WALTER)
    const ofWalter = await listOf(browser)
    expect([ofAmelia.length, ofWalter.length]).toEqual([1, 1])
    expect(ofWalter[0]?.id).not.toBe(ofAmelia[0]?.id)
  })
})

describe('a forgotten device', () => {
  test('must give a code again and is then remembered under its new token; cookie and session stay', async () => {
    const browser = await harness.visit()
    await signIn(browser, REMEMBERED, '?rememberDevice=true')
    expect(await signIn(browser, REMEMBERED)).toBe('no code')
    const cookie = await cookieOf(browser)

    const forgotten = await browser.delete(`/api/v1/devices/${await idOf(browser)}`)
    expect([forgotten.status, forgotten.setCookies]).toEqual([204, []])
    expect(await listOf(browser)).toEqual([])
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(200)

    expect(await signIn(browser, REMEMBERED, '?rememberDevice=true')).toBe('code')
    const replaced = sentToken()
    expect(replaced).toMatch(/^[0-9a-f]{32}$/)
    expect(replaced).not.toBe(await cookieIdOf(browser))
    expect(await signIn(browser, REMEMBERED)).toBe('no code')
    expect(sentToken()).toBe(replaced)
    expect(await cookieOf(browser)).toBe(cookie)
    expect(await listOf(browser)).toHaveLength(1)
  })

  test('may be elsewhere: on every replica, its next sign-in must give a code', async () => {
    const [lost, own] = [await harness.visit(), await harness.visit()]
    await signIn(lost, BEA)
    await signIn(own, BEA)
    expect(await signIn(lost, BEA)).toBe('no code')
    const other = (await listOf(own)).find(({ current }) => !current)
    expect((await own.delete(`${second.url}/api/v1/devices/${other?.id}`)).status).toBe(204)
    expect(await signIn(lost, BEA)).toBe('code')
    expect(await signIn(own, BEA)).toBe('no code')
  })

  test('is forgotten also if a sign-in was under way, which is remembered only under the old token', async () => {
    const [device, own] = [await harness.visit(), await harness.visit()]
    await signIn(device, REMEMBERED)
    await signIn(own, REMEMBERED)
    const answer = await device.post('/api/v1/authn', { username: REMEMBERED, password: PASSWORD })
    await own.delete('/api/v1/devices')
    aheadMs += 30_000
    const passCode = harness.sandbox.totpCode(REMEMBERED)
    const href = new URL(verifyHref(answer, 'token:software:totp')).pathname
    await device.post(`${href}?rememberDevice=true`, { stateToken: handleOf(answer), passCode })
    expect(await signIn(device, REMEMBERED)).toBe('code')
  })

  test('is audited with the number of devices; forgetting all includes this one', async () => {
    const [one, two] = [await harness.visit(), await harness.visit()]
    await signIn(one, BEA)
    await signIn(two, BEA)
    expect((await two.delete('/api/v1/devices')).status).toBe(204)
    expect(await listOf(two)).toEqual([])
    expect([await signIn(one, BEA), await signIn(two, BEA)]).toEqual(['code', 'code'])
    const events = harness.gatehouse.logLines().filter(({ event }) => event === 'devices_forgotten')
    expect(events.at(-1)).toMatchObject({ count: 2, sessionId: expect.any(String) })
  })

  test('is challenged for its other users too, whose lists do not change', async () => {
    const browser = await harness.visit()
    await signIn(browser, BEA)
    await signIn(browser, REMEMBERED)
    await browser.delete('/api/v1/devices')
    expect(await signIn(browser, BEA)).toBe('code')
    expect(await listOf(browser)).toHaveLength(1)
  })
})

test('ending all other sessions forgets no device, as at Okta', async () => {
  const [one, two] = [await harness.visit(), await harness.visit()]
  await signIn(one, BEA)
  await signIn(two, BEA)
  await two.delete('/api/v1/sessions')
  expect(await listOf(two)).toHaveLength(2)
  expect(await signIn(one, BEA)).toBe('no code')
})
