import { describe, expect, test } from '@jest/globals'
import type { Request, Response } from 'express'
import { v4 as uuid } from 'uuid'
import { createSeal } from '../../src/crypto/keys.ts'
import { storeUnavailable } from '../../src/errors.ts'
import { DependencyFailure } from '../../src/observability/dependency-failure.ts'
import { useKeeper } from '../support/keeper.ts'
import { GRANT, START } from './grant.ts'
import {
  ABSOLUTE_MS,
  DEVICE_HEADER,
  EXTEND_EVERY_MS,
  FIRST_KEY,
  type HarnessOptions,
  IDLE_MS,
  MAX_PER_USER,
  newSession,
  openSession,
  startSessionHarness,
} from './session-harness.ts'

const keep = useKeeper()
const harness = async (options?: HarnessOptions) => keep(await startSessionHarness(options))

/** A harness with one session. */
async function signedIn(options?: HarnessOptions) {
  const own = await harness(options)
  return { ...own, ...(await own.signIn()) }
}

/** For a new device. */
const grant = () => ({ ...GRANT, deviceId: uuid() })
const ME = '/api/v1/sessions/me'
const REFRESH = `${ME}/lifecycle/refresh`
const USES = [
  ['GET', ME] as const,
  ['DELETE', ME] as const,
  ['POST', REFRESH] as const,
  ['GET', '/need'] as const,
]

describe('no session', () => {
  test('reading the session is 404, requiring it is 401, and no cookie is set', async () => {
    const { call, traffic } = await harness()
    for (const [method, path, status, errorCode] of [
      ['GET', ME, 404, 'E0000007'],
      ['DELETE', ME, 404, 'E0000007'],
      ['POST', REFRESH, 404, 'E0000007'],
      ['GET', '/need', 401, 'E0000005'],
      ['GET', '/api/v1/users/me', 401, 'E0000005'],
    ] as const) {
      const answer = await call(method, path)
      expect([answer.status, answer.json]).toEqual([status, expect.objectContaining({ errorCode })])
      expect(answer.headers).not.toHaveProperty('set-cookie')
    }
    expect(traffic).toMatchObject({ reads: 0, writes: 0 })
  })
})

describe('an invalid session cookie', () => {
  // shows: V7.2.1
  test.each<[string, (cookieHeader: string) => string]>([
    ['an id alone', (cookieHeader) => cookieHeader.replace(/=.*$/, '=x')],
    ['without `s:`', (cookieHeader) => cookieHeader.replace(/=s%3A/, '=')],
    ['without its signature', (cookieHeader) => cookieHeader.replace(/\..*$/, '')],
    ['cut', (cookieHeader) => cookieHeader.slice(0, -1)],
    [
      'with one character changed',
      (cookieHeader) => cookieHeader.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    ],
    [
      'with another id under the same signature',
      (cookieHeader) => cookieHeader.replace(/(?<=s%3A)./, (first) => (first === '_' ? '-' : '_')),
    ],
    ['under another name', (cookieHeader) => cookieHeader.replace('__Host-gatehouse=', 'gatehouse=')],
    ['in percent signs that mean nothing', (cookieHeader) => cookieHeader.replace(/=.*$/, '=%zz%')],
    ['very long', (cookieHeader) => cookieHeader + 'A'.repeat(8000)],
  ])('%s: no session, no cookie is set, nothing is written', async (_name, forge) => {
    const { call, traffic, cookieHeader } = await signedIn()
    traffic.writes = 0
    for (const [method, path] of USES) {
      const answer = await call(method, path, forge(cookieHeader))
      expect([401, 404]).toContain(answer.status)
      expect(answer.headers).not.toHaveProperty('set-cookie')
    }
    expect(traffic.writes).toBe(0)
    expect((await call('GET', ME, cookieHeader)).status).toBe(200)
  })
})

test('a check of a session cookie is counted by its result; a request without one is not', async () => {
  const { call, store, clock, metrics, cookieHeader, signIn } = await signedIn()
  const checked = async () => {
    const { values } = await metrics.sessionChecks.get()
    metrics.sessionChecks.reset()
    return Object.fromEntries(values.map(({ labels, value }) => [labels.result, value]))
  }
  await call('GET', ME)
  expect(await checked()).toEqual({})
  await call('GET', ME, cookieHeader)
  await call('GET', '/need', cookieHeader)
  expect(await checked()).toEqual({ session: 2 })
  await store.deleteAll('gatehouse:')
  await call('GET', ME, cookieHeader)
  expect(await checked()).toEqual({ no_session: 1 })

  const again = await signIn()
  clock.now -= ABSOLUTE_MS // the store's clock is this one too, so the record stays
  clock.now += 2 * ABSOLUTE_MS
  await call('GET', ME, again.cookieHeader)
  expect(await checked()).toEqual({ no_session: 1 })
})

test('a request reads its session once, also one that has ended, whatever asks for it', async () => {
  const { call, store, traffic, cookieHeader } = await signedIn()
  await store.deleteAll('gatehouse:sess:')
  traffic.reads = 0
  const headers = { 'X-Gatehouse-Session': 'the id that the page has seen' }
  expect((await call('GET', ME, cookieHeader, headers)).status).toBe(404)
  expect(traffic.reads).toBe(1)
})

