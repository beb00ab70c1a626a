import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { useHarness } from '../support/harness.ts'

/**
 * What strangers cost others with the shipped limits: one address, one IPv6 /56 (a home line), and
 * a thousand addresses. The table of docs/security.md#a-strangers-budget has these numbers.
 */
const REQUESTS = 1200
const AT_ONCE = 40
const NAMES = Array.from({ length: 60 }, (_, n) => `victim-${n}@example.test`)

const two = (n: number) => (n & 255).toString(16).padStart(2, '0')
/**
 * The addresses of a stranger, and how many calls and messages a window of the limits allows them.
 */
const STRANGERS = [
  { who: 'one address', addressOf: () => '198.51.100.7', passwords: 100, recoveries: 30 },
  {
    who: 'one IPv6 /56',
    addressOf: (n: number) => `2001:db8:1:1${two(n)}::${(n >> 8) + 1}`,
    passwords: 300,
    recoveries: 90,
  },
  {
    who: '1,000 addresses',
    addressOf: (n: number) => `198.18.${(n % 1000) >> 8}.${n & 255}`,
    // eight for each name in ten minutes; five for each name in an hour
    passwords: 8 * NAMES.length,
    recoveries: 5 * NAMES.length,
  },
]

const harness = useHarness({ env: { TRUST_PROXY: '127.0.0.1' } })
beforeEach(() => harness.redis.client().flushall())

/** Sends the requests from new browsers, some at once. Resolves with the seconds that it took. */
async function attack(post: (n: number) => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  let next = 0
  const worker = async () => {
    while (next < REQUESTS) await post(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return (performance.now() - startedAt) / 1000
}

const sendFrom = (address: string, path: string, body: object) =>
  openBrowser(harness.gatehouse.url, { 'x-forwarded-for': address }).post(path, body)

const nameOf = (n: number) => NAMES[n % NAMES.length] ?? ''

/** Bytes of all keys of the limits. */
async function bytesInRedis(): Promise<number> {
  const client = harness.redis.client()
  const keys = await client.keys('*')
  const sizes = await Promise.all(keys.map((key) => client.memory('USAGE', key)))
  return sizes.reduce<number>((sum, size) => sum + Number(size), 0)
}

/** How many of the names a new browser at a new address cannot try any more. */
async function blockedNames(): Promise<number> {
  const answers = await Promise.all(
    NAMES.map((username, n) =>
      sendFrom(`203.0.113.${n + 1}`, '/api/v1/authn', { username, password: 'probe' }),
    ),
  )
  return answers.filter(({ status }) => status === 429).length
}

const measured: object[] = []
afterAll(() => {
  for (const row of measured) process.stdout.write(`${JSON.stringify(row)}\n`)
})

describe.each(STRANGERS)('$who', ({ who, addressOf, passwords, recoveries }) => {
  test('wrong passwords', async () => {
    const seconds = await attack((n) =>
      sendFrom(addressOf(n), '/api/v1/authn', { username: nameOf(n), password: `wrong-${n}` }),
    )
    const calls = harness.upstreamCalls().length
    const bytes = await bytesInRedis()
    const blocked = await blockedNames()
    measured.push({ who, what: 'wrong passwords', sent: REQUESTS, calls, bytes, blocked, seconds })
    const windows = 1 + Math.floor(seconds / 60) // of the limits of an address
    expect(calls).toBeGreaterThanOrEqual(passwords)
    expect(calls).toBeLessThanOrEqual(Math.min(passwords * windows, 8 * NAMES.length))
    expect(blocked).toBe(passwords === 8 * NAMES.length ? NAMES.length : 0)
    expect(bytes).toBeLessThan(4000 * REQUESTS)
  })

  test('recoveries', async () => {
    const seconds = await attack((n) =>
      sendFrom(addressOf(n), '/api/v1/authn/recovery/password', {
        username: nameOf(n),
        factorType: 'EMAIL',
      }),
    )
    const messages = harness.upstreamCalls().length
    const bytes = await bytesInRedis()
    measured.push({ who, what: 'recoveries', sent: REQUESTS, calls: messages, bytes, blocked: 0, seconds })
    const windows = 1 + Math.floor(seconds / 600)
    expect(messages).toBeGreaterThanOrEqual(recoveries)
    expect(messages).toBeLessThanOrEqual(recoveries * windows)
  })
})
