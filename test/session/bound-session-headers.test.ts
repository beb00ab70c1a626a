import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { describe, expect, test } from '@jest/globals'
import { createMetrics } from '../../src/observability/metrics.ts'
import { type BoundSessionsOptions, createBoundSessions } from '../../src/session/bound-sessions.ts'
import { collectLog } from '../observability/collect-log.ts'
import { START } from './grant.ts'

/** What browsers are told of bound sessions, and what their requests bring. */

function boundSessionsWith(changed: Partial<BoundSessionsOptions> = {}) {
  const clock = { now: START }
  const collected = collectLog()
  const metrics = createMetrics()
  const bound = createBoundSessions({
    masterKeys: [Buffer.alloc(32, 1)],
    secure: true,
    allowedOrigins: ['https://portal.example'],
    isOffered: true,
    log: collected.log,
    metrics,
    now: () => clock.now,
    ...changed,
  })
  return { ...bound, clock, collected, metrics }
}

const requestWith = (headers: IncomingHttpHeaders) => ({ headers }) as IncomingMessage
const LONG_AGO = { boundAtMs: 0, isUsed: true }

// shows: V3.3.1, V3.3.3
test.each([
  [true, '__Host-gatehouse-bound', 'Path=/; HttpOnly; Secure; SameSite=Lax'],
  [false, 'gatehouse-bound', 'Path=/; HttpOnly; SameSite=Lax'],
])(
  'the cookie is set, announced and deleted with the same name and attributes; over https: %s',
  (secure, name, attributes) => {
    const { setCookie, clearIn, instructions, tokens } = boundSessionsWith({ secure })
    expect(setCookie('one')).toBe(`${name}=${tokens.createCookie('one')}; Max-Age=590; ${attributes}`)
    expect(instructions('name').credentials).toEqual([{ type: 'cookie', name, attributes }])
    expect(clearIn(requestWith({ cookie: `a=b; ${name}=x` }))).toEqual([`${name}=; Max-Age=0; ${attributes}`])
    for (const headers of [{}, { cookie: 'a=b' }]) expect(clearIn(requestWith(headers))).toEqual([])
  },
)

test('a browser keeps the cookie for whole seconds, and less long than it is good for', () => {
  const times = { cookieMs: 5000, cookieLeewayMs: 1500 }
  expect(boundSessionsWith({ times }).setCookie('one')).toContain('; Max-Age=4;')
})

test('a browser is asked for a key only if the setting is on; a challenge names the session', () => {
  const { registrationHeader, challengeHeader, tokens } = boundSessionsWith()
  const registration = tokens.createChallenge('registration', 'one')
  expect(registrationHeader('one')).toBe(`(ES256 RS256);path="/bound-session";challenge="${registration}"`)
  expect(challengeHeader('one', 'its-name')).toBe(
    `"${tokens.createChallenge('refresh', 'one')}";id="its-name"`,
  )
  expect(boundSessionsWith({ isOffered: false }).registrationHeader('one')).toBeUndefined()
})

test('the instructions name what is renewed, where, for which requests, and which other hosts cause it', () => {
  const allowedOrigins = ['https://spa.example', 'https://spa.example:8443', 'https://other.example']
  expect(boundSessionsWith({ allowedOrigins }).instructions('its-name')).toMatchObject({
    session_identifier: 'its-name',
    refresh_url: '/bound-session/refresh',
    scope: {
      include_site: false,
      scope_specification: [
        { type: 'exclude', path: '/hooks' },
        { type: 'exclude', path: '/app/v1/pam' },
        { type: 'exclude', path: '/.well-known' },
      ],
    },
    allowed_refresh_initiators: ['spa.example', 'other.example'],
  })
})