test('a session that was loaded for an application’s cookie stays that of the request', async () => {
  const { sessions, signIn, traffic, cookieHeader } = await signedIn()
  const req = { headers: { cookie: cookieHeader } } as Request
  await sessions.loadHandedOver(req, { sessionId: (await signIn()).id, isKeyProved: false })
  const loaded = req.stored
  traffic.reads = 0
  await sessions.load(req, {} as Response)
  expect([req.stored, traffic.reads]).toEqual([loaded, 0])
})

test('a record that was copied under the id of another session is no session', async () => {
  const { call, sessions, clock, entries, stored, cookieHeader } = await signedIn()
  const [own = ''] = stored()
  const other = await openSession({ sessions, clock }, GRANT)
  const copied = entries.get(`gatehouse:sess:${other.id}`)
  if (copied === undefined) throw new Error('a session is there')
  entries.set(own, copied)
  const ofItsDevice = { [DEVICE_HEADER]: GRANT.deviceId }
  expect((await call('GET', ME, cookieHeader, ofItsDevice)).status).toBe(404)
})

describe('key rotation', () => {
  test('cookies and records of a retired key are valid, and can be extended and ended', async () => {
    const { call, restartWith, clock, stored, cookieHeader } = await signedIn()
    restartWith(Buffer.alloc(32, 2), Buffer.alloc(32, 1))
    expect((await call('GET', ME, cookieHeader)).status).toBe(200)
    clock.now += EXTEND_EVERY_MS
    expect((await call('GET', '/need', cookieHeader)).status).toBe(200)
    expect(stored().length).toBe(1)
    clock.now += IDLE_MS - 1
    expect((await call('GET', ME, cookieHeader)).status).toBe(200)
    expect((await call('DELETE', ME, cookieHeader)).status).toBe(204)
    expect(stored().length).toBe(0)
  })
})

describe('a new session', () => {
  test('the store contains no readable data, and does not show whose session it is', async () => {
    const own = await harness()
    const { id } = await openSession(own, GRANT)
    const stored = [...own.entries].map(([key, { content }]) =>
      typeof content === 'string' ? [key, content] : [key, ...content.values()],
    )
    expect(stored).toHaveLength(3)
    for (const secret of ['ada@example.com', '"firstName"', '00u1person', GRANT.deviceId])
      expect(stored.join()).not.toContain(secret)
    expect(stored.join().split(id)).toHaveLength(2) // in the key of the record only
  })

  // shows: V3.3.4
  test('the response contains a public id, and never the id in the cookie', async () => {
    const { call, cookieHeader, id } = await signedIn()
    const answer = await call('GET', ME, cookieHeader)
    expect(answer.json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      userId: '00u1person',
      login: 'ada@example.com',
      profile: GRANT.profile,
      status: 'ACTIVE',
      createdAt: '2026-11-05T06:00:00.000Z',
      authenticatedAt: '2026-11-05T06:00:00.000Z',
      expiresAt: '2026-11-05T18:00:00.000Z',
      idleExpiresAt: '2026-11-05T06:30:00.000Z',
      amr: ['pwd', 'otp', 'mfa'],
      deviceBound: false,
      _links: {
        self: { href: 'https://portal.example/api/v1/sessions/me', hints: { allow: ['GET', 'DELETE'] } },
        refresh: {
          href: 'https://portal.example/api/v1/sessions/me/lifecycle/refresh',
          hints: { allow: ['POST'] },
        },
        user: { href: 'https://portal.example/api/v1/users/me', hints: { allow: ['GET'] } },
      },
    })
    expect(JSON.stringify(answer)).not.toContain(id)
  })

  test('the user is returned', async () => {
    const { call, cookieHeader } = await signedIn()
    const answer = await call('GET', '/api/v1/users/me', cookieHeader)
    expect([answer.status, answer.json]).toEqual([
      200,
      { id: '00u1person', status: 'ACTIVE', profile: { firstName: 'Ada', login: 'ada@example.com' } },
    ])
  })

  // shows: V7.2.4
  test('ends the previous session of this browser, and no other session', async () => {
    const { call, signIn, metrics } = await harness()
    const elsewhere = await signIn()
    const before = await signIn()
    const after = await signIn(before.cookieHeader)
    expect((await call('GET', ME, before.cookieHeader)).status).toBe(404)
    expect((await call('GET', ME, after.cookieHeader)).status).toBe(200)
    expect((await call('GET', ME, elsewhere.cookieHeader)).status).toBe(200)
    expect((await metrics.sessionsEnded.get()).values).toEqual([
      expect.objectContaining({ labels: { reason: 'replaced' }, value: 1 }),
    ])
  })
})

describe('idle and absolute limits, by the broker’s clock', () => {
  // shows: V7.3.1
  test('a session ends exactly at its idle limit', async () => {
    const { call, clock, cookieHeader } = await signedIn()
    clock.now = START + IDLE_MS - 1
    expect((await call('GET', ME, cookieHeader)).status).toBe(200)
    clock.now = START + IDLE_MS
    expect((await call('GET', ME, cookieHeader)).status).toBe(404)
    expect((await call('GET', '/need', cookieHeader)).status).toBe(401)
    expect((await call('POST', REFRESH, cookieHeader)).status).toBe(404)
  })

  // shows: V7.3.2
  test('a session ends at its absolute limit, even if it is used', async () => {
    const { call, clock, cookieHeader } = await signedIn()
    while (clock.now + IDLE_MS / 2 < START + ABSOLUTE_MS) {
      clock.now += IDLE_MS / 2
      expect((await call('GET', '/need', cookieHeader)).status).toBe(200)
    }
    expect((await call('GET', ME, cookieHeader)).json).toMatchObject({
      expiresAt: '2026-11-05T18:00:00.000Z',
      idleExpiresAt: '2026-11-05T18:00:00.000Z',
    })
    clock.now = START + ABSOLUTE_MS
    expect((await call('GET', '/need', cookieHeader)).status).toBe(401)
    expect((await call('POST', REFRESH, cookieHeader)).status).toBe(404)
  })
})

