import { describe, expect, test } from '@jest/globals'
import { createSeal } from '../../src/crypto/keys.ts'
import { REFRESH_LIMIT } from '../../src/session/bound-session-routes.ts'
import { BOUND_SESSION_PATH } from '../../src/session/bound-sessions.ts'
import type { Answer } from '../support/ask-port.ts'
import { useKeeper } from '../support/keeper.ts'
import { until } from '../support/until.ts'
import { type BrowserKey, type ChangedProof, createBrowserKey } from './browser-key.ts'
import { GRANT } from './grant.ts'
import { EXTEND_EVERY_MS, FIRST_KEY, type HarnessOptions, startSessionHarness } from './session-harness.ts'

/** Bound sessions behind a real HTTP server. Refusals and attacks first. */

const ME = '/api/v1/sessions/me'
const REFRESH = `${BOUND_SESSION_PATH}/refresh`
const COOKIE_MS = 600_000
const GRACE_MS = 30_000
const OTHER_KEY = Buffer.alloc(32, 2)

const keep = useKeeper()
const [KEY, THIEF, RSA] = [createBrowserKey(), createBrowserKey(), createBrowserKey('RS256')]

async function signedIn(options: HarnessOptions = {}) {
  const harness = keep(await startSessionHarness({ bindsSessions: true, ...options }))
  const { cookieHeader, id, registration } = await harness.signIn()
  const browser = {
    ...harness,
    id,
    cookieHeader,
    registration,
    challenge: challengeIn(registration),
    register: (key: BrowserKey, challenge: string, more: Readonly<Record<string, unknown>> = {}) =>
      harness.call('POST', BOUND_SESSION_PATH, cookieHeader, {
        'Secure-Session-Response': key.prove(challenge, { header: { jwk: key.jwk } }),
        ...more,
      }),
    statusWith: async (bound?: string, headers = {}, path = '/need') =>
      (await harness.call('GET', path, withBound(cookieHeader, bound), headers)).status,
    audited: (event: string) =>
      harness
        .lines()
        .filter((line) => line.event === event)
        .map(({ reason }) => reason ?? 'written'),
    metric: async (name: string) =>
      Object.fromEntries(
        ((await harness.metrics.registry.getSingleMetric(`gatehouse_${name}`)?.get())?.values ?? []).map(
          ({ labels, value }) => [Object.values(labels)[0] ?? 'all', value],
        ),
      ),
  }
  return browser
}

/** With a session that is bound to KEY, whose bound cookie was used. */
async function bound(options: HarnessOptions = {}) {
  const browser = await signedIn(options)
  const answer = await browser.register(KEY, browser.challenge)
  expect(answer.status).toBe(200)
  const cookie = boundCookieIn(answer)
  expect(await browser.statusWith(cookie)).toBe(200)
  const { session_identifier: name } = answer.json as { session_identifier: string }
  const refresh = (headers: Readonly<Record<string, string>> = {}, cookieHeader = browser.cookieHeader) =>
    browser.call('POST', REFRESH, cookieHeader, { 'Sec-Secure-Session-Id': name, ...headers })
  return {
    ...browser,
    answer,
    cookie,
    name,
    refresh,
    next: challengeIn(answer.headers['secure-session-challenge']),
    /** Renews the cookie with a proof. */
    prove: (key: BrowserKey, challenge: string, changed?: ChangedProof) =>
      refresh({ 'Secure-Session-Response': key.prove(challenge, changed) }),
  }
}

