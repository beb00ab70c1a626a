import { beforeEach, expect, test } from '@jest/globals'
import { type Browser, openBrowser } from '../support/browser.ts'
import { AMELIA, FROM_PROXY, PASSWORD, useHarness } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'

/**
 * What requests without a session leave in Redis, and for how long: anyone can send them, by the
 * million, with made-up names.
 */

const harness = useHarness({ env: { TRUST_PROXY: '127.0.0.1', STEP_UP: 'on' } })
beforeEach(() => harness.redis.client().flushall())

const DAY_S = 86_400
const MINUTE_S = 60

/** From a new address. */
let sequence = 0
function stranger(): Browser {
  sequence += 1
  return openBrowser(harness.gatehouse.url, {
    'x-forwarded-for': `198.18.${sequence >> 8}.${sequence & 255}`,
  })
}
const wrong = (username: string) => stranger().post('/api/v1/authn', { username, password: 'wrong' })

interface Stored {
  readonly key: string
  readonly bytes: number
  readonly seconds: number
}

async function stored(start = ''): Promise<Stored[]> {
  const redis = harness.redis.client()
  const keys = (await redis.keys(`gatehouse:${start}*`)).filter((key) => key !== 'gatehouse:keys')
  return Promise.all(
    keys.map(async (key) => ({
      key,
      bytes: Number(await redis.memory('USAGE', key)),
      seconds: Math.ceil((await redis.pttl(key)) / 1000),
    })),
  )
}

/** The memory that one request a second takes, once its oldest keys expire. */
const mbAtOnePerSecond = (all: readonly Stored[]) =>
  all.reduce((sum, { bytes, seconds }) => sum + bytes * seconds, 0) / 1_000_000

test.each<[string, mb: number, () => Promise<unknown>]>([
  ['a wrong password for a made-up name', 40, () => wrong('nobody@example.test')],
  ['a made-up activation token', 35, () => stranger().post('/api/v1/authn', { token: 'a'.repeat(20) })],
  [
    'a recovery for a made-up name',
    45,
    () =>
      stranger().post('/api/v1/authn/recovery/password', {
        username: 'nobody@example.test',
        factorType: 'SMS',
      }),
  ],
  [
    'an imported step-up token',
    0.4,
    () => navigate(stranger(), `${harness.gatehouse.url}/signin/step-up?stateToken=${'a'.repeat(40)}`),
  ],
])('%s is forgotten within a day; one a second takes at most %d MB of Redis', async (_, mb, send) => {
  await send()
  const all = await stored()
  expect(all.length).toBeGreaterThan(0)
  for (const { key, seconds } of all) {
    expect([key, seconds > 0]).toEqual([key, true])
    expect([key, seconds <= DAY_S]).toEqual([key, true])
  }
  expect(mbAtOnePerSecond(all)).toBeLessThan(mb)
})

test('an imported step-up token that is not used is forgotten within minutes, its index entry too', async () => {
  await navigate(stranger(), `${harness.gatehouse.url}/signin/step-up?stateToken=${'a'.repeat(40)}`)
  for (const { key, seconds } of await stored()) expect([key, seconds <= 6 * MINUTE_S]).toEqual([key, true])
})

test('failures in a row are counted for 30 days for a user who has signed in here, and for a day for other names', async () => {
  const lives = async () => (await stored('limit:{')).map(({ seconds }) => Math.round(seconds / DAY_S))
  await wrong(AMELIA)
  expect(Math.max(...(await lives()))).toBe(1)
  const browser = openBrowser(harness.gatehouse.url, FROM_PROXY)
  await browser.get('/api/v1/sessions/me')
  const signedIn = await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  expect(signedIn.json.status).toBe('SUCCESS')
  await wrong(AMELIA)
  expect(Math.max(...(await lives()))).toBe(30)
})