describe('extending', () => {
  // shows: V3.5.3
  test('reading the session neither extends nor writes it', async () => {
    const { call, clock, traffic, cookieHeader } = await signedIn()
    Object.assign(traffic, { reads: 0, writes: 0 })
    for (const path of [ME, '/need']) await call('GET', path, cookieHeader)
    clock.now += IDLE_MS / 2
    for (let look = 0; look < 3; look++) await call('GET', ME, cookieHeader)
    expect(traffic).toMatchObject({ reads: 5, writes: 0 }) // one for each request
    expect((await call('GET', ME, cookieHeader)).json).toMatchObject({
      idleExpiresAt: '2026-11-05T06:30:00.000Z',
    })
  })

  test.each([
    ['GET', '/api/v1/users/me', 200],
    ['GET', '/api/v1/sessions', 200],
    ['DELETE', '/api/v1/sessions', 204],
    ['DELETE', '/api/v1/sessions/{the other one}', 204],
    ['DELETE', '/api/v1/sessions/nobodys-id', 404],
  ])('%s %s does not extend it', async (method, path, leadsTo) => {
    const { call, sessions, clock, cookieHeader } = await signedIn()
    const other = await openSession({ sessions, clock }, GRANT)
    clock.now += IDLE_MS / 2
    const answer = await call(method, path.replace('{the other one}', other.publicId), cookieHeader)
    expect(answer.status).toBe(leadsTo)
    expect((await call('GET', ME, cookieHeader)).json).toMatchObject({
      idleExpiresAt: '2026-11-05T06:30:00.000Z',
    })
    clock.now = START + IDLE_MS
    expect((await call('GET', '/api/v1/sessions', cookieHeader)).status).toBe(401)
  })

  test('using the session extends it, with at most one write a minute', async () => {
    const { call, clock, traffic, cookieHeader } = await signedIn()
    traffic.writes = 0
    for (let second = 1; second <= 180; second += 10) {
      clock.now = START + second * 1000
      expect((await call('GET', '/need', cookieHeader)).status).toBe(200)
    }
    expect(traffic.writes).toBe(2)
    expect((await call('GET', ME, cookieHeader)).json).toMatchObject({
      idleExpiresAt: '2026-11-05T06:32:01.000Z',
    })
  })

  test('with an idle time of one minute, a session stays open while it is in use', async () => {
    const { call, clock, traffic, cookieHeader } = await signedIn({ idleMs: 60_000 })
    traffic.writes = 0
    for (let second = 20; second <= 180; second += 20) {
      clock.now = START + second * 1000
      expect([second, (await call('GET', '/need', cookieHeader)).status]).toEqual([second, 200])
    }
    expect(traffic.writes).toBe(4) // every 40 s: the first use after half of the idle time
  })

  test('a refresh extends it at once', async () => {
    const { call, clock, cookieHeader } = await signedIn()
    clock.now += 1000
    const answer = await call('POST', REFRESH, cookieHeader)
    expect([answer.status, answer.json]).toEqual([
      200,
      expect.objectContaining({ idleExpiresAt: '2026-11-05T06:30:01.000Z' }),
    ])
    expect(answer.headers).not.toHaveProperty('set-cookie')
  })

  test('a clock that was set back does not end a session', async () => {
    const { call, clock, cookieHeader } = await signedIn()
    clock.now -= 3_600_000
    expect((await call('GET', '/need', cookieHeader)).status).toBe(200)
  })
})

