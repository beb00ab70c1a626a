import { beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser, type PageAnswer } from '../support/browser.ts'
import { AMELIA, FROM_PROXY, PASSWORD, TOMAS, useHarness } from '../support/harness.ts'
import { atMost, onlyLimits } from '../support/limits.ts'
import { errorOf } from '../support/transaction-view.ts'

/** A broker behind a trusted proxy. */
const harness = useHarness({
  tunables: onlyLimits({
    password: { perUser: atMost(2, 600), perKnownDevice: atMost(2) },
    call: { perAddress: atMost(3) },
  }),
  env: { TRUST_PROXY: '127.0.0.1' },
})
beforeEach(() => harness.redis.client().flushall())

const UNKNOWN = 'nobody.at.all@example.test'
const REFUSED = [401, 'E0000004']
const LIMITED = [429, 'E0000047']

/** Wrong passwords come from a new browser and, unless given, a new address. */
let sequence = 0
function newAddress(): string {
  sequence += 1
  return `198.18.${sequence >> 8}.${sequence & 255}`
}
function wrong(login: string, address = newAddress()) {
  const browser = openBrowser(harness.gatehouse.url, { 'x-forwarded-for': address })
  return browser.post('/api/v1/authn', { username: login, password: `wrong-${++sequence}` })
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

describe('wrong passwords', () => {
  // shows: V6.3.1
  test('are limited per user, over all browsers and addresses; beyond the limit nothing is sent upstream', async () => {
    expect(refusals(await inTurn(2, () => wrong(AMELIA)))).toEqual([REFUSED, REFUSED])
    harness.clearUpstreamCalls()
    expect(errorOf(await wrong(AMELIA))).toEqual(LIMITED)
    expect(errorOf(await right(openBrowser(harness.gatehouse.url, FROM_PROXY)))).toEqual(LIMITED)
    expect(harness.upstreamCalls()).toEqual([])
    expect(errorOf(await wrong(TOMAS))).toEqual(REFUSED)
  })

  test('get the same response for known, unknown and locked users, headers included', async () => {
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
  // shows: V6.3.1
  test('signs in while unknown devices have exhausted all limits', async () => {
    const known = await knownBrowser()
    const guesses = await inTurn(4, () => wrong(AMELIA, '203.0.113.5'))
    expect(refusals(guesses)).toEqual([REFUSED, REFUSED, LIMITED, LIMITED])
    const headers = { 'x-forwarded-for': '203.0.113.5' }
    const credentials = { username: AMELIA, password: PASSWORD }
    expect((await known.post('/api/v1/authn', credentials, { headers })).json.status).toBe('SUCCESS')
    expect(errorOf(await right(openBrowser(harness.gatehouse.url, FROM_PROXY)))).toEqual(LIMITED)
  })
})

test('keys contain no login and no address, are small, and all of them expire', async () => {
  await wrong(AMELIA, '203.0.113.5')
  const client = harness.redis.client()
  const keys = await client.keys('gatehouse:limit:{*')
  expect(keys).toHaveLength(4) // two of the user, two of the address (a day, consecutive failures)
  for (const key of keys) {
    expect(Number(await client.memory('USAGE', key))).toBeLessThan(1024)
    expect(key).toMatch(/^gatehouse:limit:\{[\w-]{43}\}(:in_a_row)?$/)
    expect(await client.pttl(key)).toBeGreaterThan(0)
    for (const [name, window] of Object.entries(await client.hgetall(key))) {
      expect(name).toMatch(/^(?:password|call)(:[a-z_]+)(:[\w-]{20})?:(burst|sustained|inARow)$/)
      // count, end of the window, id of the attempt that began it
      expect(window).toMatch(/^1 \d{13} [0-9a-f]{8}$/)
    }
  }
})
