import { describe, expect, test } from '@jest/globals'
import type { Attempt } from '../../../src/authn/throttling/attempts.ts'
import { createCountings } from '../../../src/authn/throttling/countings.ts'
import { createLoginNames } from '../../../src/authn/throttling/login-names.ts'
import { defaultTunables } from '../../../src/config/load-config.ts'
import { createSigner } from '../../../src/crypto/sign.ts'
import { CLIENT as client } from '../made-up-client.ts'

const { personal, local, knownDeviceKeys } = createCountings({
  figures: defaultTunables().limits,
  names: createSigner(() => [Buffer.alloc(32, 'plainly-fake')], 'limit-names'),
  logins: createLoginNames([]),
})
const code: Attempt = { kind: 'code', operation: 'verify' }
const password: Attempt = { kind: 'password', operation: 'primary' }
const placeOf = (attempt: Attempt) => personal(attempt, client)?.place

describe('whom an attempt is counted by', () => {
  test('a password by its login, also where the org has named the user', () => {
    const byLogin = placeOf({ ...password, login: 'ada' })
    expect(placeOf({ ...password, login: 'Ada', userId: '00u1' })).toBe(byLogin)
    expect(placeOf({ ...password, login: 'bob', userId: '00u1' })).not.toBe(byLogin)
    expect(placeOf({ ...password, userId: '00u1' })).toBe(placeOf({ ...code, userId: '00u1' }))
  })

  test('anything else by the user that the org has named, else by the login, else by the sign-in', () => {
    const byUser = placeOf({ ...code, userId: '00u1' })
    expect(placeOf({ ...code, userId: '00u1', login: 'ada', handle: 'h' })).toBe(byUser)
    const byLogin = placeOf({ ...code, login: 'ada' })
    expect(placeOf({ ...code, login: 'ada', handle: 'h' })).toBe(byLogin)
    const byHandle = placeOf({ ...code, handle: 'h' })
    expect(placeOf({ ...code, handle: 'h' })).toBe(byHandle)
    expect(new Set([byUser, byLogin, byHandle, placeOf({ ...code, handle: 'another' })]).size).toBe(4)
    expect(placeOf(code)).toBeUndefined()
  })

  test('the same text as a user id, a login and a handle are three', () => {
    const places = [{ userId: 'x' }, { login: 'x' }, { handle: 'x' }].map((by) => placeOf({ ...code, ...by }))
    expect(new Set(places).size).toBe(3)
  })

  test('and by the address, where that has a limit', () => {
    const windows = local({ ...password, login: 'ada' }, client)?.windows
    expect(windows?.map(({ name, keySuffix }) => name + keySuffix)).toEqual([
      'password:address:burst',
      'password:address:sustained',
    ])
    expect(local({ kind: 'push', operation: 'verify', login: 'ada' }, client)).toBeUndefined()
  })
})

test('windows of 30 days have a key of their own; each also counts what an earlier version counted', () => {
  const windows = personal({ ...password, login: 'ada' }, client)?.windows ?? []
  const layout = windows.map(({ name, keySuffix, formerSuffix }) => [
    name.replace(/:[\w-]{20}:/, ':{id}:'),
    keySuffix,
    formerSuffix?.replace(/:[\w-]{43}:/, ':{whole id}:'),
  ])
  expect(layout).toEqual([
    ['password:person:burst', '', ':password:person:burst'],
    ['password:person:sustained', '', ':password:person:sustained'],
    ['password:person:inARow', ':in_a_row', ':password:person:inARow'],
    ['password:device:{id}:burst', '', ':password:device:{whole id}:burst'],
    ['password:device:{id}:sustained', '', ':password:device:{whole id}:sustained'],
  ])
})

test('a sign-in has a window of its own, for known browsers too, but only where there is a sign-in', () => {
  const namesOf = (attempt: Attempt) => {
    const { windows = [], instead } = personal(attempt, client) ?? {}
    return [windows, instead?.windows ?? []].map(
      (some) => some.filter(({ name }) => name.startsWith('code:transaction:')).length,
    )
  }
  expect(namesOf({ ...code, login: 'ada', handle: 'h' })).toEqual([1, 1])
  expect(namesOf({ ...code, login: 'ada' })).toEqual([0, 0])
})

test('without a user id and a login no browser is known', () => {
  expect(knownDeviceKeys({}, client)).toEqual([])
})
