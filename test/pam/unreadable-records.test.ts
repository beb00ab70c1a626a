import { expect, test } from '@jest/globals'
import { createSeal } from '../../src/crypto/keys.ts'
import { counted, LOGIN } from './pam-broker.ts'
import { usePamHarness } from './pam-harness.ts'

const KEYS = [Buffer.alloc(32, 'plainly-fake-test-key')]
const KINDS = ['pam-token', 'pam-groups'] as const

const harness = usePamHarness(({ pam }) => pam.control.setUserGroups(LOGIN, ['Platform Admins']), {
  secretKeys: KEYS,
})

/** Replaces every record of that kind with this text, correctly sealed. */
async function replaceAll(kind: (typeof KINDS)[number], text: string): Promise<void> {
  const seal = createSeal(KEYS, kind)
  const keys = [...harness.store.entries.keys()].filter((key) => key.startsWith(`gatehouse:${kind}:`))
  expect(keys.length).toBeGreaterThan(0)
  for (const key of keys) await harness.store.store.set(key, seal.seal(text, key), 600_000)
}

test.each(
  KINDS.flatMap((kind) => ['no JSON', '{"version":1}', '{"version":2}'].map((text) => [kind, text] as const)),
)('a %s record with the content %s is counted as unreadable and ignored', async (kind, text) => {
  await harness.broker.get('/api/v1/pam/me')
  await replaceAll(kind, text)
  harness.advance(10_000) // a token is minted once in 10 s
  const other = await harness.replica()
  const answer = await other.get(kind === 'pam-token' ? '/api/v1/pam/groups' : '/api/v1/pam/me') // a cached list needs no token
  expect(answer.status).toBe(200)
  expect(Object.keys(await counted(other.metrics, 'unreadable_records_total'))).toEqual([kind])
  expect(other.logLines()).toContainEqual(
    expect.objectContaining({ level: 'warn', event: 'unreadable_record', name: kind }),
  )
})
