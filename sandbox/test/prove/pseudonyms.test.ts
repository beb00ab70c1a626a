import { expect, test } from '@jest/globals'
import { createPace, createPhoneTurn } from '../../src/prove/pace.ts'
import { createPseudonyms } from '../../src/prove/pseudonyms.ts'

const ORG = 'https://trial-1.okta.example'
const ANSWER = {
  stateToken: '00stateTokenOfTheOrg',
  status: 'MFA_REQUIRED',
  _embedded: {
    user: { id: '00uRealUserOfTheOrg1', profile: { login: 'ada@company.example', firstName: 'Adalina' } },
    factors: [{ id: 'ufsRealFactorOfOrg12', profile: { phoneNumber: '+491701234567' } }],
  },
  _links: {
    next: {
      href: `${ORG}/api/v1/users/00uRealUserOfTheOrg1/factors/ostRealFactorOfOrg12/qr/20realPictureToken00`,
    },
    step: { href: `${ORG}/login/step-up/redirect?stateToken=00anotherStateTokenX` },
  },
  client: { ipAddress: '203.0.113.9' },
}

test('tokens, ids, names, addresses and numbers are replaced, and what the protocol says stays', () => {
  const pseudonyms = createPseudonyms(ORG)
  pseudonyms.learnFrom(ANSWER)
  const text = pseudonyms.replace(JSON.stringify(ANSWER))
  for (const real of [
    'okta.example',
    'Real',
    'real',
    'OfTheOrg',
    'ada',
    'Adalina',
    '+49',
    '203.0',
    'another',
  ])
    expect(text).not.toContain(real)
  const replaced = JSON.parse(text)
  expect(replaced).toMatchObject({
    status: 'MFA_REQUIRED',
    _embedded: {
      user: { id: expect.stringMatching(/^00u0+\d+$/), profile: { login: 'user-1@example.test' } },
    },
    _links: { next: { href: expect.stringMatching(/^https:\/\/org\.example\.test\/api\/v1\/users\/00u/) } },
  })
  expect(replaced._links.next.href).toContain(replaced._embedded.user.id)
  expect(replaced.stateToken.length).toBeGreaterThanOrEqual(20)
  expect(pseudonyms.findIn(text)).toEqual([])
  expect(pseudonyms.findIn(JSON.stringify(ANSWER))).toContain('00stateTokenOfTheOrg')
})

test('a value is replaced in the same way everywhere, encoded too, and the longer one first', () => {
  const pseudonyms = createPseudonyms(ORG)
  pseudonyms.learn('login', 'ada@company.example')
  pseudonyms.learn('secret', 'ada@')
  expect(pseudonyms.replace('ada@company.example ada%40company.example')).toBe(
    'user-1@example.test user-1@example.test',
  )
})

test('numbers and literals of JSON data stay, whatever was learned', () => {
  const pseudonyms = createPseudonyms(ORG)
  pseudonyms.learn('secret', '123456')
  pseudonyms.learn('token', 'true')
  const data = { passCode: '123456', expires: 1_234_567, isActive: true, 'key-123456': ['true'] }
  expect(pseudonyms.replaceIn(data)).toEqual({
    passCode: '(left out 1)',
    expires: 1_234_567,
    isActive: true,
    'key-(left out 1)': ['true'],
  })
})

test('a code that is by chance in a longer number is found and replaced only where it is the code', () => {
  const pseudonyms = createPseudonyms(ORG)
  const answer = {
    id: '00uRealUserOfTheOrg1',
    passCode: '000001',
    expiresAt: '2026-01-01T00:00:00.000001000Z',
  }
  pseudonyms.learnFrom({ ...answer, more: { passCode: '300000' } })
  const replaced = pseudonyms.replaceIn({ ...answer, note: 'code 000001.', lifetimeMs: 300_000 })
  expect(replaced).toEqual({
    id: '00u00000000000000001',
    passCode: '(left out 1)',
    expiresAt: answer.expiresAt,
    note: 'code (left out 1).',
    lifetimeMs: 300_000,
  })
  expect(pseudonyms.findIn(JSON.stringify(replaced, null, 2))).toEqual([])
  expect(pseudonyms.findIn(JSON.stringify({ passCode: '000001', left: ['300000'] }, null, 2))).toEqual([
    '000001',
    '300000',
  ])
})

test('a second and a third call wait when a minute has its calls', async () => {
  let clock = 0
  const pauses: number[] = []
  const pause = async (ms: number) => {
    pauses.push(ms)
    clock += ms
  }
  const { nextTurn } = createPace({ callsPerMinute: 2, now: () => clock, pause })
  for (const at of [0, 10_000, 20_000, 61_000]) {
    clock = Math.max(clock, at)
    await nextTurn()
  }
  expect(pauses).toEqual([41_000, 10_000])
})

test('room for several calls is waited for, so that none of them waits', async () => {
  let clock = 0
  const pauses: number[] = []
  const pause = async (ms: number) => {
    pauses.push(ms)
    clock += ms
  }
  const { nextTurn, room } = createPace({ callsPerMinute: 3, now: () => clock, pause })
  for (const at of [0, 10_000, 20_000]) {
    clock = at
    await nextTurn()
  }
  await room(2)
  expect(pauses).toEqual([51_000])
  for (let n = 0; n < 2; n += 1) await nextTurn()
  expect(pauses).toHaveLength(1)
  await nextTurn()
  expect(pauses).toEqual([51_000, 10_000])
})

test('the phone gets its messages one after the other', async () => {
  let clock = 0
  const pause = async (ms: number) => {
    clock += ms
  }
  const phoneTurn = createPhoneTurn({ gapMs: 31_000, now: () => clock, pause })
  await phoneTurn()
  clock = 10_000
  await phoneTurn()
  expect(clock).toBe(31_000)
})

test('without a bound nothing waits', async () => {
  const { nextTurn } = createPace({
    callsPerMinute: undefined,
    now: () => 0,
    pause: () => Promise.reject(new Error('waited')),
  })
  for (let n = 0; n < 1000; n += 1) await nextTurn()
})