describe('a request of a bound session without a valid cookie', () => {
  const { judge, evidenceIn, tokens } = boundSessionsWith()
  const NAME = tokens.nameOf('one')
  const named = (name: string) => `unreachable;session_identifier="${name}"`
  const others = (count: number) =>
    Array.from({ length: count }, (_, n) => named(tokens.nameOf(`another-${n}`))).join(', ')

  test.each<[string, IncomingHttpHeaders, 'unavailable' | 'refused']>([
    [
      'names it as one that the browser could not renew',
      { 'secure-session-skipped': named(NAME) },
      'unavailable',
    ],
    [
      'names it with a space before the parameter',
      { 'secure-session-skipped': `unreachable; session_identifier="${NAME}"` },
      'unavailable',
    ],
    [
      'names it as the twentieth',
      { 'secure-session-skipped': `${others(19)}, ${named(NAME)}` },
      'unavailable',
    ],
    [
      'names it as the twenty-first',
      { 'secure-session-skipped': `${others(20)}, ${named(NAME)}` },
      'refused',
    ],
    ['names others', { 'secure-session-skipped': others(2) }, 'refused'],
    ['names it as part of a longer one', { 'secure-session-skipped': named(`${NAME}A`) }, 'refused'],
    [
      'names it without quotes',
      { 'secure-session-skipped': `unreachable;session_identifier=${NAME}` },
      'refused',
    ],
    ['names it as another parameter', { 'secure-session-skipped': `unreachable;id="${NAME}"` }, 'refused'],
    ['names none', {}, 'refused'],
  ])('that %s', (_what, headers, kind) => {
    const evidence = evidenceIn(requestWith(headers))
    expect(judge('one', LONG_AGO, evidence)).toEqual({ kind, reason: 'cookie_missing' })
  })

  test.each([
    ['of another session', `__Host-gatehouse-bound=${tokens.createCookie('another')}`, 'cookie_wrong'],
    ['under another name', `gatehouse-bound=${tokens.createCookie('one')}`, 'cookie_missing'],
  ])('that has one %s', (_what, cookie, reason) => {
    const evidence = evidenceIn(requestWith({ cookie }))
    expect(judge('one', LONG_AGO, evidence)).toEqual({ kind: 'refused', reason })
  })
})

test('a request with the cookie is served for ten minutes', () => {
  const { judge, evidenceIn, tokens, clock } = boundSessionsWith()
  const evidence = evidenceIn(requestWith({ cookie: `__Host-gatehouse-bound=${tokens.createCookie('one')}` }))
  const verdict = () => judge('one', LONG_AGO, evidence)
  clock.now = START + 599_999
  expect(verdict()).toEqual({ kind: 'served', isFirstUse: false })
  clock.now = START + 600_000
  expect(verdict()).toEqual({ kind: 'refused', reason: 'cookie_expired' })
})

test('a refusal is counted each time, and audited once a minute for a session, a reason and an address', async () => {
  const { report, clock, collected, metrics } = boundSessionsWith()
  const fields = {
    requestId: 'request-1',
    address: '192.0.2.1',
    userId: '00u1person',
    loginHash: 'hash-of-login-16',
    deviceHash: 'hash-of-device16',
    sessionId: '4f7c7a3e-5d0b-4c1e-9a55-0c3f5f1f7a10',
  }
  const other = '4f7c7a3e-5d0b-4c1e-9a55-0c3f5f1f7a11'
  report('cookie_missing', fields)
  report('cookie_missing', fields)
  clock.now += 59_999
  report('cookie_missing', fields)
  report('cookie_wrong', fields)
  report('cookie_missing', { ...fields, sessionId: other })
  report('cookie_missing', { ...fields, address: '192.0.2.2' })
  clock.now += 1
  report('cookie_missing', fields)
  const audited = collected.lines().map(({ reason, sessionId, address }) => [reason, sessionId, address])
  expect(audited).toEqual([
    ['cookie_missing', fields.sessionId, '192.0.2.1'],
    ['cookie_wrong', fields.sessionId, '192.0.2.1'],
    ['cookie_missing', other, '192.0.2.1'],
    ['cookie_missing', fields.sessionId, '192.0.2.2'],
    ['cookie_missing', fields.sessionId, '192.0.2.1'],
  ])
  expect(collected.lines()[0]).toMatchObject({ event: 'bound_session_refused', ...fields })
  expect((await metrics.boundSessionRefusals.get()).values).toMatchObject([
    { labels: { reason: 'cookie_missing' }, value: 6 },
    { labels: { reason: 'cookie_wrong' }, value: 1 },
  ])
})

test('one session from all addresses of a site is one line: it cannot hide the lines of others', () => {
  const { report, collected } = boundSessionsWith()
  const fields = { requestId: 'request-1', userId: '00u1person', sessionId: 'one' }
  const hashes = { loginHash: 'hash-of-login-16', deviceHash: 'hash-of-device16' }
  for (const address of ['2001:db8:1::1', '2001:db8:1:ffff::2', '2001:db8:2::1'])
    report('cookie_missing', { ...fields, ...hashes, address })
  expect(collected.lines().map(({ address }) => address)).toEqual(['2001:db8:1::1', '2001:db8:2::1'])
})

test('an attack on many sessions cannot fill the log: 10,000 lines a minute', () => {
  const { report, collected } = boundSessionsWith()
  const sessionIds = Array.from({ length: 10_001 }, (_, n) => `4f7c7a3e-5d0b-4c1e-9a55-0c3f5f${100_000 + n}`)
  const fields = { requestId: 'request-1', address: '192.0.2.1', userId: '00u1person' }
  const hashes = { loginHash: 'hash-of-login-16', deviceHash: 'hash-of-device16' }
  for (const sessionId of sessionIds) report('cookie_missing', { ...fields, ...hashes, sessionId })
  expect(collected.lines()).toHaveLength(10_000)
})