function challengeIn(header: unknown): string {
  return /challenge="([^"]+)"/.exec(String(header))?.[1] ?? /^"([^"]+)"/.exec(String(header))?.[1] ?? ''
}

function boundCookieIn({ headers }: Answer): string {
  const set = headers['set-cookie']?.find((one) => one.startsWith('__Host-gatehouse-bound='))
  return /=([^;]*)/.exec(set ?? '')?.[1] ?? ''
}

/** What an error names as wrong. */
const causeIn = (json: unknown): unknown => Object(json).errorCauses?.[0]?.errorSummary

const withBound = (cookieHeader: string, value?: string) =>
  value === undefined ? cookieHeader : `${cookieHeader}; __Host-gatehouse-bound=${value}`

describe('a registration', () => {
  test('is asked for by the response that opens a session, and by no other', async () => {
    const { registration, call, cookieHeader, challenge } = await signedIn()
    expect(registration).toBe(`(ES256 RS256);path="/bound-session";challenge="${challenge}"`)
    for (const [method, path] of [
      ['GET', ME],
      ['POST', `${ME}/lifecycle/refresh`],
      ['GET', '/forward-auth'],
      ['DELETE', ME],
    ] as const)
      expect((await call(method, path, cookieHeader)).headers).not.toHaveProperty(
        'secure-session-registration',
      )
  })

  test('is not asked for if the setting is off', async () => {
    expect((await signedIn({ bindsSessions: false })).registration).toBe('undefined')
  })

  // shows: V3.3.1, V3.3.3, V3.3.4
  test.each([KEY, RSA])('with $alg binds the session', async (key) => {
    const browser = await signedIn()
    const { status, json, headers } = await browser.register(key, browser.challenge)
    expect([status, json]).toEqual([
      200,
      {
        session_identifier: expect.stringMatching(/^[\w-]{43}$/),
        refresh_url: '/bound-session/refresh',
        scope: {
          include_site: false,
          scope_specification: [
            { type: 'exclude', path: '/hooks' },
            { type: 'exclude', path: '/app/v1/pam' },
            { type: 'exclude', path: '/.well-known' },
          ],
        },
        // of ALLOWED_ORIGINS, each host once
        allowed_refresh_initiators: ['spa.portal.example', 'other.portal.example'],
        credentials: [
          {
            type: 'cookie',
            name: '__Host-gatehouse-bound',
            attributes: 'Path=/; HttpOnly; Secure; SameSite=Lax',
          },
        ],
      },
    ])
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^__Host-gatehouse-bound=[\w.-]+; Max-Age=590; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      ),
    ])
    const found = await browser.call('GET', ME, browser.cookieHeader)
    expect(found.json).toMatchObject({ deviceBound: true })
    expect(browser.audited('session_bound')).toEqual(['written'])
    expect(await browser.metric('sessions_bound_total')).toEqual({ all: 1 })
    expect(JSON.stringify(json)).not.toContain(browser.id)
  })

  test.each<[string, string, (browser: Awaited<ReturnType<typeof signedIn>>) => Promise<Answer>]>([
    [
      'from a script in the page',
      'only the browser itself sends it',
      ({ register, challenge }) => register(THIEF, challenge, { 'Sec-Fetch-Mode': 'cors' }),
    ],
    [
      'of a key that it does not have',
      'the key or its signature is not valid',
      ({ register, challenge }) =>
        register(THIEF, challenge, {
          'Secure-Session-Response': THIEF.prove(challenge, { header: { jwk: KEY.jwk } }),
        }),
    ],
  ])('%s is refused (%s), and the session stays as it was', async (_what, cause, attack) => {
    const browser = await signedIn()
    const { status, json, headers } = await attack(browser)
    expect([status, json]).toEqual([403, expect.objectContaining({ errorCode: 'E0000006' })])
    expect(causeIn(json)).toBe(`Secure-Session-Response: ${cause}`)
    expect(headers['set-cookie']).toBeUndefined()
    const { clock, call, cookieHeader, audited } = browser
    expect((await call('GET', ME, cookieHeader)).json).toMatchObject({ deviceBound: false })
    clock.now += GRACE_MS
    expect(await browser.statusWith()).toBe(200)
    expect(audited('bound_session_refused')).toEqual(['proof_refused'])
  })

  test('without a session, or of a session that has ended, is 401', async () => {
    const { call, challenge, register, cookieHeader } = await signedIn()
    expect((await call('POST', BOUND_SESSION_PATH)).status).toBe(401)
    await call('DELETE', ME, cookieHeader)
    expect((await register(KEY, challenge)).status).toBe(401)
  })

  test('twice: the first key stays, and the second one is refused', async () => {
    const { register, challenge, prove, next, cookie, statusWith } = await bound()
    const { status, json } = await register(THIEF, challenge)
    expect([status, causeIn(json)]).toEqual([
      403,
      'Secure-Session-Response: the session is bound to another key',
    ])
    expect((await prove(KEY, next)).status).toBe(200)
    expect(await statusWith(cookie)).toBe(200)
  })

  test('is answered again to the same key, as its answer may be lost', async () => {
    const { register, challenge, audited } = await bound()
    expect((await register(KEY, challenge)).status).toBe(200)
    expect(audited('session_bound')).toEqual(['written'])
  })

  test('at the same time with two keys binds the session to one of them', async () => {
    const { register, challenge, call, cookieHeader, audited } = await signedIn()
    const answers = await Promise.all([KEY, THIEF].map((key) => register(key, challenge)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403])
    const winner = answers[0]?.status === 200 ? KEY : THIEF
    const winning = answers.find(({ status }) => status === 200)
    const { session_identifier: name } = Object(winning?.json)
    const proof = winner.prove(challengeIn(winning?.headers['secure-session-challenge']))
    const headers = { 'Sec-Secure-Session-Id': name, 'Secure-Session-Response': proof }
    expect((await call('POST', REFRESH, cookieHeader, headers)).status).toBe(200)
    expect(audited('session_bound')).toEqual(['written'])
  })

  test('beside an extension loses nothing of either', async () => {
    const { register, challenge, clock, statusWith, call, cookieHeader } = await signedIn()
    clock.now += EXTEND_EVERY_MS
    const [answer] = await Promise.all([register(KEY, challenge), statusWith(), statusWith(), statusWith()])
    expect(answer.status).toBe(200)
    const { json } = await call('GET', ME, withBound(cookieHeader, boundCookieIn(answer)))
    expect(json).toMatchObject({ deviceBound: true, idleExpiresAt: '2026-11-05T06:31:00.000Z' })
  })

  test('does not restore a session that a sign-out ends meanwhile', async () => {
    const { register, challenge, call, cookieHeader, stored } = await signedIn()
    const answers = await Promise.all([call('DELETE', ME, cookieHeader), register(KEY, challenge)])
    expect([200, 401]).toContain(answers[1].status)
    expect(stored()).toEqual([])
  })
})

