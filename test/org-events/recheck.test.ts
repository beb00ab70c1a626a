import { afterEach, describe, expect, test } from '@jest/globals'
import { createSigner } from '../../src/crypto/keys.ts'
import { storeUnavailable } from '../../src/errors.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { createRecheck } from '../../src/org-events/recheck.ts'
import type { Session } from '../../src/session/session.ts'
import { createMemoryStore } from '../../src/store/memory-store.ts'
import type { UpstreamResponse } from '../../src/upstream/http-api.ts'
import { UpstreamFailure } from '../../src/upstream/upstream-failure.ts'
import { collectLog } from '../observability/collect-log.ts'
import { GRANT, START } from '../session/grant.ts'
import { keeper } from '../support/keeper.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const MINUTE_MS = 60_000
const EVERY_MS = 10 * MINUTE_MS
const FROM = { requestId: 'made-up-request', address: '192.0.2.7' }

const answer = (status: number, json: unknown): UpstreamResponse => ({
  status,
  json,
  headers: {},
  bytes: Buffer.alloc(0),
})
const user = (status: string, id = 'a') => answer(200, { id, status })
const NOT_FOUND = answer(404, { errorCode: 'E0000007' })

/** Two replicas on one store. `answers` by user id; ACTIVE by default. */
function harness(answers: Readonly<Record<string, UpstreamResponse | Error>> = {}, everyMs = EVERY_MS) {
  const clock = { now: START + EVERY_MS }
  const now = () => clock.now
  const store = keep(createMemoryStore({ monotonic: now, now }))
  const asked: string[] = []
  const done: unknown[][] = []
  const failing = { record: false, end: false }
  const { log, lines } = collectLog()
  const metrics = createMetrics()
  const replica = () =>
    createRecheck({
      everyMs,
      store,
      nameSigner: createSigner([Buffer.alloc(32, 1)], 'test'),
      async readUser(userId) {
        asked.push(userId)
        const reply = answers[userId] ?? user('ACTIVE', userId)
        if (reply instanceof Error) throw reply
        return reply
      },
      voidTimes: {
        async record(...given) {
          if (failing.record) throw storeUnavailable()
          done.push(['void', ...given])
        },
      },
      async endAllSessions(userId, reason, audit) {
        if (failing.end) throw storeUnavailable()
        done.push(['end', userId, reason])
        audit(2)
        return 2
      },
      log,
      metrics,
      now,
    })
  const [one, two] = [replica(), replica()]
  const use = (userId: string, { by = one, authenticatedAtMs = START } = {}) =>
    by({ ...GRANT, publicId: 'p', userId, authenticatedAtMs } as Session, FROM)
  return { clock, asked, done, failing, lines, metrics, use, one, two }
}

describe('a check', () => {
  test('is due once in the interval, over all replicas and sessions of the user', async () => {
    const { use, two, clock, asked } = harness()
    await use('a')
    await use('a')
    await use('a', { by: two })
    expect(asked).toEqual(['a'])
    clock.now += EVERY_MS - 1
    await use('a', { by: two })
    expect(asked).toEqual(['a'])
    clock.now += 1
    await Promise.all([use('a'), use('a', { by: two })])
    expect(asked).toEqual(['a', 'a'])
  })

  test('is not due before the sign-in is that old', async () => {
    const { use, clock, asked } = harness()
    await use('a', { authenticatedAtMs: clock.now - EVERY_MS + 1 })
    expect(asked).toEqual([])
    await use('a', { authenticatedAtMs: clock.now - EVERY_MS })
    expect(asked).toEqual(['a'])
  })

  test('is one of at most sixty a minute on a replica; the others are due later, and on another replica', async () => {
    const { use, two, clock, asked } = harness()
    const users = Array.from({ length: 100 }, (_, n) => `u${n}`)
    await Promise.all(users.map((userId) => use(userId)))
    expect(asked).toHaveLength(60)
    clock.now += MINUTE_MS - 1
    for (const userId of users) await use(userId)
    expect(asked).toHaveLength(60)
    await use('u99', { by: two })
    expect(asked).toHaveLength(61)
    clock.now += 1
    for (const userId of users) await use(userId)
    expect(new Set(asked)).toEqual(new Set(users))
    expect(asked).toHaveLength(100)
  })
})

