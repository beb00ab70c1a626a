import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { KEYS, type KeyKind, keyOf, limitKeyPrefix, startOf } from '../../src/store/keys.ts'
import { kindsOf } from '../support/redis-keys.ts'

const store = { keyPrefix: 'portal:' }

test('a key has the prefix, and a name for each * of its pattern', () => {
  expect(keyOf(store, KEYS.keyRegistry)).toBe('portal:keys')
  expect(keyOf(store, KEYS.session, 'id')).toBe('portal:sess:id')
  expect(keyOf(store, KEYS.knownDevice, 'user', 'device')).toBe('portal:known:{user}:device')
  expect(keyOf(store, KEYS.session, '$&*$1')).toBe('portal:sess:$&*$1')
})

test('the start of the keys of a kind ends before the first name', () => {
  expect(startOf(store, KEYS.transaction)).toBe('portal:txn:{')
  expect(startOf(store, KEYS.keyRegistry)).toBe('portal:keys')
})

test('each * of a pattern is described, and no key has two kinds', () => {
  for (const kind of Object.values<KeyKind>(KEYS)) {
    expect(kind.names).toHaveLength(kind.pattern.split('*').length - 1)
    const given = kind.pattern.replaceAll('*', 'name')
    expect(kindsOf(`portal:${given}`, store.keyPrefix)).toEqual([kind.pattern])
  }
})

test('keys that one script uses together share a hash tag', () => {
  const tagOf = (key: string) => /\{(.*)\}/.exec(key)?.[1]
  const { transaction, stepLock, signedIn, limitInARow } = KEYS
  const ofUser = [
    ...[signedIn, limitInARow].map((kind) => keyOf(store, kind, 'a')),
    limitKeyPrefix(store, 'a'),
    keyOf(store, KEYS.knownDevice, 'a', 'b'),
  ]
  const ofTransaction = [
    ...[transaction, stepLock].map((kind) => keyOf(store, kind, 'a')),
    keyOf(store, KEYS.sharedResult, 'a', 'b'),
  ]
  expect([...ofUser, ...ofTransaction].map(tagOf)).toEqual(Array(7).fill('a'))
})

test('every key that the last version wrote has a kind', () => {
  const { records } = JSON.parse(readFileSync('test/journeys/stored-records.json', 'utf8'))
  const keys = Object.keys(records)
  expect(keys.length).toBeGreaterThan(10)
  expect(keys.filter((key) => kindsOf(key).length !== 1)).toEqual([])
})