describe('a request of a bound session', () => {
  const PATHS = [
    ['GET', '/need', 401],
    ['GET', ME, 404],
    ['POST', `${ME}/lifecycle/refresh`, 404],
    ['GET', '/api/v1/users/me', 401],
    ['GET', '/api/v1/sessions', 401],
    ['DELETE', '/api/v1/sessions', 401],
    ['DELETE', '/api/v1/sessions/some-id', 401],
    ['GET', '/forward-auth', 401],
  ] as const

  test.each(PATHS)('%s %s without the bound cookie is %d, and the first browser goes on', async (...row) => {
    const [method, path, status] = row
    const { call, cookieHeader, statusWith, cookie, audited, metric } = await bound()
    expect((await call(method, path, cookieHeader)).status).toBe(status)
    expect(audited('bound_session_refused')).toEqual(['cookie_missing'])
    expect(await metric('bound_session_refusals_total')).toEqual({ cookie_missing: 1 })
    expect(await statusWith(cookie)).toBe(200)
  })

  test.each(PATHS)('%s %s is 503 if the browser could not renew the cookie', async (...[method, path]) => {
    const { call, cookieHeader, name, audited, metric } = await bound()
    const skipped = `quota_exceeded;session_identifier="other", unreachable;session_identifier="${name}"`
    const answer = await call(method, path, cookieHeader, { 'Secure-Session-Skipped': skipped })
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '2'])
    expect(audited('bound_session_refused')).toEqual(['cookie_missing'])
    expect(await metric('bound_session_refusals_total')).toEqual({ cookie_missing: 1 })
  })

  test('is no server error in metrics and logs if the client alone causes the 503: no alert fires', async () => {
    const { call, cookieHeader, name, refresh, metrics, lines, metric } = await bound()
    const headers = { 'Secure-Session-Skipped': `unreachable;session_identifier="${name}"` }
    const statuses = []
    for (const path of [ME, '/forward-auth'])
      statuses.push((await call('GET', path, cookieHeader, headers)).status)
    for (let count = 0; count < REFRESH_LIMIT.attempts; count += 1) await refresh()
    statuses.push((await refresh()).status)
    expect(statuses).toEqual([503, 503, 503])
    await until(async () => {
      const { values } = await metrics.httpRequestDuration.get()
      const counts = values.filter(({ metricName }) => metricName?.endsWith('_count'))
      const of = (from: number) =>
        counts
          .filter(({ labels }) => Number(labels.status) >= from)
          .reduce((sum, { value }) => sum + value, 0)
      return of(499) === 3 && of(500) === 0
    })
    expect(await metric('forward_auth_requests_total')).toEqual({ refused: 1 })
    expect(lines().filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
  })

  test('that names another session as skipped is 401', async () => {
    const { statusWith, signIn } = await bound()
    const other = keep(await startSessionHarness({ bindsSessions: true }))
    await signIn()
    const { boundSessions } = other
    const skipped = `unreachable;session_identifier="${boundSessions.tokens.nameOf('another')}"`
    expect(await statusWith(undefined, { 'Secure-Session-Skipped': skipped })).toBe(401)
  })

  test('is refused with an expired cookie, a forged one, or that of another session', async () => {
    const { statusWith, cookie, clock, audited, boundSessions } = await bound()
    expect(await statusWith(`${cookie.slice(0, -1)}`)).toBe(401)
    expect(await statusWith(boundSessions.tokens.createCookie('another'))).toBe(401)
    clock.now += COOKIE_MS
    expect(await statusWith(cookie)).toBe(401)
    expect(audited('bound_session_refused')).toEqual(['cookie_wrong', 'cookie_expired'])
  })

  test('without a cookie is served for 30 seconds until one has had it; with a wrong one never', async () => {
    const { register, challenge, statusWith, clock, boundSessions } = await signedIn()
    const answer = await register(KEY, challenge)
    const cookie = boundCookieIn(answer)
    clock.now += GRACE_MS - 1
    expect(await statusWith()).toBe(200)
    expect(await statusWith(boundSessions.tokens.createCookie('another'))).toBe(401)
    expect(await statusWith(cookie)).toBe(200)
    expect(await statusWith()).toBe(401)
  })

  test('whose answer to the registration is lost is refused after 30 seconds', async () => {
    const { register, challenge, statusWith, clock } = await signedIn()
    await register(KEY, challenge)
    expect(await statusWith()).toBe(200)
    clock.now += GRACE_MS
    expect(await statusWith()).toBe(401)
  })

  test('needs no further read or write', async () => {
    const { traffic, statusWith, cookie } = await bound()
    Object.assign(traffic, { reads: 0, writes: 0 })
    expect(await statusWith(cookie)).toBe(200)
    expect(traffic).toMatchObject({ reads: 1, writes: 0 })
  })

  test('is extended like any other, and stays bound', async () => {
    const { clock, statusWith, cookie, call, cookieHeader, metric } = await bound()
    clock.now += EXTEND_EVERY_MS
    expect(await statusWith(cookie)).toBe(200)
    const { json } = await call('GET', ME, withBound(cookieHeader, cookie))
    expect(json).toMatchObject({ deviceBound: true, idleExpiresAt: '2026-11-05T06:31:00.000Z' })
    expect(await metric('sessions_extended_total')).toEqual({ yes: 1 })
  })

  test('stays bound while the setting is off: only no other session is bound', async () => {
    const on = await bound()
    const { boundSessions } = on
    expect(boundSessions.registrationHeader('any')).toBeDefined()
    const off = keep(await startSessionHarness({ bindsSessions: false }))
    const binding = { boundAtMs: 0, isUsed: true }
    expect(off.boundSessions.judge('id', binding, { cookie: undefined, skipped: undefined }).kind).toBe(
      'refused',
    )
    expect(off.boundSessions.registrationHeader('any')).toBeUndefined()
  })
})

