import { afterEach, describe, expect, test } from '@jest/globals'
import { createSeal } from '../../src/crypto/keys.ts'
import { keeper } from '../http/serve.ts'
import { GRANT, startSessionHarness } from './session-harness.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const FIELDS = ['publicId', 'createdAtMs', 'lastSeenAtMs', 'device', ...Object.keys(GRANT)].filter(
  (name) => name !== 'deviceId',
)

/** A signed-in browser. `statusWith` replaces the stored record and returns the status of the next session check. */
async function signedIn() {
  const { signIn, call, stored, entries, keyring } = keep(await startSessionHarness())
  const { cookieHeader, id } = await signIn()
  const [key = ''] = stored()
  const seal = createSeal(() => keyring.keys, 'session')
  const text = seal.open(String(entries.get(key)?.content), key) ?? ''
  return {
    id,
    text,
    record: JSON.parse(text) as Record<string, unknown>, // the record is an object
    async statusWith(content: string) {
      entries.set(key, { content: seal.seal(content, key), expiresAt: Number.POSITIVE_INFINITY })
      return (await call('GET', '/api/v1/sessions/me', cookieHeader)).status
    },
  }
}

test('a record contains its version, its own id and the fields of the session', async () => {
  const { id, text, record, statusWith } = await signedIn()
  expect(Object.keys(record).toSorted()).toEqual(['version', 'ownId', ...FIELDS].toSorted())
  expect(record).toMatchObject({ version: 1, ownId: id })
  expect(await statusWith(text)).toBe(200)
})

describe('no session', () => {
  test.each(FIELDS)('a record without %s, or with another type, is not a session', async (field) => {
    const { record, statusWith } = await signedIn()
    const { [field]: _, ...without } = record
    expect(await statusWith(JSON.stringify(without))).toBe(404)
    expect(await statusWith(JSON.stringify({ ...record, [field]: null }))).toBe(404)
    expect(await statusWith(JSON.stringify({ ...record, [field]: true }))).toBe(404)
  })

  test.each<[string, (record: Record<string, unknown>) => string]>([
    ['under another id', (record) => JSON.stringify({ ...record, ownId: 'another-id' })],
    ['of another version', (record) => JSON.stringify({ ...record, version: 2 })],
    ['null', () => 'null'],
    ['text', () => '"own-id"'],
    ['a list', (record) => JSON.stringify([record])],
    ['what is no JSON', (record) => JSON.stringify(record).slice(1)],
  ])('%s', async (_name, damage) => {
    const { record, statusWith } = await signedIn()
    expect(await statusWith(damage(record))).toBe(404)
  })
})
