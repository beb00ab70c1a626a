import { describe, expect, test } from '@jest/globals'
import { attemptLimits } from '../../../src/authn/throttling/attempt-limits.ts'
import { windowsEndedBySignIn, windowsOfAttempt } from '../../../src/authn/throttling/attempt-windows.ts'
import type { Attempt } from '../../../src/authn/throttling/attempts.ts'
import { defaultTunables } from '../../../src/config/tunables.ts'
import { createSigner } from '../../../src/crypto/keys.ts'
import { createLoginNames } from '../../../src/login-names.ts'
import { CLIENT as client } from '../test-client.ts'

const deps = {
  store: { keyPrefix: 'gatehouse:' },
  limits: attemptLimits(defaultTunables().limits),
  nameSigner: createSigner([Buffer.alloc(32, 'plainly-fake')], 'limit-names'),
  logins: createLoginNames([]),
}
const code: Attempt = { kind: 'code', operation: 'verify' }
const password: Attempt = { kind: 'password', operation: 'primary' }
/** Limits that depend on the device are limits of a user. */
const ofUser = (attempt: Attempt) =>
  windowsOfAttempt(deps, attempt, client).find(({ override }) => override !== undefined)
const ofAddress = (attempt: Attempt) =>
  windowsOfAttempt(deps, attempt, client).find(({ override }) => override === undefined)
const keyPrefixOf = (attempt: Attempt) => ofUser(attempt)?.keyPrefix

describe('an attempt is counted', () => {
  test('by login if it is a password, even if the org has named the user', () => {
    const byLogin = keyPrefixOf({ ...password, login: 'ada' })
    expect(keyPrefixOf({ ...password, login: 'Ada', userId: '00u1' })).toBe(byLogin)
    expect(keyPrefixOf({ ...password, login: 'bob', userId: '00u1' })).not.toBe(byLogin)
    expect(keyPrefixOf({ ...password, userId: '00u1' })).toBe(keyPrefixOf({ ...code, userId: '00u1' }))
  })

  test('by the user id that the org has named, else by the login, else by the transaction', () => {
    const byUser = keyPrefixOf({ ...code, userId: '00u1' })
    expect(keyPrefixOf({ ...code, userId: '00u1', login: 'ada', handle: 'h' })).toBe(byUser)
    const byLogin = keyPrefixOf({ ...code, login: 'ada' })
    expect(keyPrefixOf({ ...code, login: 'ada', handle: 'h' })).toBe(byLogin)
    const byHandle = keyPrefixOf({ ...code, handle: 'h' })
    expect(keyPrefixOf({ ...code, handle: 'h' })).toBe(byHandle)
    expect(new Set([byUser, byLogin, byHandle, keyPrefixOf({ ...code, handle: 'another' })]).size).toBe(4)
    expect(keyPrefixOf(code)).toBeUndefined()
  })

  test('separately for a user id, a login and a handle of the same text', () => {
    const keyPrefixes = [{ userId: 'x' }, { login: 'x' }, { handle: 'x' }].map((by) =>
      keyPrefixOf({ ...code, ...by }),
    )
    expect(new Set(keyPrefixes).size).toBe(3)
  })

  test('by address too, if the kind has a limit for addresses', () => {
    const windows = ofAddress({ kind: 'recovery', operation: 'recovery', login: 'ada' })?.windows
    expect(windows?.map(({ name, keySuffix }) => name + keySuffix)).toEqual([
      'recovery:address:burst',
      'recovery:address:sustained',
    ])
    expect(ofAddress({ kind: 'push', operation: 'verify', login: 'ada' })).toBeUndefined()
    const token = ofAddress({ kind: 'token', operation: 'primary' })?.windows
    expect(token?.map(({ name }) => name)).toEqual(['token:address:burst', 'token:address:sustained'])
    const keyAt = (address: string) =>
      windowsOfAttempt(deps, { kind: 'token', operation: 'primary' }, { ...client, address })[0]?.keyPrefix
    // an IPv6 /64 is one address
    expect(keyAt('2001:db8:1:2::1')).toBe(keyAt('2001:db8:1:2:ffff::1'))
    expect(keyAt('2001:db8:1:2::1')).not.toBe(keyAt('2001:db8:1:3::1'))
  })
})

test('windows of 30 days have their own key', () => {
  const windows = ofUser({ ...password, login: 'ada' })?.windows ?? []
  const layout = windows.map(({ name, keySuffix }) => [name.replace(/:[\w-]{20}:/, ':{id}:'), keySuffix])
  expect(layout).toEqual([
    ['password:person:burst', ''],
    ['password:person:sustained', ''],
    ['password:person:inARow', ':in_a_row'],
    ['password:device:{id}:burst', ''],
    ['password:device:{id}:sustained', ''],
  ])
})

test('windows are at most a day long for a name with which nobody has signed in here, but not for a user of Okta', () => {
  const shortenOf = (attempt: Attempt) => ofUser(attempt)?.shorten
  const ofAda = shortenOf({ ...password, login: 'ada' })
  expect(ofAda).toEqual({
    unlessKeyExists: expect.stringMatching(/^gatehouse:signed-in:\{[\w-]{43}\}$/),
    toTtlMs: 86_400_000,
  })
  expect(shortenOf({ ...code, login: 'Ada' })).toEqual(ofAda)
  expect(shortenOf({ ...code, login: 'bob' })).not.toEqual(ofAda)
  expect(shortenOf({ ...code, handle: 'h' })).toMatchObject({ toTtlMs: 86_400_000 })
  expect(shortenOf({ ...code, login: 'ada', userId: '00u1' })).toBeUndefined()
  expect(
    windowsEndedBySignIn(deps, { userId: '00u1', logins: ['ada'] }, client).map((one) => one.signedInKey),
  ).toEqual([undefined, ofAda?.unlessKeyExists])
})

test('an attempt in a transaction has a window of the transaction, also on known devices', () => {
  const namesOf = (attempt: Attempt) => {
    const { windows = [], override } = ofUser(attempt) ?? {}
    return [windows, override?.windows ?? []].map(
      (some) => some.filter(({ name }) => name.startsWith('code:transaction:')).length,
    )
  }
  expect(namesOf({ ...code, login: 'ada', handle: 'h' })).toEqual([1, 1])
  expect(namesOf({ ...code, login: 'ada' })).toEqual([0, 0])
})