describe('a check that failed', () => {
  const DOWN = new UpstreamFailure('timeout')

  test('is due again when a session of the user is next extended, on any replica', async () => {
    const answers: Record<string, UpstreamResponse | Error> = { a: DOWN }
    const { use, two, clock, asked, done } = harness(answers)
    await use('a')
    clock.now += MINUTE_MS
    answers.a = user('SUSPENDED')
    await use('a', { by: two })
    expect(asked).toEqual(['a', 'a'])
    expect(done.map(([what]) => what)).toEqual(['void', 'end'])
  })

  test('leaves five a minute on this replica, until one succeeds', async () => {
    const answers: Record<string, UpstreamResponse | Error> = { a: DOWN }
    const { use, two, clock, asked } = harness(answers)
    const users = Array.from({ length: 20 }, (_, n) => `u${n}`)
    for (const userId of users) answers[userId] = DOWN
    await use('a')
    for (const userId of users) await use(userId)
    expect(asked).toHaveLength(5)
    await use('a', { by: two })
    expect(asked).toHaveLength(6)
    clock.now += MINUTE_MS
    for (const userId of users) answers[userId] = user('ACTIVE', userId)
    for (const userId of users) await use(userId)
    expect(asked).toHaveLength(26)
  })

  test('is also one that could not make the sessions void', async () => {
    const { use, clock, asked, done, failing, lines } = harness({ a: user('SUSPENDED') })
    failing.record = true
    await use('a')
    expect(lines().map(({ event }) => event)).toEqual(['recheck_failed'])
    failing.record = false
    clock.now += MINUTE_MS
    await use('a')
    expect(asked).toEqual(['a', 'a'])
    expect(done.map(([what]) => what)).toEqual(['void', 'end'])
  })

  test('is not one whose sessions are void, but could not be deleted', async () => {
    const { use, asked, failing, lines, metrics } = harness({ a: user('SUSPENDED') })
    failing.end = true
    await use('a')
    await use('a')
    expect(asked).toEqual(['a'])
    expect(lines()).toEqual([
      expect.objectContaining({ event: 'org_event_not_cleared', userId: 'a', requestId: FROM.requestId }),
    ])
    const counted = await metrics.registry.getSingleMetricAsString('gatehouse_session_rechecks_total')
    expect([counted.includes('result="ended"} 1'), counted.includes('result="failed"')]).toEqual([
      true,
      false,
    ])
  })
})

describe('the answer', () => {
  test.each(['DEPROVISIONED', 'SUSPENDED'])(
    '%s makes the sessions void and ends them, audited',
    async (status) => {
      const { use, clock, done, lines } = harness({ a: user(status) })
      await use('a')
      expect(done).toEqual([
        ['void', 'a', clock.now],
        ['end', 'a', 'by_org'],
      ])
      expect(lines()).toEqual([
        expect.objectContaining({
          event: 'sessions_revoked',
          userId: 'a',
          reason: 'by_org',
          count: 2,
          ...FROM,
        }),
      ])
    },
  )

  test.each([
    ['ACTIVE', user('ACTIVE')],
    ['LOCKED_OUT', user('LOCKED_OUT')],
    ['PASSWORD_EXPIRED', user('PASSWORD_EXPIRED')],
    ['a status that is new', user('MADE_UP')],
  ])('%s ends nothing', async (_what, reply) => {
    const { use, done, lines } = harness({ a: reply })
    await use('a')
    expect([done, lines()]).toEqual([[], []])
  })

  test.each([
    ['no answer', new UpstreamFailure('timeout')],
    ['another user, who is suspended', user('SUSPENDED', 'other')],
    ['a user without an id', answer(200, { status: 'SUSPENDED' })],
    ['401', answer(401, { errorCode: 'E0000011' })],
    ['403', answer(403, { errorCode: 'E0000006' })],
    ['429', answer(429, { errorCode: 'E0000047' })],
    ['500', answer(500, { errorCode: 'E0000009' })],
    ['a page', answer(200, undefined)],
    ['a page that is not found', answer(404, undefined)],
    ['another 404', answer(404, { errorCode: 'E0000022' })],
  ])('%s ends nothing, and is logged once a minute', async (_what, reply) => {
    const { use, done, lines, metrics } = harness({ a: reply, b: reply })
    await use('other')
    await use('a')
    await use('b')
    expect(done).toEqual([])
    expect(lines().map(({ event, level }) => [event, level])).toEqual([['recheck_failed', 'warn']])
    expect(await metrics.registry.getSingleMetricAsString('gatehouse_session_rechecks_total')).toContain(
      'result="failed"} 2',
    )
  })
})

describe('a user who is not found', () => {
  test('has no session any more, if the token has just read another user', async () => {
    const { use, done } = harness({ gone: NOT_FOUND })
    await use('other')
    await use('gone')
    expect(done.map(([what, userId]) => [what, userId])).toEqual([
      ['void', 'gone'],
      ['end', 'gone'],
    ])
  })

  test('keeps the session if the token has read nobody, or only this user, or another one long ago', async () => {
    const answers: Record<string, UpstreamResponse> = { gone: NOT_FOUND }
    const { use, done, clock } = harness(answers, MINUTE_MS)
    await use('gone') // nobody
    answers.gone = user('ACTIVE')
    clock.now += MINUTE_MS
    await use('gone')
    answers.gone = NOT_FOUND
    clock.now += MINUTE_MS
    await use('gone') // only this user
    await use('other')
    clock.now += 5 * MINUTE_MS
    await use('gone') // long ago
    expect(done).toEqual([])
  })
})