describe('ending', () => {
  // shows: V7.4.1, V14.3.1
  test.each(['me', 'the public id'])(
    'a sign-out by %s takes effect at once and deletes the cookie',
    async (by) => {
      const { call, stored, lines, metrics, cookieHeader } = await signedIn()
      // the response of `/sessions/me`
      const { id } = (await call('GET', ME, cookieHeader)).json as { id: string }
      const path = by === 'me' ? ME : `/api/v1/sessions/${id}`
      const answer = await call('DELETE', path, cookieHeader)
      expect([answer.status, answer.text]).toEqual([204, ''])
      expect(answer.headers['set-cookie']).toEqual([
        '__Host-gatehouse=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax',
      ])
      expect(answer.headers).not.toHaveProperty('clear-site-data') // leaves the storage alone
      expect(stored()).toEqual([])
      expect((await call('GET', ME, cookieHeader)).status).toBe(404)
      expect((await call('DELETE', ME, cookieHeader)).status).toBe(404)
      expect(lines().filter(({ audit }) => audit === true)).toEqual([
        expect.objectContaining({
          event: 'signed_out',
          sessionId: id,
          userId: '00u1person',
          deviceHash: GRANT.deviceHash,
          address: '127.0.0.1',
        }),
      ])
      expect(JSON.stringify(lines())).not.toContain('ada@')
      expect(await metrics.registry.metrics()).toMatch(/sessions_ended_total\{reason="signed_out"\} 1/)
    },
  )

  test.each(['me', 'the public id'])(
    'with OKTA_SIGN_OUT, a sign-out by %s tells where the Okta session ends; without it, it does not',
    async (by) => {
      const oktaSignOut = 'https://acme.okta.com/login/signout?fromURI=https%3A%2F%2Fportal.example%2F'
      for (const options of [{ oktaSignOut }, {}]) {
        const { call, cookieHeader } = await signedIn(options)
        // the response of `/sessions/me`
        const { id } = (await call('GET', ME, cookieHeader)).json as { id: string }
        const path = by === 'me' ? ME : `/api/v1/sessions/${id}`
        const { status, headers } = await call('DELETE', path, cookieHeader)
        expect([status, headers['x-gatehouse-sign-out']]).toEqual([204, options.oktaSignOut])
      }
    },
  )

  test('with SIGN_OUT_CLEARS, the browser is told to delete more', async () => {
    const { call, cookieHeader } = await signedIn({ signOutClears: ['cache', 'storage'] })
    const { headers } = await call('DELETE', ME, cookieHeader)
    expect(headers['clear-site-data']).toBe('"cache", "storage"')
  })

  test('with OKTA_SIGN_OUT, a session that has ended elsewhere does not keep the Okta session from ending', async () => {
    const oktaSignOut = 'https://acme.okta.com/login/signout?fromURI=https%3A%2F%2Fportal.example%2F'
    const { call, sessions, clock, traffic, cookieHeader } = await signedIn({ oktaSignOut })
    const other = await openSession({ sessions, clock }, GRANT)
    const signOutOf = async (method: string, path: string) => {
      const { status, headers } = await call(method, path, cookieHeader)
      return [status, headers['x-gatehouse-sign-out']]
    }
    expect(await signOutOf('DELETE', `/api/v1/sessions/${other.publicId}`)).toEqual([204, undefined])
    traffic.unavailable = true
    expect(await signOutOf('DELETE', ME)).toEqual([503, undefined]) // the user is still signed in
    traffic.unavailable = false
    await sessions.endAll(GRANT.userId, 'by_admin')
    expect(await signOutOf('GET', ME)).toEqual([404, undefined])
    expect(await signOutOf('DELETE', ME)).toEqual([404, oktaSignOut])
  })

  test('ending another session by its public id leaves this browser signed in and its site data in place', async () => {
    const { call, sessions, clock, lines, cookieHeader } = await signedIn()
    const other = await openSession({ sessions, clock }, GRANT)
    const answer = await call('DELETE', `/api/v1/sessions/${other.publicId}`, cookieHeader)
    expect(answer.status).toBe(204)
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect(answer.headers).not.toHaveProperty('clear-site-data')
    const audited = lines().filter(({ audit }) => audit === true)
    expect(audited).toEqual([expect.objectContaining({ event: 'sessions_revoked', count: 1 })])
    expect((await call('GET', ME, cookieHeader)).status).toBe(200)
  })
})

describe('all sessions of a user', () => {
  test('end at once, except the kept session and those of other users', async () => {
    const { call, signIn, sessions, stored, metrics } = await harness()
    const [one, two, here] = [await signIn(), await signIn(), await signIn()]
    expect(await sessions.endAll('00u1other', 'by_user')).toBe(0)
    expect((await metrics.sessionsEnded.get()).values).toEqual([])
    expect(await sessions.endAll('00u1person', 'by_user', { id: here.id })).toBe(2)
    for (const { cookieHeader } of [one, two]) expect((await call('GET', ME, cookieHeader)).status).toBe(404)
    expect((await call('GET', ME, here.cookieHeader)).status).toBe(200)
    expect(stored().length).toBe(1)
    expect((await metrics.sessionsEnded.get()).values).toEqual([
      expect.objectContaining({ labels: { reason: 'by_user' }, value: 2 }),
    ])
    expect(await sessions.endAll('00u1person', 'by_user')).toBe(1)
    expect((await call('GET', ME, here.cookieHeader)).status).toBe(404)
  })

  test('are found after a key rotation, under the old and the new key', async () => {
    const { signIn, sessions, restartWith } = await harness()
    await signIn()
    restartWith(Buffer.alloc(32, 2), Buffer.alloc(32, 1))
    await signIn()
    expect(await sessions.endAll('00u1person', 'by_user')).toBe(2)
  })

  test('an index entry that was copied to another user’s index is ignored', async () => {
    const { sessions, entries, call, cookieHeader } = await signedIn()
    const [from = ''] = [...entries.keys()].filter((key) => key.startsWith('gatehouse:user-sess:'))
    const content = entries.get(from)?.content
    if (!(content instanceof Map)) throw new Error('an index is there')
    entries.delete(from)
    entries.set(
      from.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      {
        content,
        expiresAt: Number.POSITIVE_INFINITY,
      },
    )
    expect(await sessions.endAll('00u1person', 'by_user')).toBe(0)
    expect((await call('GET', ME, cookieHeader)).status).toBe(200)
  })

  test('an unreadable index entry is not deleted', async () => {
    const { signIn, sessions, entries } = await harness()
    await signIn()
    const [place = ''] = [...entries.keys()].filter((key) => key.startsWith('gatehouse:user-sess:'))
    const index = entries.get(place)?.content
    if (!(index instanceof Map)) throw new Error('an index is there')
    const seal = createSeal([FIRST_KEY], 'user-session')
    index.set(
      'odd',
      seal.seal(JSON.stringify({ version: 2, publicId: 'odd', id: 'x', createdAtMs: 1 }), place),
    )
    expect(await sessions.list('00u1person')).toHaveLength(1)
    expect(await sessions.endAll('00u1person', 'by_user')).toBe(1)
    expect([...index.keys()]).toEqual(['odd'])
  })

  test('that were created since a given time can be kept', async () => {
    const { signIn, sessions, clock } = await harness()
    await signIn()
    clock.now += 1000
    const later = await signIn()
    expect(await sessions.endAll('00u1person', 'by_admin', { createdSinceMs: clock.now })).toBe(1)
    expect((await sessions.list('00u1person')).map(({ id }) => id)).toEqual([later.id])
    expect(await sessions.endAll('00u1person', 'by_admin', { createdSinceMs: clock.now })).toBe(0)
  })

  test('are listed newest first, and by id if created at the same time', async () => {
    const { sessions, clock } = await harness()
    for (const step of [0, 0, 1000, 0]) {
      clock.now += step
      await openSession({ sessions, clock }, grant())
    }
    const listed = (await sessions.list('00u1person')).map(({ session }) => session)
    const inOrder = listed.toSorted((one, other) =>
      one.createdAtMs === other.createdAtMs
        ? other.publicId.localeCompare(one.publicId)
        : other.createdAtMs - one.createdAtMs,
    )
    expect(listed.map(({ publicId }) => publicId)).toEqual(inOrder.map(({ publicId }) => publicId))
    expect(listed.map(({ createdAtMs }) => createdAtMs - START)).toEqual([1000, 1000, 0, 0])
    clock.now += 60_000
    for (let look = 0; look < 2; look++) expect(await sessions.list('00u1person')).toHaveLength(4)
  })
})

