import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Request } from 'express'
import { storeUnavailable } from '../../src/errors.ts'
import { DependencyFailure } from '../../src/observability/dependency-failure.ts'
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import type { Binding, Session } from '../../src/session/session.ts'
import { createSessionCookie } from '../../src/session/session-cookie.ts'
import type { SessionRecords } from '../../src/session/session-records.ts'
import { createSessions, type RequestSessionsOptions } from '../../src/session/sessions.ts'
import { collectLog } from '../observability/collect-log.ts'
import { START, sessionWith } from './grant.ts'

/** What a request gets of its session, which is read already. */

const [MINUTE, IDLE_MS] = [60_000, 1_800_000]
const BINDING: Binding = { jwk: { kty: 'RSA', n: 'n', e: 'AQAB' }, boundAtMs: START, isUsed: true }
const FROM = { requestId: 'request-1', address: '192.0.2.1' }

const clock = { now: START }
let metrics: Metrics
/** The session as it is stored; undefined: it has ended. */
let stored: Session | undefined
let writes: number
/** Of the store, instead of a write. */
let failure: Error | undefined
let isProved: () => boolean
let judged: unknown[]
let rechecked: unknown[]
beforeEach(() => {
  clock.now = START
  metrics = createMetrics()
  stored = sessionWith()
  ;[writes, failure, isProved] = [0, undefined, () => true]
  ;[judged, rechecked] = [[], []]
})

function sessionsWith(changed: Partial<RequestSessionsOptions> = {}) {
  const masterKeys = [Buffer.alloc(32, 1)]
  const sessionCookie = createSessionCookie({ masterKeys, secure: true, sameSite: 'lax' })
  const options: Partial<RequestSessionsOptions> = {
    masterKeys,
    sessionCookie,
    idleMs: IDLE_MS,
    absoluteMs: 24 * IDLE_MS,
    now: () => clock.now,
    metrics,
    log: collectLog().log,
    // the rest is not called
    boundSessions: { evidenceIn: () => 'evidence' } as unknown as RequestSessionsOptions['boundSessions'],
    async recheck(...given) {
      rechecked.push(given)
    },
    ...changed,
  }
  const records = {
    sessionStore: {
      async update(_loaded: unknown, change: (session: Session) => Session) {
        if (failure !== undefined) throw failure
        if (stored === undefined) return undefined
        const before = stored
        stored = change(before)
        if (stored !== before) writes += 1
        return stored
      },
    },
    readValid: async (id: string) => {
      if (id === 'unreadable') return { session: undefined }
      return id === 'one' && stored !== undefined ? { id, session: stored } : undefined
    },
    isProved(...given: unknown[]) {
      judged.push(given)
      return isProved()
    },
  }
  // the rest is for other callers
  return createSessions(records as unknown as SessionRecords, options as RequestSessionsOptions)
}

/** A request whose session was loaded, if `session` is one. */
function requestOf(session: Session | undefined) {
  const loaded = session === undefined ? {} : { stored: { id: 'one', session } }
  return { ...loaded, context: FROM, headers: {} } as unknown as Request
}
const counted = async (name: 'sessionsExtended' | 'sessionChecks') =>
  (await metrics[name].get()).values.map(({ labels, value }) => [...Object.values(labels), value])

