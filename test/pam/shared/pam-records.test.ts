import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createSeal } from '../../../src/crypto/keys.ts'
import { counted, LOGIN } from '../pam-broker.ts'
import { type PamHarness, startPamHarness } from '../pam-harness.ts'

const KEYS = [Buffer.alloc(32, 'plainly-fake-test-key')]
const OTHER = 'other@example.com'
const KINDS = ['pam-token', 'pam-groups'] as const

let harness: PamHarness
beforeEach(async () => {
  harness = await startPamHarness({ secretKeys: () => KEYS })
  for (const login of [LOGIN, OTHER]) harness.pam.control.setUserGroups(login, ['Platform Admins'])
})
afterEach(() => harness.close())

/** Replaces every record of that kind with this text, correctly sealed. */
async function replaceAll(kind: (typeof KINDS)[number], text: string): Promise<void> {
  const seal = createSeal(() => KEYS, kind)
  const keys = [...harness.store.entries.keys()].filter((key) => key.startsWith(`gatehouse:${kind}:`))
  expect(keys.length).toBeGreaterThan(0)
  for (const key of keys) await harness.store.store.set(key, seal.seal(text, key), 600_000)
}

test.each(
  KINDS.flatMap((kind) => ['no JSON', 'null', '[]', '{"id":7}'].map((text) => [kind, text] as const)),
)('a %s record with the content %s is counted as unreadable and ignored', async (kind, text) => {
  await harness.broker.get('/api/v1/pam/me')
  await replaceAll(kind, `v1\n${text}`)
  const other = await harness.replica()
  const login = kind === 'pam-token' ? OTHER : LOGIN // a cached list needs no token
  const answer = await other.get('/api/v1/pam/me', { login })
  expect([answer.status, answer.body.groups]).toEqual([
    200,
    [expect.objectContaining({ name: 'Platform Admins' })],
  ])
  expect(Object.keys(await counted(other.metrics, 'unreadable_records_total'))).toEqual([kind])
  expect(other.logLines()).toContainEqual(
    expect.objectContaining({ level: 'warn', event: 'unreadable_record', name: kind }),
  )
})