describe('the maximum number of sessions per user', () => {
  type Harness = Awaited<ReturnType<typeof startSessionHarness>>

  const living = async ({ call }: Harness, cookieHeaders: readonly string[]) =>
    (await Promise.all(cookieHeaders.map((cookieHeader) => call('GET', ME, cookieHeader)))).map(
      ({ status }) => status === 200,
    )

  /** Creates sessions one after the other. */
  async function full(own: Harness, count = MAX_PER_USER): Promise<string[]> {
    const cookieHeaders: string[] = []
    for (let n = 0; n < count; n++) {
      cookieHeaders.push((await own.signIn()).cookieHeader)
      own.clock.now += 1000
    }
    return cookieHeaders
  }

  // shows: V7.1.2
  test('a session above the maximum evicts the oldest, which is counted', async () => {
    const own = await harness()
    const cookieHeaders = await full(own, MAX_PER_USER + 1)
    expect(await living(own, cookieHeaders)).toEqual([false, true, true, true, true])
    expect(await own.sessions.list('00u1person')).toHaveLength(MAX_PER_USER)
    expect((await own.metrics.sessionsEnded.get()).values).toEqual([
      expect.objectContaining({ labels: { reason: 'evicted' }, value: 1 }),
    ])
    expect(await openSession(own, grant())).toMatchObject({ evicted: 1 })
  })

  test('the oldest session is the one created first, even if it is used', async () => {
    const own = await harness()
    const cookieHeaders = await full(own)
    own.clock.now += EXTEND_EVERY_MS
    await own.call('POST', REFRESH, cookieHeaders[0])
    await own.signIn()
    expect(await living(own, cookieHeaders)).toEqual([false, true, true, true])
  })

  test('the previous session of the same browser does not count, so no other is evicted', async () => {
    const own = await harness()
    const cookieHeaders = await full(own)
    await own.signIn(cookieHeaders[2])
    expect(await living(own, cookieHeaders)).toEqual([true, true, false, true])
  })

  test('sessions that were idle for too long do not count, even if they are still in the index', async () => {
    const own = await harness()
    const [first = '', ...rest] = await full(own)
    while (own.clock.now < START + 2 * IDLE_MS) {
      own.clock.now += IDLE_MS / 2
      await own.call('POST', REFRESH, first)
    }
    expect(await living(own, rest)).toEqual([false, false, false])
    expect(await openSession(own, grant())).toMatchObject({ evicted: 0 })
    expect(await living(own, [first])).toEqual([true])
  })
})

describe('an index entry whose session is not written yet', () => {
  test('is not deleted by a listing, so that the session can be ended later', async () => {
    const own = await harness()
    const { cookieHeader, id } = await own.signIn()
    const [place = ''] = own.stored()
    const record = own.entries.get(place)
    if (record === undefined) throw new Error('a session is there')
    own.entries.delete(place) // as if the index had been written first
    expect(await own.sessions.list('00u1person')).toEqual([])
    expect(await own.sessions.endAll('00u1person', 'by_admin')).toBe(0)
    own.entries.set(place, record)
    expect((await own.sessions.list('00u1person')).map((one) => one.id)).toEqual([id])
    expect(await own.sessions.endAll('00u1person', 'by_admin')).toBe(1)
    expect((await own.call('GET', ME, cookieHeader)).status).toBe(404)
  })

  test('is deleted if no session follows', async () => {
    const own = await harness()
    await own.signIn()
    for (const place of own.stored()) own.entries.delete(place)
    const index = [...own.entries].find(([, { content }]) => content instanceof Map)?.[0] ?? ''
    expect(index).toMatch(/^gatehouse:user-sess:[\w-]{43}$/)
    own.clock.now += 60_000
    await own.sessions.list('00u1person')
    expect([...own.entries.keys()]).not.toContain(index)
  })
})

