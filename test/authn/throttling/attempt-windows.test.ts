import { describe, expect, test } from '@jest/globals'
import { attemptLimits } from '../../../src/authn/throttling/attempt-limits.ts'
import {
  reachedLimits,
  windowsEndedBySignIn,
  windowsIfKnown,
  windowsOfAttempt,
  windowsOfCall,
} from '../../../src/authn/throttling/attempt-windows.ts'
import type { Attempt } from '../../../src/authn/throttling/attempts.ts'
import { defaultTunables } from '../../../src/config/tunables.ts'
import { createSigner } from '../../../src/crypto/keys.ts'
import { createLoginNames } from '../../../src/login-names.ts'
import type { CountResult } from '../../../src/store/attempt-counters.ts'
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

describe('a call that is no guess', () => {
  const call: Attempt = { kind: 'call', operation: 'state', login: 'ada' }
  const namesOf = (windows: readonly { name: string }[] = []) =>
    windows.map(({ name }) => name.replace(/:[\w-]{20}:/, ':{id}:'))

  test('has windows of its address only', () => {
    expect(windowsOfAttempt(deps, call, client)).toEqual([])
    const [ofCall, ...others] = windowsOfCall(deps, { ...call, kind: 'code' }, client)
    expect(others).toEqual([])
    expect(namesOf(ofCall?.windows)).toEqual(['call:address:burst', 'call:address:sustained'])
    expect(ofCall?.override).toBeUndefined()
  })

  test('on a known device has windows of the device instead, each once', () => {
    const [ifKnown, ...others] = windowsIfKnown(deps, { ...call, kind: 'code' }, client)
    expect(others).toEqual([])
    expect(namesOf(ifKnown?.windows)).toEqual([])
    expect(namesOf(ifKnown?.override?.windows)).toEqual([
      'call:known_device:{id}:burst',
      'call:known_device:{id}:sustained',
    ])
  })
})

test('a larger network of an IPv6 address may make more attempts than a smaller one', () => {
  const token: Attempt = { kind: 'token', operation: 'primary' }
  const at = (address: string) =>
    windowsOfAttempt(deps, token, { ...client, address }).map(({ windows }) => windows[0]?.maxAttempts ?? 0)
  const [ofIpv4 = 0, ...none] = at('203.0.113.5')
  const [smallest, ...larger] = at('2001:db8:1:2::1')
  expect([none, smallest, larger.length]).toEqual([[], ofIpv4, 2])
  expect(larger[0]).toBeGreaterThan(ofIpv4)
  expect(larger[1]).toBeGreaterThan(larger[0] ?? 0)
})

describe('the limit that is used up', () => {
  const DAYS_20 = 20 * 86_400_000
  const found = (attempt: Attempt, result: Partial<CountResult>) => {
    const windows = ofUser(attempt)
    if (windows === undefined) throw new Error('the attempt names no user')
    return reachedLimits(windows, {
      overridden: false,
      full: undefined,
      late: false,
      countedWindows: [],
      ...result,
    })
  }
  const ofLogin: Attempt = { ...password, login: 'ada' }

  test.each<[case_: string, attempt: Attempt, result: Partial<CountResult>, limit: unknown]>([
    ['none', ofLogin, {}, undefined],
    ['a window that the attempt does not have', ofLogin, { full: { index: 99, leftMs: 1 } }, undefined],
    // at most a day, so that it does not show whether anybody has signed in with the name
    [
      'a name, for long',
      ofLogin,
      { full: { index: 2, leftMs: DAYS_20 } },
      { label: 'password_user', max: 60, leftMs: 86_400_000 },
    ],
    [
      'a name, soon over',
      ofLogin,
      { full: { index: 0, leftMs: 9000 } },
      { label: 'password_user', max: 8, leftMs: 9000 },
    ],
    [
      'a user of Okta',
      { ...code, userId: '00u1' },
      { full: { index: 2, leftMs: DAYS_20 } },
      { label: 'code_user', max: 60, leftMs: DAYS_20 },
    ],
    [
      'a known device',
      ofLogin,
      { overridden: true, full: { index: 4, leftMs: DAYS_20 } },
      { label: 'password_known_device', max: 20, leftMs: DAYS_20 },
    ],
  ])('%s', (_, attempt, result, limit) => {
    expect(found(attempt, result)).toEqual(limit === undefined ? [] : [limit])
  })
})