describe('the session of a request', () => {
  test('is found if it was loaded', () => {
    const { find, findUnproved } = sessionsWith()
    const req = requestOf(stored)
    expect([find(req), findUnproved(req)]).toEqual([req.stored, req.stored])
    const without = requestOf(undefined)
    expect([find(without), findUnproved(without)]).toEqual([undefined, undefined])
    expect(judged).toEqual([]) // it is not bound
  })

  test('is not found if none was loaded', async () => {
    const { find, findUnproved, refresh, require } = sessionsWith()
    const req = requestOf(undefined)
    expect([find(req), findUnproved(req), await refresh(req)]).toEqual([undefined, undefined, undefined])
    await expect(require(req)).rejects.toMatchObject({ status: 401, code: 'E0000005' })
    expect([writes, rechecked]).toEqual([0, []])
  })

  test.each([true, false])('that is bound is judged once for each request; proved: %s', (proved) => {
    isProved = () => proved
    const { find, findUnproved } = sessionsWith()
    const req = requestOf(sessionWith({ binding: BINDING }))
    const found = proved ? req.stored : undefined
    expect([find(req), find(req), findUnproved(req)]).toEqual([found, found, req.stored])
    expect(judged).toEqual([[req.stored, 'evidence', FROM]])
  })

  test('that is bound and not proved is neither extended nor checked at the org', async () => {
    stored = sessionWith({ binding: BINDING })
    isProved = () => false
    const { refresh, require } = sessionsWith()
    clock.now += 2 * MINUTE
    expect(await refresh(requestOf(stored))).toBeUndefined()
    await expect(require(requestOf(stored))).rejects.toMatchObject({ status: 401 })
    expect([writes, rechecked]).toEqual([0, []])
  })
})

describe('for the cookie of an application', () => {
  test('a session is loaded, without the bound cookie too', async () => {
    stored = sessionWith({ binding: BINDING })
    isProved = () => false
    const { loadHandedOver, find } = sessionsWith()
    const req = requestOf(undefined)
    await loadHandedOver(req, { sessionId: 'one', isKeyProved: false })
    expect([find(req), judged]).toEqual([{ id: 'one', session: stored }, []])
    expect(await counted('sessionChecks')).toEqual([['session', 1]])
  })

  test.each(['ended', 'unreadable'])('none is loaded that is %s', async (id) => {
    const { loadHandedOver, find } = sessionsWith()
    const req = requestOf(undefined)
    await loadHandedOver(req, { sessionId: id, isKeyProved: true })
    expect([find(req), req.isProved]).toEqual([undefined, undefined])
    expect(await counted('sessionChecks')).toEqual([['no_session', 1]])
  })
})

describe('whether a request shows that its browser has the key', () => {
  test.each<
    [shown: boolean, by: string, isBound: boolean, cookieIsValid: boolean, handedOver: boolean | undefined]
  >([
    [true, 'the bound cookie', true, true, undefined],
    [false, 'none, in the first moments', true, false, undefined],
    [true, 'an application’s cookie that was given for one', true, false, true],
    [false, 'an application’s cookie from before the registration', true, true, false],
    [false, 'nothing can: the session is not bound', false, true, true],
  ])('%s: %s', async (shown, _by, isBound, cookieIsValid, handedOver) => {
    stored = sessionWith(isBound ? { binding: BINDING } : {})
    const boundSessions = { hasValidCookie: (id: string) => cookieIsValid && id === 'one' }
    const { loadHandedOver, isKeyProved } = sessionsWith({
      boundSessions: boundSessions as unknown as RequestSessionsOptions['boundSessions'],
    })
    const req = requestOf(handedOver === undefined ? stored : undefined)
    if (handedOver !== undefined) await loadHandedOver(req, { sessionId: 'one', isKeyProved: handedOver })
    expect(isKeyProved(req)).toBe(shown)
  })

  test('not without a session', () => {
    expect(sessionsWith().isKeyProved(requestOf(undefined))).toBe(false)
  })
})

describe('binding a session to a key', () => {
  test('writes the key, and never another one over it', async () => {
    const { bind } = sessionsWith()
    const found = { id: 'one', session: sessionWith() }
    const thief: Binding = { ...BINDING, jwk: { kty: 'RSA', n: 'thief', e: 'AQAB' } }
    expect(await bind(found, BINDING)).toEqual(sessionWith({ binding: BINDING }))
    expect(await bind(found, thief)).toEqual(sessionWith({ binding: BINDING }))
    expect([stored?.binding, writes]).toEqual([BINDING, 1])
  })

  test('that has ended tells so', async () => {
    stored = undefined
    const { bind } = sessionsWith()
    expect(await bind({ id: 'one', session: sessionWith() }, BINDING)).toBeUndefined()
  })
})

