import { describe, expect, test } from '@jest/globals'
import type { Session } from '../../src/session/session.ts'
import { decodeSession, encodeSession } from '../../src/session/session-codec.ts'

const SESSION: Session = {
  publicId: '0b0e7a1e-0000-4000-8000-000000000001',
  userId: '00u1person',
  login: 'ada@example.com',
  profile: { firstName: 'Ada' },
  amr: ['pwd'],
  loginHash: 'hash-of-login',
  device: 'hash',
  userAgent: 'Test/1',
  createdAtMs: 1,
  lastSeenAtMs: 2,
}
const written = () => encodeSession(SESSION, 'own-id')
const stored = () => JSON.parse(written()) as Record<string, unknown> // an object was written
const decode = (record: unknown, id: string) => decodeSession(JSON.stringify(record), id)

test('what was written is read back, under its own id', () => {
  expect(decodeSession(written(), 'own-id')).toEqual(SESSION)
})

describe('no session', () => {
  test('under another id: the record holds its own', () => {
    expect(decodeSession(written(), 'another-id')).toBeUndefined()
  })

  test.each(Object.keys(SESSION))('without %s, or with it in another type', (field) => {
    const without = stored()
    delete without[field]
    expect(decode(without, 'own-id')).toBeUndefined()
    expect(decode({ ...stored(), [field]: null }, 'own-id')).toBeUndefined()
    expect(decode({ ...stored(), [field]: true }, 'own-id')).toBeUndefined()
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['text', 'own-id'],
    ['a list', [stored()]],
    ['another version', { ...stored(), version: 2 }],
  ])('%s', (_name, record) => {
    expect(decode(record, 'own-id')).toBeUndefined()
  })

  test('what is no JSON', () => {
    expect(decodeSession(written().slice(1), 'own-id')).toBeUndefined()
  })
})
