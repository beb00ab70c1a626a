import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { expectToGoOn, expectToHold, UNDER_WAY_ENV, type UnderWay } from '../faults/under-way.ts'
import { startStubHarness } from '../support/harness.ts'
import { useRedis } from '../support/redis-server.ts'
import { StubError } from '../support/stub-upstream.ts'

/**
 * What the last version left in Redis, sealed with TEST_KEY, and what its users have. `npm run
 * upgrade` makes it with the sandbox, in build/stored-records.json, from where docs/releasing.md
 * copies it.
 */
interface Fixture {
  readonly madeAtMs: number
  /** By the sandbox, to the broker. */
  readonly issuedTokens: readonly string[]
  readonly underWay: UnderWay
  readonly records: Readonly<Record<string, string | Readonly<Record<string, string>>>>
}

const redis = useRedis()

test('sessions, single sign-on, transactions and limits of the last version go on', async () => {
  const fixture: Fixture = JSON.parse(readFileSync('test/journeys/stored-records.json', 'utf8'))
  await load(fixture)
  const { underWay, madeAtMs, issuedTokens } = fixture
  const env = { REDIS_URL: redis.url, ...UNDER_WAY_ENV }
  const { gatehouse, stub, stop } = await startStubHarness({ env, now: () => madeAtMs })
  try {
    const { _embedded } = underWay.waiting.step
    stub.answers({ status: 'SUCCESS', sessionToken: '00pretend', _embedded })
    stub.answers(...Array.from({ length: 5 }, () => new StubError(401, 'E0000004')))
    await expectToGoOn(underWay, gatehouse.url)
    await expectToHold(underWay, gatehouse.url)
    expect(issuedTokens).toContain(Object(stub.requests[0]?.body).stateToken)
    expect(gatehouse.logText()).not.toContain('unreadable_record')
  } finally {
    await stop()
  }
})

/** The ends of limits, which the clock of Redis decides, move with the present. */
async function load({ records, madeAtMs }: Fixture): Promise<void> {
  const client = redis.client()
  const moved = (window: string) =>
    window.replace(/ \d+ /, (end) => ` ${Number(end) + Date.now() - madeAtMs} `)
  for (const [key, value] of Object.entries(records)) {
    const isLimit = key.startsWith('gatehouse:limit:')
    if (typeof value === 'string') await client.set(key, value)
    else
      for (const [field, text] of Object.entries(value))
        await client.hset(key, field, isLimit ? moved(text) : text)
    await client.pexpire(key, 3_600_000)
  }
}
