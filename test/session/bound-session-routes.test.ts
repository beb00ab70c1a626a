import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Request, Response } from 'express'
import { storeUnavailable } from '../../src/errors.ts'
import { DependencyFailure } from '../../src/observability/dependency-failure.ts'
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import {
  type BoundSessionRoutesOptions,
  createBoundSessionRoutes,
} from '../../src/session/bound-session-routes.ts'
import { type BoundSessions, createBoundSessions } from '../../src/session/bound-sessions.ts'
import type { Binding, Session } from '../../src/session/session.ts'
import { type CollectedLog, collectLog } from '../observability/collect-log.ts'
import { createBrowserKey } from './browser-key.ts'
import { START, sessionWith } from './grant.ts'

/** The two routes alone: the session, the store and the clock are what the test says. */

const [KEY, THIEF] = [createBrowserKey(), createBrowserKey()]
const PUBLIC_ID = '4f7c7a3e-5d0b-4c1e-9a55-0c3f5f1f7a10'
const HASHES = { loginHash: 'hash-of-login-16', deviceHash: 'hash-of-device16' }
const unbound = sessionWith({ publicId: PUBLIC_ID, ...HASHES })
const BINDING: Binding = { jwk: KEY.jwk, boundAtMs: START, isUsed: true }
const bound: Session = { ...unbound, binding: BINDING }

const clock = { now: START }
let metrics: Metrics
let collected: CollectedLog
let boundSessions: BoundSessions
/** The session of the requests; undefined: none. */
let session: Session | undefined
/** What the store has when a key is bound; undefined: the session has ended. */
let stored: Session | undefined
let calls: unknown[]
let countAttempt: BoundSessionRoutesOptions['store']['countAttempt']
beforeEach(() => {
  clock.now = START
  metrics = createMetrics()
  collected = collectLog()
  boundSessions = createBoundSessions({
    masterKeys: [Buffer.alloc(32, 1)],
    secure: true,
    allowedOrigins: [],
    isOffered: true,
    log: collected.log,
    metrics,
    now: () => clock.now,
  })
  ;[session, stored, calls] = [unbound, unbound, []]
  countAttempt = async () => ({ overridden: false, full: undefined, countedWindows: [] })
})

type Headers = Readonly<Record<string, unknown>>

async function call(which: 'register' | 'refresh', headers: Headers) {
  const routes = createBoundSessionRoutes({
    sessions: {
      findUnproved: () => (session === undefined ? undefined : { id: 'one', session }),
      async bind({ id }, binding) {
        calls.push(['bind', id, binding])
        if (stored !== undefined && stored.binding === undefined) stored = { ...stored, binding }
        return stored
      },
      async end({ id }, reason) {
        calls.push(['end', id, reason])
      },
    },
    boundSessions,
    store: { keyPrefix: 'gatehouse:', countAttempt: (...given) => countAttempt(...given) },
    log: collected.log,
    metrics,
    now: () => clock.now,
  })
  const [register, refresh] = routes
  const answered: { headers: Record<string, unknown>; text?: string } = { headers: {} }
  const setHeader = (name: string, value: unknown) => {
    answered.headers[name] = value
  }
  const res = {
    setHeader,
    append: setHeader,
    end(text: string) {
      answered.text = text
    },
  }
  const req = { headers, context: { requestId: 'request-1', address: '192.0.2.1' } }
  const route = which === 'register' ? register : refresh
  await route?.handle(req as unknown as Request, res as unknown as Response)
  return { json: JSON.parse(answered.text ?? ''), headers: answered.headers }
}

const challengeOf = (purpose: 'registration' | 'refresh', id = 'one') =>
  boundSessions.tokens.createChallenge(purpose, id)
const refused = (cause: string) => ({
  status: 403,
  code: 'E0000006',
  causes: [`Secure-Session-Response: ${cause}`],
})
const counted = async (name: 'boundSessionRefusals' | 'sessionsBound' | 'limitHits') =>
  (await metrics[name].get()).values
    .filter(({ value }) => value > 0)
    .map(({ labels, value }) => [...Object.values(labels), value])
const audited = () => collected.lines().map(({ event, reason, sessionId }) => [event, reason, sessionId])
/** The new cookie, the next challenge and the instructions. */
const renewed = () => {
  const name = boundSessions.tokens.nameOf('one')
  return {
    json: boundSessions.instructions(name),
    headers: expect.objectContaining({
      'Set-Cookie': boundSessions.setCookie('one'),
      'Secure-Session-Challenge': boundSessions.challengeHeader('one', name),
    }),
  }
}

