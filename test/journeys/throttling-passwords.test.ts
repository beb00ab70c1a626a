import { afterEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import {
  AMELIA,
  FROM_PROXY,
  type Harness,
  type HarnessOptions,
  PASSWORD,
  startHarness,
  TOMAS,
} from '../support/harness.ts'
import { atMost, onlyLimits, type SomeLimits } from '../support/limits.ts'
import { errorOf } from '../support/transaction-view.ts'

let harness: Harness
afterEach(() => harness.stop())

/** A broker behind a trusted proxy that has only these limits. */
async function limitedTo(limits: SomeLimits, options: HarnessOptions = {}): Promise<void> {
  const { env, ...rest } = options
  harness = await startHarness({
    tunables: onlyLimits(limits),
    env: { TRUST_PROXY: '127.0.0.1', ...env },
    ...rest,
  })
}

const UNKNOWN = 'nobody.at.all@example.test'
const REFUSED = [401, 'E0000004']
const LIMITED = [429, 'E0000047']

/** Wrong passwords come from a new browser and, unless given, a new address. */
let sequence = 0
function newAddress(): string {
  sequence += 1
  return `198.18.${sequence >> 8}.${sequence & 255}`
}
async function wrong(login: string, browser?: Browser, address = newAddress()) {
  return (browser ?? openBrowser(harness.gatehouse.url, FROM_PROXY)).post(
    '/api/v1/authn',
    { username: login, password: `wrong-${++sequence}` },
    { headers: { 'x-forwarded-for': address } },
  )
}

const right = (browser: Browser, login = AMELIA) =>
  browser.post('/api/v1/authn', { username: login, password: PASSWORD })

/** A known device of this user, who needs no factor. */
async function knownBrowser(login = AMELIA): Promise<Browser> {
  const browser = await harness.visit()
  expect((await right(browser, login)).json.status).toBe('SUCCESS')
  return browser
}

async function inTurn<Answer>(times: number, ask: () => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let n = 0; n < times; n++) answers.push(await ask())
  return answers
}

const refusals = (answers: PageAnswer[]) => answers.map(errorOf)
const repeated = <Item>(item: Item, times: number): Item[] => Array.from({ length: times }, () => item)

describe('wrong passwords', () => {
  test('are limited per user, over all browsers and addresses; beyond the limit nothing is sent upstream', async () => {
    await limitedTo({ password: { perUser: atMost(3, 600) } })
    expect(refusals(await inTurn(3, () => wrong(AMELIA)))).toEqual(repeated(REFUSED, 3))
    harness.clearUpstreamCalls()
    const refused = await wrong(AMELIA)
    expect(errorOf(refused)).toEqual(LIMITED)
    expect(refused.headers.get('x-rate-limit-limit')).toBe('3')
    expect(refused.headers.get('x-rate-limit-remaining')).toBe('0')
    const waitS = Number(refused.headers.get('retry-after'))
    expect(waitS).toBeGreaterThan(0)
    expect(waitS).toBeLessThanOrEqual(600)
    const resetS = Number(refused.headers.get('x-rate-limit-reset'))
    expect(resetS).toBeGreaterThan(Date.now() / 1000)
    expect(resetS).toBeLessThanOrEqual(Date.now() / 1000 + 601)
    expect(errorOf(await right(openBrowser(harness.gatehouse.url, FROM_PROXY)))).toEqual(LIMITED)
    expect(harness.upstreamCalls()).toEqual([])
    expect(errorOf(await wrong(TOMAS))).toEqual(REFUSED)
  })

  test('get the same response for known, unknown and locked users, headers included', async () => {
    await limitedTo({ password: { perUser: atMost(2) } })
    const responses: string[] = []
    for (const login of [AMELIA, UNKNOWN, 'lena.locked@example.test', 'liv.lockable@example.test']) {
      const answers = await inTurn(4, () => wrong(login))
      responses.push(JSON.stringify(answers.map(anonymous)))
    }
    expect(new Set(responses).size).toBe(1)
    expect(responses[0]).toContain('E0000047')
  })

  /** Without the values that differ in each response. */
  function anonymous({ status, headers, json }: PageAnswer) {
    const { errorId: _new, ...body } = json
    const changing = ['set-cookie', 'date', 'x-request-id', 'x-rate-limit-reset', 'retry-after']
    const upstreamHeaders = ['x-rate-limit-remaining'] // Okta counts by address
    const headerLines = [...headers].filter(([name]) => ![...changing, ...upstreamHeaders].includes(name))
    return { status, names: [...headers.keys()].filter((name) => name !== 'set-cookie'), headerLines, body }
  }
})

describe('a known device', () => {
  test('signs in while unknown devices have exhausted all limits', async () => {
    await limitedTo({
      password: { perUser: atMost(2), perKnownDevice: atMost(2) },
      call: { perAddress: atMost(3) },
    })
    const known = await knownBrowser()
    const guesses = await inTurn(4, () => wrong(AMELIA, undefined, '203.0.113.5'))
    expect(refusals(guesses)).toEqual([REFUSED, REFUSED, LIMITED, LIMITED])
    const headers = { 'x-forwarded-for': '203.0.113.5' }
    const credentials = { username: AMELIA, password: PASSWORD }
    expect((await known.post('/api/v1/authn', credentials, { headers })).json.status).toBe('SUCCESS')
    expect(errorOf(await right(openBrowser(harness.gatehouse.url, FROM_PROXY)))).toEqual(LIMITED)
  })

  test('is known for that user only, under every spelling; an incomplete sign-in makes no device known', async () => {
    await limitedTo({ password: { perUser: atMost(1) } })
    const browser = await knownBrowser('amelia.stone')
    expect((await right(browser, TOMAS)).json.status).toBe('MFA_REQUIRED')
    for (const login of [AMELIA, TOMAS]) await wrong(login)
    expect((await right(browser, AMELIA)).json.status).toBe('SUCCESS')
    expect((await right(browser, 'amelia.stone')).json.status).toBe('SUCCESS')
    expect(errorOf(await right(browser, TOMAS))).toEqual(LIMITED)
  })
})

describe('keys, audit and outages', () => {
  test('keys contain no login and no address, are small, and all of them expire', async () => {
    await limitedTo({ password: { perUser: atMost(2) } })
    await wrong(AMELIA, undefined, '203.0.113.5')
    const client = harness.redis.client()
    const keys = await client.keys('gatehouse:limit:{*')
    expect(keys).toHaveLength(3) // two of the user (a day, consecutive failures), one of the address
    for (const key of keys) {
      expect(Number(await client.memory('USAGE', key))).toBeLessThan(1024)
      expect(key).toMatch(/^gatehouse:limit:\{[\w-]{43}\}(:in_a_row)?$/)
      expect(await client.pttl(key)).toBeGreaterThan(0)
      for (const [name, window] of Object.entries(await client.hgetall(key))) {
        expect(name).toMatch(/^(?:password|call)(:[a-z_]+)(:[\w-]{20})?:(burst|sustained|inARow)$/)
        expect(window).toMatch(/^1 \d{13} [0-9a-f]{8}$/) // count, end of the window, id of the attempt that began it
      }
    }
  })
})
