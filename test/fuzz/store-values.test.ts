import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import type { Browser, PageAnswer } from '../support/browser.ts'
import { codePoint } from '../support/code-point.ts'
import { generousLimits } from '../support/generous-limits.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS } from '../support/harness.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { type Corrupt, change, damaged, instead, runs, SEED_LABEL, TEST_MS } from './fuzz.ts'

/** An attacker can write to Redis: changed or moved values are never accepted, and cause no errors. */

let harness: Harness
let client: Redis
beforeAll(async () => {
  harness = await startHarness({ tunables: generousLimits })
  client = harness.redis.client()
})
afterAll(() => harness.stop())

const corruption = fc.oneof(
  fc.nat(400).map((bit) =>
    change((value) => {
      const bytes = Buffer.from(value, 'base64url')
      const at = bit % Math.max(1, bytes.length)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7))
      return bytes.toString('base64url')
    }),
  ),
  damaged('abcXYZ019-_'),
  instead(fc.string({ unit: codePoint, maxLength: 100 })),
  fc.constantFrom<Corrupt>(
    (_, another) => another,
    () => '',
    () => '{}',
    () => 'null',
    (value) => Buffer.concat([Buffer.from(value, 'base64url'), Buffer.of(0)]).toString('base64url'),
  ),
)

/** Records that the broker wrote, by purpose. Counters and locks contain nothing secret. */
const KINDS = ['sess', 'user-sess', 'txn', 'pam-token', 'pam-groups', 'known'] as const

test(
  `a changed session, transaction, index or token record is ignored ${SEED_LABEL}`,
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...KINDS), corruption, async (kind, corrupt) => {
        await client.flushall()
        const [inside, other, waiting] = [await harness.visit(), await harness.visit(), await harness.visit()]
        await inside.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
        await other.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
        await inside.get('/api/v1/pam/me')
        const mfaRequired = await waiting.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
        await corruptAll(kind, corrupt)

        for (const answer of await askAll(inside, waiting, mfaRequired)) {
          expect([kind, answer.status < 500]).toEqual([kind, true])
        }
        const me = await inside.get('/api/v1/sessions/me')
        if (kind === 'sess') expect(me.status).toBe(404)
        else expect(me.json.login).toBe(AMELIA)
        expect((await inside.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })).status).toBe(
          200,
        )
      }),
      runs(180),
    )
    const alarms = harness.gatehouse.logLines().filter(({ event }) => event === 'unexpected_error')
    expect(alarms).toEqual([])
  },
  TEST_MS,
)

/** Replaces each value with another record's value, or with this text, and keeps the time to live. */
async function corruptAll(kind: string, corrupt: Corrupt): Promise<void> {
  const keys = await client.keys(`gatehouse:${kind}:*`)
  const strings: [string, string][] = []
  for (const key of keys) {
    if ((await client.type(key)) === 'hash') {
      const fields = Object.entries(await client.hgetall(key))
      for (const [at, [field, value]] of fields.entries())
        await client.hset(key, field, corrupt(value, fields[(at + 1) % fields.length]?.[1] ?? ''))
    } else strings.push([key, (await client.get(key)) ?? ''])
  }
  for (const [at, [key, value]] of strings.entries()) {
    const next = strings[(at + 1) % strings.length]?.[1] ?? ''
    await client.set(key, corrupt(value, next === value ? '' : next), 'KEEPTTL')
  }
}

async function askAll(inside: Browser, waiting: Browser, asked: PageAnswer): Promise<PageAnswer[]> {
  const stateToken = handleOf(asked)
  return [
    await inside.get('/api/v1/sessions/me'),
    await inside.get('/api/v1/sessions'),
    await inside.get('/api/v1/pam/me'),
    await inside.post('/api/v1/sessions/me/lifecycle/refresh', {}),
    await waiting.post('/api/v1/authn', { stateToken }),
    await waiting.post(verifyHref(asked, 'token:software:totp'), { stateToken, passCode: '000000' }),
  ]
}