describe('opening a session', () => {
  type Harness = Awaited<ReturnType<typeof startSessionHarness>>
  const DEVICE = 'one-device'
  const ofDevice = { ...GRANT, deviceId: DEVICE }
  const another = { ...ofDevice, userId: '00u1other' }

  /** Written, and bound to its device. */
  async function bound(own: Harness, granted = ofDevice) {
    const { opening } = own.sessions
    const opened = newSession(own, granted)
    const writing = opening.write(opened)
    await writing
    const taken = await opening.takeDevice(opened)
    return {
      ...opened,
      replace: (presentedId: string | undefined, mayReplaceOtherUser: boolean) =>
        opening.replace(opened, taken, presentedId, mayReplaceOtherUser),
      undo: () => Promise.all([opening.undoWrite(opened, writing), opening.undoTakeDevice(taken)]),
    }
  }
  const endedBy = async ({ metrics }: Harness) =>
    (await metrics.sessionsEnded.get()).values.map(({ labels, value }) => [labels.reason, value])
  /** As written by a version without the device index. */
  const forgetDevices = ({ entries }: Harness) => {
    for (const [key, { content }] of entries) {
      if (key.startsWith('gatehouse:user-sess:') && typeof content === 'string') entries.delete(key)
    }
  }

  test('is found by its id and device until it expires', async () => {
    const own = await harness()
    const { id, publicId } = await openSession(own, ofDevice)
    expect(await own.sessions.get(id, DEVICE)).toMatchObject({ publicId })
    expect(await own.sessions.get(id, 'another-device')).toBeUndefined()
    expect(await own.sessions.get('nobodys-id', DEVICE)).toBeUndefined()
    for (const entry of own.entries.values()) entry.expiresAt = Number.POSITIVE_INFINITY
    own.clock.now = START + IDLE_MS - 1
    expect(await own.sessions.get(id, DEVICE)).toMatchObject({ publicId })
    own.clock.now = START + IDLE_MS
    expect(await own.sessions.get(id, DEVICE)).toBeUndefined()
  })

  test('does not replace another user’s session of the same device: 403 E0000006', async () => {
    const own = await harness()
    const { id } = await openSession(own, ofDevice)
    const other = await bound(own, another)
    await expect(other.replace(undefined, false)).rejects.toMatchObject({
      status: 403,
      code: 'E0000006',
      causes: [expect.stringMatching(/^stateToken: /)],
    })
    await expect(other.replace(id, false)).rejects.toMatchObject({ status: 403 })
    await other.undo()
    expect(await own.sessions.get(id, DEVICE)).toMatchObject({ userId: '00u1person' })
    expect(await own.sessions.get(other.id, DEVICE)).toBeUndefined()
    expect(await own.sessions.list('00u1other')).toEqual([])
    expect(await endedBy(own)).toEqual([['rolled_back', 1]])
  })

  test('replaces another user’s session if that is allowed', async () => {
    const own = await harness()
    const { id } = await openSession(own, ofDevice)
    const other = await openSession(own, another)
    expect(await own.sessions.get(id, DEVICE)).toBeUndefined()
    expect(await own.sessions.get(other.id, DEVICE)).toMatchObject({ userId: '00u1other' })
    expect(await endedBy(own)).toEqual([['replaced', 1]])
  })

  test.each([true, false])(
    'replaces the user’s own session of the same device; other users’ sessions may be replaced: %p',
    async (may) => {
      const own = await harness()
      const { id } = await openSession(own, ofDevice)
      const next = await bound(own)
      await next.replace(id, may)
      expect(await own.sessions.get(id, DEVICE)).toBeUndefined()
      expect(await own.sessions.get(next.id, DEVICE)).toMatchObject({ publicId: next.session.publicId })
      expect(await endedBy(own)).toEqual([['replaced', 1]])
    },
  )

  test('ignores a previous session that has ended meanwhile', async () => {
    const own = await harness()
    const { id } = await openSession(own, another)
    const next = await bound(own)
    await own.sessions.end({ id, session: await own.sessions.get(id, DEVICE) }, 'signed_out')
    await next.replace(undefined, false)
    expect(await endedBy(own)).toEqual([['signed_out', 1]])
  })

  test('replaces the session of the request’s cookie if the device index has no entry', async () => {
    const own = await harness()
    const { id } = await openSession(own, ofDevice)
    forgetDevices(own)
    await openSession(own, ofDevice, id)
    expect(await own.sessions.exists(id)).toBe(false)
  })

  test.each([true, false])(
    'a previous session that cannot be read; its device is known: %p',
    async (isKnown) => {
      const own = await harness()
      const { id } = await openSession(own, ofDevice)
      for (const key of own.stored())
        own.entries.set(key, { content: 'damaged', expiresAt: START + ABSOLUTE_MS })
      if (!isKnown) forgetDevices(own)
      const next = await bound(own)
      await next.replace(id, false)
      expect(await own.sessions.exists(id)).toBe(!isKnown)
    },
  )

  test('does not replace a session of another device', async () => {
    const own = await harness()
    const { id } = await openSession(own, { ...GRANT, deviceId: 'another-device' })
    const next = await bound(own)
    await next.replace(id, true)
    await next.replace('nobodys-id', false)
    expect(await own.sessions.exists(id)).toBe(true)
    expect(await endedBy(own)).toEqual([])
  })

  test('can be undone before it is written', async () => {
    const own = await harness()
    await own.sessions.opening.undoWrite(newSession(own, ofDevice), Promise.reject(storeUnavailable()))
    expect(await endedBy(own)).toEqual([])
    expect(own.entries.size).toBe(0)
  })

  test('can be undone before it is bound to the device: the device keeps its session', async () => {
    const own = await harness()
    const { id } = await openSession(own, ofDevice)
    const opened = newSession(own, ofDevice)
    await own.sessions.opening.undoWrite(opened, own.sessions.opening.write(opened))
    expect(await own.sessions.get(opened.id, DEVICE)).toBeUndefined()
    expect(await own.sessions.get(id, DEVICE)).toBeDefined()
    expect((await bound(own)).id).not.toBe(id)
    expect(await endedBy(own)).toEqual([['rolled_back', 1]])
  })

  test('undone, it gives the device back to its previous session', async () => {
    const own = await harness()
    const { id } = await openSession(own, ofDevice)
    const before = new Map(own.entries)
    const next = await bound(own)
    await next.undo()
    expect([...own.entries.keys()].toSorted()).toEqual([...before.keys()].toSorted())
    await openSession(own, ofDevice)
    expect(await own.sessions.exists(id)).toBe(false) // found in the index of devices, and replaced
  })

  test.each([true, false])(
    'undone although its write failed: nothing is left (its index: %p)',
    async (isIndexed) => {
      const own = await harness()
      const opened = newSession(own, ofDevice)
      const failing = isIndexed ? 'set' : 'indexPut'
      const operation = own.store[failing]
      own.store[failing] = async (...given: never[]) => {
        await (operation as (...given: never[]) => Promise<unknown>)(...given)
        // the answer is lost
        throw storeUnavailable(new DependencyFailure('timeout', { code: 'timeout' }))
      }
      const writing = own.sessions.opening.write(opened)
      await expect(writing).rejects.toMatchObject({ status: 503 })
      await own.sessions.opening.undoWrite(opened, writing)
      expect(own.entries.size).toBe(0)
      expect(await endedBy(own)).toEqual([])
    },
  )
})

