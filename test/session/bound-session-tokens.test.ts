import { createHmac, hkdfSync } from 'node:crypto'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { createBoundSessionTokens } from '../../src/session/bound-session-tokens.ts'

const START = Date.parse('2026-11-05T06:00:00Z')
const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const clock = { now: START }
beforeEach(() => {
  clock.now = START
})

const tokensWith = (...masterKeys: Buffer[]) =>
  createBoundSessionTokens({
    masterKeys,
    cookieMs: 600_000,
    registrationMs: 120_000,
    refreshMs: 300_000,
    now: () => clock.now,
  })
const tokens = tokensWith(OLD)
const forge = (value: string) => value.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))

describe('a bound cookie', () => {
  const states = (value: string, minutes: readonly number[]) =>
    minutes.map((minute) => {
      clock.now = START + minute * 60_000
      return tokens.readCookie('session', value)
    })

  test('is good for ten minutes', () => {
    expect(states(tokens.createCookie('session'), [0, 9.99, 10, 600])).toEqual([
      'valid',
      'valid',
      'expired',
      'expired',
    ])
  })

  test('of the future, of a clock that is wrong by more than a minute, is wrong', () => {
    expect(states(tokens.createCookie('session'), [-1, -1.01, -600])).toEqual(['valid', 'wrong', 'wrong'])
  })

  test.each([
    ['of another session', tokens.createCookie('another')],
    ['forged', forge(tokens.createCookie('session'))],
    ['truncated', tokens.createCookie('session').slice(0, -1)],
    ['without its end', tokens.createCookie('session').replace(/^[^.]*/, '')],
    ['with a later end', tokens.createCookie('session').replace(/^[^.]*/, (START + 1e7).toString(36))],
    ['longer', `${tokens.createCookie('session')}A`],
    ['with text before it', `!${tokens.createCookie('session')}`],
    ['empty', ''],
    ['with markup', '<script>'],
    ['that is a challenge', tokens.createChallenge('refresh', 'session')],
    ['that is a name', tokens.nameOf('session')],
    ['of an unknown key', tokensWith(NEW).createCookie('session')],
  ])('%s is wrong', (_what, value) => {
    expect(tokens.readCookie('session', value)).toBe('wrong')
  })

  test('is missing', () => {
    expect(tokens.readCookie('session', undefined)).toBe('none')
  })
})

describe('a challenge', () => {
  test.each([
    ['registration', 120_000],
    ['refresh', 300_000],
  ] as const)('of a %s lives %d ms', (purpose, lifeMs) => {
    const challenge = tokens.createChallenge(purpose, 'session')
    const states = [0, lifeMs - 1, lifeMs, -60_000, -60_001].map((afterMs) => {
      clock.now = START + afterMs
      return tokens.readChallenge(purpose, 'session', challenge)
    })
    expect(states).toEqual(['live', 'live', 'expired', 'live', 'wrong'])
  })

  test.each([
    ['of another session', tokens.createChallenge('registration', 'another')],
    ['of a refresh', tokens.createChallenge('refresh', 'session')],
    ['forged', forge(tokens.createChallenge('registration', 'session'))],
    ['with another time', tokens.createChallenge('registration', 'session').replace(/^[^.]*/, 'zzzzzzzz')],
    ['that is a bound cookie', tokens.createCookie('session')],
    ['of an unknown key', tokensWith(NEW).createChallenge('registration', 'session')],
    ['that is any text', 'challenge'],
  ])('%s does not register a key', (_what, challenge) => {
    expect(tokens.readChallenge('registration', 'session', challenge)).toBe('wrong')
  })
})

test('during a rotation of the keys, each replica reads what the others have made', () => {
  const replicas = [tokensWith(OLD, NEW), tokensWith(NEW, OLD)] as const
  for (const [maker, reader] of [replicas, replicas.toReversed()] as (typeof replicas)[]) {
    expect(reader.readCookie('session', maker.createCookie('session'))).toBe('valid')
    expect(reader.readChallenge('refresh', 'session', maker.createChallenge('refresh', 'session'))).toBe(
      'live',
    )
    expect(reader.isNameOf('session', maker.nameOf('session'))).toBe(true)
  }
})

test('the name of a session says nothing of its id, and is that of no other session', () => {
  const name = tokens.nameOf('secret-id')
  expect(name).toMatch(/^[\w-]{43}$/)
  expect(name).not.toContain('secret')
  expect(tokens.isNameOf('another', name)).toBe(false)
})

test('replicas of all versions read what the others have made: each kind of value has its own derived key', () => {
  const signed = (label: string, text: string) => {
    const key = Buffer.from(hkdfSync('sha256', OLD, '', `gatehouse/v1/sign/bound-session-${label}`, 32))
    return createHmac('sha256', key).update(text).digest('base64url')
  }
  const [issued, end] = [START.toString(36), (START + 600_000).toString(36)]
  expect(tokens.nameOf('one')).toBe(signed('names', 'one'))
  expect(tokens.createChallenge('refresh', 'one')).toBe(
    `${issued}.${signed('challenge', `["refresh","one","${issued}"]`)}`,
  )
  expect(tokens.createCookie('one')).toBe(`${end}.${signed('cookie', `["one","${end}"]`)}`)
})