describe('a registration', () => {
  const register = (proof: unknown, more: Headers = {}) =>
    call('register', { 'secure-session-response': proof, ...more })
  const proofOf = (key = KEY, challenge = challengeOf('registration')) =>
    key.prove(challenge, { header: { jwk: key.jwk } })

  test.each([[{}], [{ 'sec-fetch-mode': 'no-cors' }]])(
    'of the browser itself binds the session: %j',
    async (more) => {
      clock.now += 1000
      expect(await register(proofOf(), more)).toEqual(renewed())
      const binding = { jwk: KEY.jwk, boundAtMs: START + 1000, isUsed: false }
      expect(calls).toEqual([['bind', 'one', binding]])
      expect(await counted('sessionsBound')).toEqual([[1]])
      expect(audited()).toEqual([['session_bound', undefined, PUBLIC_ID]])
    },
  )

  const CHALLENGE = 'the challenge is not of this session, or too old'
  test.each<[string, string, () => [proof: unknown, more?: Headers]]>([
    ['from a script', 'only the browser itself sends it', () => [proofOf(), { 'sec-fetch-mode': 'cors' }]],
    [
      'from a navigation',
      'only the browser itself sends it',
      () => [proofOf(), { 'sec-fetch-mode': 'navigate' }],
    ],
    ['without a proof', 'malformed', () => [undefined]],
    ['with an empty proof', 'malformed', () => ['']],
    ['without its key', 'malformed', () => [KEY.prove(challengeOf('registration'))]],
    ['with another challenge', CHALLENGE, () => [proofOf(KEY, 'x')]],
    ['with that of a refresh', CHALLENGE, () => [proofOf(KEY, challengeOf('refresh'))]],
    ['with that of another session', CHALLENGE, () => [proofOf(KEY, challengeOf('registration', 'two'))]],
    [
      'with a late challenge',
      CHALLENGE,
      () => {
        const proof = proofOf()
        clock.now += 120_000
        return [proof]
      },
    ],
    [
      'of a key that it has not proved',
      'the key or its signature is not valid',
      () => [THIEF.prove(challengeOf('registration'), { header: { jwk: KEY.jwk } })],
    ],
  ])('%s is refused: %s', async (_what, cause, given) => {
    await expect(register(...given())).rejects.toMatchObject(refused(cause))
    expect([calls, await counted('sessionsBound')]).toEqual([[], []])
    expect(audited()).toEqual([['bound_session_refused', 'proof_refused', PUBLIC_ID]])
  })

  test('without a session, or of one that ends meanwhile, is 401', async () => {
    stored = undefined
    await expect(register(proofOf())).rejects.toMatchObject({ status: 401 })
    session = undefined
    await expect(register(proofOf())).rejects.toMatchObject({ status: 401 })
    expect(audited()).toEqual([])
  })

  test('of the key that the session has is answered again, and not counted again', async () => {
    ;[session, stored] = [bound, bound]
    expect(await register(proofOf())).toEqual(renewed())
    expect([await counted('sessionsBound'), audited()]).toEqual([[], []])
  })

  test.each(['before', 'at the same time'])(
    'of a second key is refused: the first one was bound %s',
    async (when) => {
      stored = bound
      if (when === 'before') session = bound
      const refusal = refused('the session is bound to another key')
      await expect(register(proofOf(THIEF))).rejects.toMatchObject(refusal)
      expect(stored.binding).toBe(BINDING)
      expect(calls).toHaveLength(when === 'before' ? 0 : 1)
      expect(audited()).toEqual([['bound_session_refused', 'proof_refused', PUBLIC_ID]])
    },
  )
})