test('a session that is signed out while it is extended is 401, and stays signed out', async () => {
  const { call, clock, entries, stored, cookieHeader } = await signedIn()
  clock.now += EXTEND_EVERY_MS
  const [key = ''] = stored()
  entries.get = (asked) => {
    const found = Map.prototype.get.call(entries, asked)
    if (asked === key) entries.delete(key) // the session ends right after it was read
    return found
  }
  const answer = await call('GET', '/need', cookieHeader)
  expect([answer.status, answer.json]).toEqual([401, expect.objectContaining({ errorCode: 'E0000005' })])
  expect(stored()).toEqual([])
})

test('express-session never writes a session, not even one that was changed: a sign-out is final', async () => {
  const { call, stored, traffic, cookieHeader } = await signedIn()
  traffic.writes = 0
  const answer = await call('DELETE', '/change', cookieHeader)
  expect([answer.status, answer.headers['set-cookie']]).toEqual([204, undefined])
  // the deletions of the record and of its index entry
  expect([traffic.writes, stored()]).toEqual([2, []])
  expect((await call('GET', ME, cookieHeader)).status).toBe(404)
})

test('an ended session is removed from the index', async () => {
  const { sessions, clock, entries, stored } = await harness()
  const { id } = await openSession({ sessions, clock }, { ...GRANT, deviceId: 'a device' })
  await sessions.end({ id, session: await sessions.get(id, 'a device') }, 'signed_out')
  expect(stored()).toEqual([])
  const indexed = [...entries.values()].flatMap(({ content }) => (content instanceof Map ? [...content] : []))
  expect(indexed).toEqual([])
})

describe('Redis refuses to write', () => {
  /**
   * Of a full Redis; of a replica, after a failover; of one that cannot save; of one with too few
   * replicas.
   */
  const REFUSALS = ['OOM', 'READONLY', 'MISCONF', 'NOREPLICAS']

  test.each(REFUSALS)('%s: the session is used until its stored end, and no longer', async (code) => {
    const { call, clock, traffic, cookieHeader } = await signedIn()
    traffic.refusesWritesWith = code
    for (clock.now = START + EXTEND_EVERY_MS; clock.now < START + IDLE_MS; clock.now += EXTEND_EVERY_MS)
      expect((await call('GET', '/need', cookieHeader)).status).toBe(200)
    clock.now = START + IDLE_MS - 1
    expect((await call('GET', '/need', cookieHeader)).json).toMatchObject({ lastSeenAtMs: START })
    clock.now = START + IDLE_MS
    expect((await call('GET', '/need', cookieHeader)).status).toBe(401)
  })

  test('the session is extended again once Redis writes', async () => {
    const { call, clock, traffic, cookieHeader } = await signedIn()
    clock.now += EXTEND_EVERY_MS
    traffic.refusesWritesWith = 'OOM'
    expect((await call('GET', '/need', cookieHeader)).status).toBe(200)
    traffic.refusesWritesWith = undefined
    expect((await call('GET', '/need', cookieHeader)).status).toBe(200)
    expect((await call('GET', ME, cookieHeader)).json).toMatchObject({
      idleExpiresAt: '2026-11-05T06:31:00.000Z',
    })
  })

  test('a refresh promises to extend the session: 503, the session stays, and nothing is written later', async () => {
    const { call, clock, traffic, cookieHeader } = await signedIn()
    clock.now += EXTEND_EVERY_MS
    traffic.refusesWritesWith = 'OOM'
    const refreshed = await call('POST', REFRESH, cookieHeader)
    expect([refreshed.status, refreshed.headers['retry-after'], refreshed.headers['set-cookie']]).toEqual([
      503,
      '2',
      undefined,
    ])
    traffic.refusesWritesWith = undefined
    expect((await call('GET', ME, cookieHeader)).json).toMatchObject({
      idleExpiresAt: '2026-11-05T06:30:00.000Z',
    })
  })

  test.each(['NOPERM', 'LOADING', 'CLUSTERDOWN'])(
    '%s is not a refusal to write but a Redis that cannot be used: 503',
    async (code) => {
      const { call, clock, traffic, cookieHeader } = await signedIn()
      clock.now += EXTEND_EVERY_MS
      traffic.refusesWritesWith = code
      expect((await call('GET', '/need', cookieHeader)).status).toBe(503)
    },
  )
})

