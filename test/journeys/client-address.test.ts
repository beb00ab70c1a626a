import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Answer, askPort } from '../http/serve.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { until } from '../support/until.ts'

/**
 * The org, the limits and the log get one and the same client address, whatever the client sends in X-Forwarded-For:
 * without a proxy, behind one, and behind two. The test takes the place of the inner proxy and sends what the proxies
 * would send.
 */

const ATTEMPTS = 2
let harness: Harness
beforeAll(async () => {
  harness = await startHarness({
    env: { STEP_UP: 'on' },
    tunables: (tunables) => ({
      ...tunables,
      limits: { ...tunables.limits, stepUpPerAddress: { attempts: ATTEMPTS, perSeconds: 3600 } },
    }),
  })
})
afterAll(() => harness.stop())

const LOOPBACK = '127.0.0.1'
const ONE_PROXY = LOOPBACK
const TWO_PROXIES = `${LOOPBACK},10.1.0.0/16`

/** Values by which a client might pose as another client or as a proxy. */
const FORGERIES = ['198.51.100.66', '10.1.0.9, 127.0.0.1', 'unknown']

interface Network {
  readonly trust: string | undefined
  /** The X-Forwarded-For headers that reach the broker if the client itself sent `forged`. */
  readonly arrives: (forged: string, client: string) => string
  readonly client: string
  /** Another client in the same network; undefined if the address is always the socket's. */
  readonly other?: string
  /** The normalized form of the client's address, if it differs from `client`. */
  readonly known?: string
}

const NETWORKS: Readonly<Record<string, Network>> = {
  'no proxy': { trust: undefined, arrives: (forged) => forged, client: LOOPBACK },
  'a request that bypasses the proxy': {
    trust: '10.1.0.0/16',
    arrives: (forged, client) => `${forged}, ${client}, 10.1.0.5`,
    client: '203.0.113.1',
    known: LOOPBACK,
  },
  'one proxy': {
    trust: ONE_PROXY,
    arrives: (forged, client) => `${forged}, ${client}`,
    client: '203.0.113.11',
    other: '203.0.113.12',
  },
  'two proxies': {
    trust: TWO_PROXIES,
    arrives: (forged, client) => `${forged}, ${client}, 10.1.0.5`,
    client: '203.0.113.21',
    other: '203.0.113.22',
  },
}

const brokers = new Map<string | undefined, Promise<Gatehouse>>()
function brokerTrusting(trust: string | undefined): Promise<Gatehouse> {
  if (trust === undefined) return Promise.resolve(harness.gatehouse)
  const broker = brokers.get(trust) ?? harness.replica({ TRUST_PROXY: trust })
  brokers.set(trust, broker)
  return broker
}

describe.each(Object.entries(NETWORKS))('%s', (_name, { trust, arrives, client, other, known = client }) => {
  const ask = async (forged: string, from: string, what: Parameters<typeof askPort>[1]): Promise<Answer> => {
    const { url } = await brokerTrusting(trust)
    const headers = { ...what.headers, 'X-Forwarded-For': arrives(forged, from) }
    return askPort(Number(new URL(url).port), { ...what, headers })
  }

  test.each(FORGERIES)('the org and the log get the real address, not %s', async (forged) => {
    harness.clearUpstreamCalls()
    const answer = await ask(forged, client, {
      method: 'POST',
      path: '/api/v1/authn',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ username: AMELIA, password: PASSWORD }),
    })
    expect(answer.status).toBe(200)
    expect(harness.upstreamCalls().map(({ headers }) => headers['x-forwarded-for'])).toEqual([known])

    const broker = await brokerTrusting(trust)
    const requestId = answer.headers['x-request-id']
    await until(() =>
      broker.logLines().some((line) => line.event === 'request' && line.requestId === requestId),
    )
    const lines = broker.logLines().filter((line) => line.requestId === requestId && 'address' in line)
    expect(new Set(lines.map(({ address }) => address))).toEqual(new Set([known]))
    expect(lines.some(({ audit }) => audit === true)).toBe(true)
  })

  test('a limit counts by the real address: changing the forged address does not evade it, and other clients are not limited', async () => {
    await harness.redis.client().flushall() // other networks may have the same address
    const arrive = (forged: string, from = client) =>
      ask(forged, from, {
        path: '/signin/step-up?stateToken=00plainly-fake-imported-token',
        headers: {
          'Sec-Fetch-Mode': 'navigate',
          'Sec-Fetch-Dest': 'document',
          'Sec-Fetch-Site': 'cross-site',
        },
      })
    const statuses: number[] = []
    for (const forged of FORGERIES) statuses.push((await arrive(forged)).status)
    expect(statuses).toEqual(FORGERIES.map((_, count) => (count < ATTEMPTS ? 303 : 429)))
    if (other !== undefined) expect((await arrive(FORGERIES[0] ?? '', other)).status).toBe(303)
  })
})
