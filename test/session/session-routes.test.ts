import { beforeEach, describe, expect, test } from '@jest/globals'
import { storeUnavailable } from '../../src/errors.ts'
import type { IdentifiedSession } from '../../src/session/session.ts'
import { createSessionCookie } from '../../src/session/session-cookie.ts'
import {
  createOwnSessionsRoutes,
  createSessionRoutes,
  type SessionRoutesOptions,
} from '../../src/session/session-routes.ts'
import { formatTimes } from '../../src/session/session-times.ts'
import { serve } from '../http/serve.ts'
import { collectLog } from '../observability/collect-log.ts'
import { useKeeper } from '../support/keeper.ts'
import { START, sessionWith } from './grant.ts'

/** The routes alone: sessions are what the test says. */

const ME = '/api/v1/sessions/me'
const ALL = '/api/v1/sessions'
const MINUTE = 60_000
const LIMITS = { idleMs: 30 * MINUTE, absoluteMs: 720 * MINUTE }
const OWN = { id: 'secret-own', session: sessionWith({ publicId: 'own' }) }
const OTHER = {
  id: 'secret-other',
  session: sessionWith({
    publicId: 'other',
    userAgent: 'Phone/2',
    createdAtMs: START - 2 * MINUTE,
    lastSeenAtMs: START - MINUTE,
    binding: { jwk: { kty: 'RSA', n: 'modulus', e: 'AQAB' }, boundAtMs: START, isUsed: true },
  }),
}

const keep = useKeeper()
const clock = { now: START }
let calls: unknown[]
beforeEach(() => {
  clock.now = START
  calls = []
})

/** `own`: of the request's cookies; `isProved`: whether it also has the bound cookie. */
async function routesFor(
  own: IdentifiedSession | undefined,
  changed: Partial<SessionRoutesOptions> & { readonly isProved?: boolean } = {},
) {
  const { isProved = true, ...options } = changed
  const collected = collectLog()
  const sessions: Partial<SessionRoutesOptions['sessions']> = {
    limits: LIMITS,
    formatTimes: (session) => formatTimes(session, LIMITS),
    find: () => (isProved ? own : undefined),
    findUnproved: () => own,
    list: async (userId) => {
      calls.push(['list', userId])
      return [OWN, OTHER]
    },
    async end({ id }, reason) {
      calls.push(['end', id, reason])
    },
  }
  const all: SessionRoutesOptions = {
    publicOrigin: 'https://portal.example',
    sessions: sessions as SessionRoutesOptions['sessions'], // the rest is not called
    async endAllSessions(userId, reason, audit, keepOf) {
      calls.push(['endAll', userId, reason, keepOf])
      audit(2)
      return 2
    },
    recentSignInMinutes: 15,
    now: () => clock.now,
    sessionCookie: createSessionCookie({ masterKeys: [Buffer.alloc(32)], secure: true, sameSite: 'lax' }),
    // the rest is not called
    boundSessions: {
      clearIn: () => ['bound=; Max-Age=0'],
    } as unknown as SessionRoutesOptions['boundSessions'],
    oktaSignOut: undefined,
    signOutClears: [],
    deviceCookie: { ensure: (_req, res) => res.append('Set-Cookie', 'device=new') },
    log: collected.log,
    ...options,
  }
  const served = keep(
    await serve({ routes: [...createSessionRoutes(all), ...createOwnSessionsRoutes(all)], collected }),
  )
  const ask = (method: string, path: string) => served.ask({ method, path })
  const audited = () =>
    collected
      .lines()
      .filter(({ audit }) => audit === true)
      .map(({ event, sessionId, reason, count }) => ({ event, sessionId, reason, count }))
  return { ask, audited }
}

const refused = (status: number, errorCode: string, cause?: unknown) => ({
  status,
  json: expect.objectContaining({
    errorCode,
    ...(cause === undefined ? {} : { errorCauses: [{ errorSummary: cause }] }),
  }),
})

describe('without a session', () => {
  test.each([
    ['GET', ME, 404, 'E0000007'],
    ['DELETE', ME, 404, 'E0000007'],
    ['GET', '/api/v1/users/me', 401, 'E0000005'],
    ['GET', ALL, 401, 'E0000005'],
    ['DELETE', ALL, 401, 'E0000005'],
    ['DELETE', `${ALL}/other`, 401, 'E0000005'],
  ])('%s %s is %d', async (method, path, status, code) => {
    const { ask } = await routesFor(undefined)
    expect(await ask(method, path)).toMatchObject(refused(status, code))
    expect(calls).toEqual([])
  })

  test('the browser has its device cookie before it signs in, and from no other route', async () => {
    const { ask } = await routesFor(undefined)
    expect((await ask('GET', ME)).headers['set-cookie']).toEqual(['device=new'])
    for (const path of [ALL, '/api/v1/users/me'])
      expect((await ask('GET', path)).headers).not.toHaveProperty('set-cookie')
  })

  test('the error names what is missing', async () => {
    const { ask } = await routesFor(undefined)
    const { json } = await ask('GET', ME)
    expect(json).toMatchObject({ errorSummary: 'Not found: Resource not found: me (Session)' })
  })
})