test('a sign-out works without the bound cookie, and deletes it', async () => {
  const { call, cookieHeader, stored, cookie } = await bound()
  const signedOut = await call('DELETE', ME, withBound(cookieHeader, 'wrong'))
  expect(signedOut.status).toBe(204)
  expect(signedOut.headers['set-cookie']).toContainEqual(
    expect.stringMatching(/^__Host-gatehouse-bound=; Max-Age=0; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
  )
  expect(stored()).toEqual([])
  expect((await call('GET', ME, withBound(cookieHeader, cookie))).status).toBe(404)
})

test('a page that expects another session gets 409 for its sign-out, without the bound cookie too', async () => {
  const { call, cookieHeader, stored } = await bound()
  const headers = { 'X-Gatehouse-Session': 'another' }
  expect((await call('DELETE', ME, cookieHeader, headers)).status).toBe(409)
  expect(stored()).toHaveLength(1)
})

test('a new sign-in in the same browser ends the bound session, and asks for a key of its own', async () => {
  const { signIn, cookieHeader, cookie, call, name, refresh } = await bound()
  const again = await signIn(withBound(cookieHeader, cookie))
  expect(again.registration).toContain('challenge=')
  const { json } = await call('GET', ME, again.cookieHeader)
  expect(json).toMatchObject({ deviceBound: false })
  // the browser still has the key of the session before
  expect((await refresh({}, again.cookieHeader)).json).toEqual({ continue: false })
  const registered = await call('POST', BOUND_SESSION_PATH, again.cookieHeader, {
    'Secure-Session-Response': THIEF.prove(challengeIn(again.registration), { header: { jwk: THIEF.jwk } }),
  })
  expect(registered.status).toBe(200)
  expect((registered.json as { session_identifier: string }).session_identifier).not.toBe(name)
  // of the session before
  expect((await call('GET', '/need', withBound(again.cookieHeader, cookie))).status).toBe(401)
})

describe('a refresh', () => {
  test('without a proof asks for one over a new challenge; with it, it renews the cookie', async () => {
    const { refresh, prove, name, clock, statusWith } = await bound()
    clock.now += COOKIE_MS
    const asked = await refresh()
    expect([asked.status, causeIn(asked.json)]).toEqual([
      403,
      'Secure-Session-Response: missing; sign the challenge',
    ])
    expect(asked.headers['secure-session-challenge']).toMatch(new RegExp(`^"[\\w.-]+";id="${name}"$`))
    const renewed = await prove(KEY, challengeIn(asked.headers['secure-session-challenge']))
    expect([renewed.status, renewed.json]).toEqual([
      200,
      expect.objectContaining({ session_identifier: name }),
    ])
    expect(await statusWith(boundCookieIn(renewed))).toBe(200)
    expect(renewed.headers['secure-session-challenge']).toContain(`;id="${name}"`)
  })

  test('with the challenge of the answer before needs one request', async () => {
    const { prove, next } = await bound()
    expect((await prove(KEY, next)).status).toBe(200)
  })

  test('takes the session’s name in quotes too', async () => {
    const { name, next, refresh } = await bound()
    const headers = { 'Sec-Secure-Session-Id': `"${name}"`, 'Secure-Session-Response': KEY.prove(next) }
    expect((await refresh(headers)).status).toBe(200)
  })

  test('does not extend the session', async () => {
    const { clock, prove, next, call, cookieHeader } = await bound()
    clock.now += 60_000
    const renewed = await prove(KEY, next)
    const { json } = await call('GET', ME, withBound(cookieHeader, boundCookieIn(renewed)))
    expect(json).toMatchObject({ idleExpiresAt: '2026-11-05T06:30:00.000Z' })
  })

  test('after the session has ended, or is idle for too long, ends the key of the browser only', async () => {
    const { refresh, call, cookieHeader, stored } = await bound()
    await call('DELETE', ME, cookieHeader)
    const { status, json, headers } = await refresh()
    expect([status, json, headers['set-cookie']]).toEqual([200, { continue: false }, undefined])
    expect(stored()).toEqual([])
    const idle = await bound()
    idle.clock.now += 30 * 60_000
    expect((await idle.refresh()).json).toEqual({ continue: false })
  })

  test.each<[string, (name: string) => string]>([
    ['another session', () => 'A'.repeat(43)],
    ['markup', () => '"><script>alert(1)</script>'],
  ])('of %s gets { continue: false }, without an echo, and nothing ends', async (_what, idFor) => {
    const { refresh, name, next, prove } = await bound()
    const headers = { 'Sec-Secure-Session-Id': idFor(name), 'Secure-Session-Response': THIEF.prove(next) }
    const { status, text } = await refresh(headers)
    expect([status, text]).toEqual([200, '{"continue":false}'])
    expect((await prove(KEY, next)).status).toBe(200)
  })

  test('without Sec-Secure-Session-Id, which no script can send, is refused', async () => {
    const { call, cookieHeader, next } = await bound()
    const headers = { 'Secure-Session-Response': KEY.prove(next) }
    const answer = await call('POST', REFRESH, cookieHeader, headers)
    expect([answer.status, answer.headers['set-cookie']]).toEqual([400, undefined])
    expect(causeIn(answer.json)).toBe('Sec-Secure-Session-Id: missing; only browsers send it')
  })

  test('of a session that is not bound gets { continue: false }', async () => {
    const { call, cookieHeader, boundSessions, id } = await signedIn()
    const headers = { 'Sec-Secure-Session-Id': boundSessions.tokens.nameOf(id) }
    expect((await call('POST', REFRESH, cookieHeader, headers)).json).toEqual({ continue: false })
  })

  test.each<[string, (challenge: string) => string]>([
    ['a key in it', (challenge) => THIEF.prove(challenge, { header: { jwk: THIEF.jwk } })],
    ['no JWS', () => 'x'],
  ])('with %s is 403 with a new challenge, and nothing ends', async (_what, proofFor) => {
    const { refresh, next, prove, audited } = await bound()
    const answer = await refresh({ 'Secure-Session-Response': proofFor(next) })
    expect([answer.status, causeIn(answer.json)]).toEqual([
      403,
      'Secure-Session-Response: malformed, or not for a challenge of this session',
    ])
    expect(audited('bound_session_refused')).toEqual(['proof_refused'])
    expect(audited('session_key_mismatch')).toEqual([])
    const renewed = await prove(KEY, challengeIn(answer.headers['secure-session-challenge']))
    expect(renewed.status).toBe(200)
  })

  test('with the challenge of a registration, or of another session, is 403, and nothing ends', async () => {
    const { prove, challenge, boundSessions, next } = await bound()
    for (const wrong of [challenge, boundSessions.tokens.createChallenge('refresh', 'another')])
      expect((await prove(THIEF, wrong)).status).toBe(403)
    expect((await prove(KEY, next)).status).toBe(200)
  })

  test('with a proof that is replayed after its challenge has ended is 403, also with another key', async () => {
    const { prove, next, clock, audited, statusWith } = await bound()
    clock.now += 299_999
    expect((await prove(KEY, next)).status).toBe(200)
    clock.now += 1
    for (const key of [KEY, THIEF]) {
      const { status, json } = await prove(key, next)
      expect([status, causeIn(json)]).toEqual([403, 'Secure-Session-Response: the challenge is too old'])
    }
    expect(audited('session_key_mismatch')).toEqual([])
    expect(await statusWith()).toBe(401)
  })

  test('with the proof of another key ends the session everywhere, and is audited', async () => {
    const { prove, next, statusWith, cookie, audited, metric, stored } = await bound()
    const { status, json, headers } = await prove(THIEF, next)
    expect([status, json, headers['set-cookie']]).toEqual([200, { continue: false }, undefined])
    expect(stored()).toEqual([])
    expect(await statusWith(cookie)).toBe(401)
    expect(audited('session_key_mismatch')).toEqual(['written'])
    expect(await metric('bound_session_refusals_total')).toEqual({ key_mismatch: 1 })
    expect(await metric('sessions_ended_total')).toEqual({ key_mismatch: 1 })
  })

  test('is limited for each session: 503, which lets the browser keep its key', async () => {
    const { refresh, prove, next, audited, signIn, clock, metric } = await bound()
    for (let count = 0; count < REFRESH_LIMIT.attempts; count += 1) await refresh()
    const flooded = await prove(KEY, next)
    expect([flooded.status, flooded.headers['retry-after']]).toEqual([503, '60'])
    expect(audited('bound_session_refused')).toEqual(['too_many_refreshes'])
    expect(await metric('limit_hits_total')).toEqual({ bound_session_refresh: 1 })
    expect((await signIn()).registration).toContain('challenge')
    clock.now += 60_000
    expect((await prove(KEY, next)).status).toBe(200)
  })

  test('while the store is out of reach is 503, and nothing ends', async () => {
    const { prove, next, traffic } = await bound()
    traffic.unavailable = true
    expect((await prove(KEY, next)).status).toBe(503)
    traffic.unavailable = false
    expect((await prove(KEY, next)).status).toBe(200)
  })

  test('goes on while the store reads and refuses to write', async () => {
    const { prove, next, traffic } = await bound()
    traffic.refusesWritesWith = 'READONLY'
    expect((await prove(KEY, next)).status).toBe(200)
  })

  test('goes on during a rotation of the keys', async () => {
    const { prove, next, restartWith, statusWith, cookie } = await bound()
    restartWith(OTHER_KEY, FIRST_KEY)
    expect(await statusWith(cookie)).toBe(200)
    const renewed = await prove(KEY, next)
    expect(renewed.status).toBe(200)
    restartWith(FIRST_KEY, OTHER_KEY)
    expect(await statusWith(boundCookieIn(renewed))).toBe(200)
    expect((await prove(KEY, challengeIn(renewed.headers['secure-session-challenge']))).status).toBe(200)
  })
})

test('the list of sessions says which ones are bound', async () => {
  const { call, cookieHeader, cookie, signIn } = await bound()
  await signIn()
  const { json } = await call('GET', '/api/v1/sessions', withBound(cookieHeader, cookie))
  const { sessions } = json as { sessions: { current: boolean; deviceBound: boolean }[] }
  expect(sessions.map(({ current, deviceBound }) => [current, deviceBound]).sort()).toEqual([
    [false, false],
    [true, true],
  ])
})

test('bound=required of forward-auth is met by a bound session only', async () => {
  const { statusWith, cookie, signIn, call } = await bound()
  const rule = '/forward-auth?bound=required'
  expect(await statusWith(cookie, {}, rule)).toBe(200)
  const unbound = await call('GET', rule, (await signIn()).cookieHeader)
  expect([unbound.status, unbound.headers['x-auth-request-denied'], unbound.text]).toEqual([403, 'bound', ''])
  for (const mistyped of ['yes', '', 'required&bound=required'])
    expect(await statusWith(cookie, {}, `/forward-auth?bound=${mistyped}`)).toBe(400)
})

test('no key, proof, name, challenge or cookie is logged', async () => {
  const { prove, next, cookie, name, lines, logText } = await bound()
  await prove(THIEF, next)
  const logged = JSON.stringify(lines()) + logText()
  expect(lines().length).toBeGreaterThan(1)
  const secrets = [cookie, name, next, ...Object.values(KEY.jwk).filter((member) => member.length > 10)]
  for (const secret of [...secrets, THIEF.prove(next).slice(1, 40)]) expect(logged).not.toContain(secret)
})

test('a bound session is a record of version 2: 0.2.0 cannot read it, and so does not erase its key', async () => {
  const { stored, store } = await bound()
  const [key = ''] = stored()
  const opened = createSeal([FIRST_KEY], 'session').open((await store.get(key)) ?? '', 'gatehouse:sess:')
  expect(JSON.parse(opened ?? '')).toMatchObject({
    version: 2,
    session: { userId: GRANT.userId, binding: { jwk: KEY.jwk } },
  })
})