describe('the store is out of reach', () => {
  test('an extension whose result is unknown is 503, although the session was read', async () => {
    const { call, clock, store, cookieHeader } = await signedIn()
    clock.now += EXTEND_EVERY_MS
    store.replaceIf = async () => {
      throw storeUnavailable(new DependencyFailure('timeout', { code: 'timeout' }))
    }
    expect((await call('GET', '/need', cookieHeader)).status).toBe(503)
  })

  test('the response is 503, never 401 or 404, and the cookie is kept', async () => {
    const { call, traffic, cookieHeader } = await signedIn()
    traffic.unavailable = true
    for (const [method, path] of USES) {
      const answer = await call(method, path, cookieHeader)
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '2'])
      expect(answer.json).toMatchObject({ errorCode: 'E0000009' })
      expect(answer.headers).not.toHaveProperty('set-cookie')
    }
    const opening = await call('POST', '/open', cookieHeader)
    expect([opening.status, opening.headers['set-cookie']]).toEqual([503, undefined])
    traffic.unavailable = false
    expect((await call('GET', ME, cookieHeader)).status).toBe(200)
  })
})

describe('X-Gatehouse-Session', () => {
  const publicIdOf = (json: unknown) => (json as { id: string }).id // the response of `sessions/me`

  test('with another session, twice, empty or garbage: 409, and no effect', async () => {
    const { call, signIn, stored, clock, cookieHeader } = await signedIn()
    const other = publicIdOf((await call('GET', ME, (await signIn()).cookieHeader)).json)
    clock.now += EXTEND_EVERY_MS
    for (const [method, path] of [...USES, ['POST', '/open'] as const]) {
      const answer = await call(method, path, cookieHeader, { 'X-Gatehouse-Session': other })
      expect([answer.status, answer.json]).toEqual([409, expect.objectContaining({ errorCode: 'E0000006' })])
      expect(answer.headers).not.toHaveProperty('set-cookie')
    }
    expect(stored().length).toBe(2)
    const own = publicIdOf((await call('GET', ME, cookieHeader)).json)
    for (const value of [[own, own], '', 'x'.repeat(500)])
      expect((await call('GET', ME, cookieHeader, { 'X-Gatehouse-Session': value })).status).toBe(409)
  })

  test('with this session, or without any session, has no effect', async () => {
    const { call, cookieHeader } = await signedIn()
    const own = { 'X-Gatehouse-Session': publicIdOf((await call('GET', ME, cookieHeader)).json) }
    expect((await call('GET', ME, cookieHeader, own)).status).toBe(200)
    expect((await call('DELETE', ME, cookieHeader, own)).status).toBe(204)
    expect((await call('GET', ME, cookieHeader, own)).status).toBe(404)
    expect((await call('GET', '/need', undefined, own)).status).toBe(401)
  })
})

describe('the cookie', () => {
  // shows: V3.3.1, V3.3.3, V3.3.5
  test('has the prefix __Host- and is Secure over https', async () => {
    const { setCookie } = await signedIn()
    expect(setCookie).toMatch(
      /^__Host-gatehouse=s%3A[\w-]{58}\.[\w%-]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    )
    expect(setCookie.indexOf(';')).toBeLessThan(200)
  })

  test('has another name and is not Secure over http on localhost, or browsers would drop it', async () => {
    const { call, setCookie, cookieHeader } = await signedIn({ secure: false })
    expect(setCookie).toMatch(/^gatehouse=s%3A[\w-]{58}\.[\w%-]+; Path=\/; HttpOnly; SameSite=Lax$/)
    expect((await call('GET', ME, cookieHeader)).status).toBe(200)
  })

  // shows: V3.3.3
  test.each([
    [true, '__Host-Http-gatehouse', '__Host-gatehouse'],
    [false, '__Host-gatehouse', '__Host-Http-gatehouse'],
  ])(
    'with DEVICE_BOUND_SESSIONS %s, is set as %s and also read as %s',
    async (bindsSessions, name, other) => {
      const { call, signIn, cookieHeader } = await signedIn({ bindsSessions })
      expect(cookieHeader.split('=')[0]).toBe(name)
      const underOther = cookieHeader.replace(name, other)
      expect((await call('GET', ME, underOther)).status).toBe(200)
      for (const forged of [`${name}=s%3Aforged; ${underOther}`, `${other}=s%3Aforged; ${cookieHeader}`])
        expect((await call('GET', ME, forged)).status).toBe(200)
      // it does not stay under the other name
      const opened = await call('POST', '/open', underOther)
      const deletion = `${other}=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax`
      expect(opened.headers['set-cookie']).toContain(deletion)
      const again = (await signIn()).cookieHeader.replace(name, other)
      expect((await call('DELETE', ME, again)).headers['set-cookie']).toContain(deletion)
    },
  )

  // shows: V3.3.2
  test('can be SameSite=Strict', async () => {
    const { signIn } = await harness({ sameSite: 'strict' })
    expect((await signIn()).setCookie).toMatch(/; SameSite=Strict$/)
  })
})