// shows: V7.5.2
test('the list says of each session when it began, was used and ends, where, and which one this is', async () => {
  const { ask } = await routesFor(OWN)
  const { json, text } = await ask('GET', ALL)
  expect(json).toEqual({
    sessions: [
      {
        id: 'own',
        createdAt: '2026-11-05T06:00:00.000Z',
        lastSeenAt: '2026-11-05T06:00:00.000Z',
        expiresAt: '2026-11-05T18:00:00.000Z',
        current: true,
        userAgent: 'Test/1',
        deviceBound: false,
      },
      {
        id: 'other',
        createdAt: '2026-11-05T05:58:00.000Z',
        lastSeenAt: '2026-11-05T05:59:00.000Z',
        expiresAt: '2026-11-05T17:58:00.000Z',
        current: false,
        userAgent: 'Phone/2',
        deviceBound: true,
      },
    ],
  })
  expect(text).not.toContain('secret')
  expect(calls).toEqual([['list', OWN.session.userId]])
})

describe('a user ends other sessions', () => {
  const signedIn = (minutesAgo: number) => ({
    ...OWN,
    session: { ...OWN.session, authenticatedAtMs: START - minutesAgo * MINUTE },
  })

  // shows: V7.5.2
  test('all of them, but not this one', async () => {
    const { ask, audited } = await routesFor(signedIn(15))
    expect(await ask('DELETE', ALL)).toMatchObject({ status: 204, text: '' })
    expect(calls).toEqual([['endAll', OWN.session.userId, 'by_user', { id: OWN.id }]])
    expect(audited()).toEqual([{ event: 'sessions_revoked', sessionId: 'own', reason: 'by_user', count: 2 }])
  })

  test('one of them', async () => {
    const { ask, audited } = await routesFor(signedIn(15))
    const answer = await ask('DELETE', `${ALL}/other`)
    expect([answer.status, answer.headers['set-cookie']]).toEqual([204, undefined])
    expect(calls).toEqual([
      ['list', OWN.session.userId],
      ['end', OTHER.id, 'by_user'],
    ])
    expect(audited()).toEqual([{ event: 'sessions_revoked', sessionId: 'own', reason: 'by_user', count: 1 }])
  })

  test.each(['nobody', 'secret-other'])('not one that the user does not have: %s', async (id) => {
    const { ask, audited } = await routesFor(OWN)
    const answer = await ask('DELETE', `${ALL}/${id}`)
    expect(answer).toMatchObject(refused(404, 'E0000007'))
    expect(answer.json).toMatchObject({ errorSummary: 'Not found: Resource not found: session' })
    expect([calls, audited()]).toEqual([[['list', OWN.session.userId]], []])
  })

  test.each([ALL, `${ALL}/other`])(
    'not with a sign-in that is older than 15 minutes, so that no stranger at the screen can: %s',
    async (path) => {
      const { ask, audited } = await routesFor(signedIn(15))
      clock.now += 1
      const cause = 'authenticatedAt: the last sign-in must not be older than 15 minutes'
      expect(await ask('DELETE', path)).toMatchObject(refused(403, 'sign_in_again', cause))
      expect([calls, audited()]).toEqual([[], []])
    },
  )
})

describe('a sign-out', () => {
  const FROM_OKTA = 'https://acme.okta.com/login/signout'
  const DELETIONS = [
    '__Host-gatehouse=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax',
    'bound=; Max-Age=0',
  ]

  // shows: V7.4.1, V14.3.1
  test.each([
    ['by the public id', `${ALL}/own`, {}],
    ['by "me"', ME, {}],
    ['by "me", without the bound cookie', ME, { isProved: false }],
  ])('%s works however long ago the sign-in was, and deletes all cookies', async (_how, path, options) => {
    const { ask, audited } = await routesFor(OWN, options)
    clock.now += LIMITS.absoluteMs
    const { status, text, headers } = await ask('DELETE', path)
    expect([status, text, headers['set-cookie']]).toEqual([204, '', DELETIONS])
    expect(headers).not.toHaveProperty('x-gatehouse-sign-out')
    expect(headers).not.toHaveProperty('clear-site-data')
    expect(calls).toEqual([['end', OWN.id, 'signed_out']])
    expect(audited()).toMatchObject([{ event: 'signed_out', sessionId: 'own' }])
  })

  test('tells the page what else to end and to delete, if that is configured', async () => {
    const { ask } = await routesFor(OWN, { oktaSignOut: FROM_OKTA, signOutClears: ['cache', 'storage'] })
    const { headers } = await ask('DELETE', ME)
    expect(headers['x-gatehouse-sign-out']).toBe(FROM_OKTA)
    expect(headers['clear-site-data']).toBe('"cache", "storage"')
  })

  test('of a session that has ended is 404, and that at Okta still ends', async () => {
    const { ask } = await routesFor(undefined, { oktaSignOut: FROM_OKTA, signOutClears: ['storage'] })
    const { status, headers } = await ask('DELETE', ME)
    expect([status, headers['x-gatehouse-sign-out']]).toEqual([404, FROM_OKTA])
    expect(headers).not.toHaveProperty('clear-site-data')
  })

  test('that fails tells of nothing: the user is still signed in', async () => {
    const failing: Partial<SessionRoutesOptions['sessions']> = {
      limits: LIMITS,
      findUnproved: () => OWN,
      end: () => Promise.reject(storeUnavailable()),
    }
    const { ask, audited } = await routesFor(OWN, {
      oktaSignOut: FROM_OKTA,
      signOutClears: ['storage'],
      sessions: failing as SessionRoutesOptions['sessions'], // the rest is not called
    })
    const { status, headers } = await ask('DELETE', ME)
    expect(status).toBe(503)
    for (const name of ['x-gatehouse-sign-out', 'clear-site-data', 'set-cookie'])
      expect(headers).not.toHaveProperty(name)
    expect(audited()).toEqual([])
  })
})