describe('a use of the session', () => {
  // shows: V7.3.1
  test.each([
    ['a minute, if nothing is configured', {}, MINUTE],
    ['the configured time', { extendEveryMs: 2 * MINUTE }, 2 * MINUTE],
    ['half of the idle time, if that is shorter', { idleMs: 90_000 }, 45_000],
  ])('extends it after %s', async (_what, options, dueMs) => {
    const { require } = sessionsWith(options)
    clock.now = START + dueMs - 1
    expect(await require(requestOf(stored))).toMatchObject({ lastSeenAtMs: START })
    expect([writes, rechecked]).toEqual([0, []])
    clock.now = START + dueMs
    expect(await require(requestOf(stored))).toMatchObject({ lastSeenAtMs: clock.now })
    expect([writes, stored?.lastSeenAtMs]).toEqual([1, clock.now])
  })

  test('that another request has extended meanwhile is not set back', async () => {
    const { refresh } = sessionsWith()
    const slow = requestOf(stored)
    stored = sessionWith({ lastSeenAtMs: START + 5 * MINUTE })
    clock.now = START + 4 * MINUTE
    expect(await refresh(slow)).toMatchObject({ lastSeenAtMs: START + 5 * MINUTE })
    expect(writes).toBe(0)
  })

  test('asks the org about the user in the background, each time the session is extended', async () => {
    const { refresh, require } = sessionsWith({
      recheck: (...given) => {
        rechecked.push(given)
        return new Promise(() => {}) // Okta does not answer
      },
    })
    clock.now += MINUTE
    const extended = sessionWith({ lastSeenAtMs: clock.now })
    expect(await refresh(requestOf(stored))).toEqual(extended)
    expect(await require(requestOf(stored))).toEqual(extended) // not due again
    expect(rechecked).toEqual([[extended, FROM]])
  })

  test('is possible without such a check', async () => {
    const { refresh } = sessionsWith({ recheck: undefined })
    expect(await refresh(requestOf(stored))).toEqual(sessionWith())
  })

  test.each([
    ['no', {}],
    ['yes', { binding: BINDING }],
  ])('is counted if it extends the session; bound: %s', async (bound, changed) => {
    stored = sessionWith(changed)
    const { require } = sessionsWith()
    await require(requestOf(stored))
    expect(await counted('sessionsExtended')).toEqual([])
    clock.now += MINUTE
    await require(requestOf(stored))
    expect(await counted('sessionsExtended')).toEqual([[bound, 1]])
  })

  test('of one that has ended meanwhile is 401, and counts nothing', async () => {
    const { require, refresh } = sessionsWith()
    const req = requestOf(stored)
    stored = undefined
    clock.now += MINUTE
    await expect(require(req)).rejects.toMatchObject({ status: 401, code: 'E0000005' })
    expect([await refresh(req), await counted('sessionsExtended')]).toEqual([undefined, []])
  })
})

describe('while Redis', () => {
  const failing = (code: string) => storeUnavailable(new DependencyFailure('refused', { code }))

  test('refuses to write, a session is used as it is, but a refresh promises more: 503', async () => {
    failure = failing('READONLY')
    const { require, refresh } = sessionsWith()
    clock.now += MINUTE
    expect(await require(requestOf(stored))).toEqual(sessionWith())
    await expect(refresh(requestOf(stored))).rejects.toMatchObject({ status: 503 })
    expect(await counted('sessionsExtended')).toEqual([])
  })

  test('does not answer, nobody knows whether the session exists: 503', async () => {
    failure = failing('LOADING')
    const { require } = sessionsWith()
    clock.now += MINUTE
    await expect(require(requestOf(stored))).rejects.toMatchObject({ status: 503 })
  })
})