describe('a refresh', () => {
  beforeEach(() => {
    session = bound
  })
  const nameOf = (id = 'one') => boundSessions.tokens.nameOf(id)
  const refresh = (proof?: string, name: unknown = nameOf()) =>
    call('refresh', {
      'sec-secure-session-id': name,
      ...(proof === undefined ? {} : { 'secure-session-response': proof }),
    })
  const CONTINUE_NOT = {
    json: { continue: false },
    headers: expect.not.objectContaining({ 'Set-Cookie': expect.anything() }),
  }
  const asked = (cause: string) => ({
    ...refused(cause),
    headers: { 'Secure-Session-Challenge': boundSessions.challengeHeader('one', nameOf()) },
  })

  test('with a proof renews the cookie, with the name in quotes or not', async () => {
    for (const name of [nameOf(), `"${nameOf()}"`])
      expect(await refresh(KEY.prove(challengeOf('refresh')), name)).toEqual(renewed())
    expect([calls, audited()]).toEqual([[], []])
  })

  test('without the name of a session is refused: no browser sends that', async () => {
    await expect(call('refresh', {})).rejects.toMatchObject({
      status: 400,
      causes: ['Sec-Secure-Session-Id: missing; only browsers send it'],
    })
  })

  test.each<[string, () => unknown]>([
    ['another session', () => nameOf('two')],
    ['no session', () => ''],
    ['two sessions', () => `${nameOf()}, ${nameOf()}`],
    ['a session in an open quote', () => `"${nameOf()}`],
    [
      'its session, which has ended',
      () => {
        session = undefined
        return nameOf()
      },
    ],
    [
      'its session, which is not bound',
      () => {
        session = unbound
        return nameOf()
      },
    ],
  ])('that names %s makes the browser forget its key, and ends nothing', async (_what, nameFor) => {
    countAttempt = () => Promise.reject(new Error('nothing is counted'))
    const name = nameFor()
    expect(await refresh(THIEF.prove(challengeOf('refresh')), name)).toEqual(CONTINUE_NOT)
    expect([calls, audited()]).toEqual([[], []])
  })

  test('without a proof, or with a late one, is asked for one, and is no refusal', async () => {
    await expect(refresh()).rejects.toMatchObject(asked('missing; sign the challenge'))
    const [late, thiefs] = [KEY.prove(challengeOf('refresh')), THIEF.prove(challengeOf('refresh'))]
    clock.now += 300_000
    for (const proof of [late, thiefs])
      await expect(refresh(proof)).rejects.toMatchObject(asked('the challenge is too old'))
    expect([calls, audited()]).toEqual([[], []])
  })

  test.each<[string, () => string]>([
    ['that is no JWS', () => 'x'],
    ['with a key in it', () => THIEF.prove(challengeOf('refresh'), { header: { jwk: THIEF.jwk } })],
    ['with another challenge', () => THIEF.prove('unknown')],
    ['with that of a registration', () => THIEF.prove(challengeOf('registration'))],
    ['with that of another session', () => THIEF.prove(challengeOf('refresh', 'two'))],
    [
      'with a short signature',
      () => THIEF.prove(challengeOf('refresh'), { signature: (full) => full.subarray(1) }),
    ],
  ])('with a proof %s is asked again and reported, and ends nothing', async (_what, proofFor) => {
    const cause = 'malformed, or not for a challenge of this session'
    await expect(refresh(proofFor())).rejects.toMatchObject(asked(cause))
    expect([calls, audited()]).toEqual([[], [['bound_session_refused', 'proof_refused', PUBLIC_ID]]])
  })

  test('with the proof of another key ends the session: its cookies are stolen', async () => {
    expect(await refresh(THIEF.prove(challengeOf('refresh')))).toEqual(CONTINUE_NOT)
    expect(calls).toEqual([['end', 'one', 'key_mismatch']])
    expect(await counted('boundSessionRefusals')).toEqual([['key_mismatch', 1]])
    expect(audited()).toEqual([['session_key_mismatch', undefined, PUBLIC_ID]])
  })

  test.each([
    [59_001, '60'],
    [1, '1'],
    [0, '1'],
  ])('above the limit is 503: %d ms are left, %s s', async (leftMs, seconds) => {
    countAttempt = async (request) => {
      calls.push(request)
      return { overridden: false, full: { index: 0, leftMs }, countedWindows: [] }
    }
    await expect(refresh(KEY.prove(challengeOf('refresh')))).rejects.toMatchObject({
      status: 503,
      isOfClient: true,
      headers: { 'Retry-After': seconds },
    })
    // by the name of the session, so that its id is not in the store
    const window = { name: 'bound_session_refresh', keySuffix: '', maxAttempts: 60, ttlMs: 60_000 }
    expect(calls).toEqual([{ keyPrefix: `gatehouse:limit:{${nameOf()}}`, windows: [window] }])
    expect(await counted('limitHits')).toEqual([['bound_session_refresh', 1]])
    expect(audited()).toEqual([['bound_session_refused', 'too_many_refreshes', PUBLIC_ID]])
  })

  test('is not counted while Redis refuses to write, and is 503 while it is out of reach', async () => {
    countAttempt = () =>
      Promise.reject(storeUnavailable(new DependencyFailure('refused', { code: 'READONLY' })))
    expect(await refresh(KEY.prove(challengeOf('refresh')))).toEqual(renewed())
    countAttempt = () =>
      Promise.reject(storeUnavailable(new DependencyFailure('timeout', { code: 'timeout' })))
    await expect(refresh(KEY.prove(challengeOf('refresh')))).rejects.toMatchObject({
      status: 503,
      dependency: 'store',
    })
  })
})
