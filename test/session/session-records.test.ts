import { beforeEach, describe, expect, test } from '@jest/globals'
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import type { BoundVerdict } from '../../src/session/bound-session-rule.ts'
import type { Binding, Session, SessionsOptions } from '../../src/session/session.ts'
import { createSessionRecords } from '../../src/session/session-records.ts'
import { collectLog } from '../observability/collect-log.ts'
import { clock, store, useMemoryStore } from '../support/memory-store.ts'
import { GRANT, START, sessionWith } from './grant.ts'

const [IDLE_MS, ABSOLUTE_MS] = [1_800_000, 43_200_000]
const COORDINATE = 'x'.repeat(43)
const BINDING: Binding = {
  jwk: { kty: 'EC', crv: 'P-256', x: COORDINATE, y: COORDINATE },
  boundAtMs: START,
  isUsed: false,
}
const EVIDENCE = { cookie: 'the cookie', skipped: undefined }
const FROM = { requestId: 'request-1', address: '192.0.2.1' }

useMemoryStore()
let metrics: Metrics
/** Sessions of a time before this one are void. */
let voidBeforeMs: number
let verdict: BoundVerdict
let judged: unknown[]
let reported: unknown[]
beforeEach(() => {
  clock.now = START
  metrics = createMetrics()
  voidBeforeMs = 0
  verdict = { kind: 'served', isFirstUse: false }
  ;[judged, reported] = [[], []]
})

function records() {
  const used: Partial<SessionsOptions> = {
    store,
    masterKeys: [Buffer.alloc(32, 1)],
    idleMs: IDLE_MS,
    absoluteMs: ABSOLUTE_MS,
    maxPerUser: 4,
    now: () => clock.now,
    log: collectLog().log,
    metrics,
    voidTimes: {
      tagOf: () => '-tag',
      timeFor: async (id) => (id.endsWith('-tag') ? voidBeforeMs : 0),
      isVoid: ({ createdAtMs }, beforeMs) => createdAtMs < beforeMs,
    },
    // the rest is for other modules
    boundSessions: {
      judge(...given: unknown[]) {
        judged.push(given)
        return verdict
      },
      report: (...given: unknown[]) => reported.push(given),
    } as unknown as SessionsOptions['boundSessions'],
  }
  return createSessionRecords(used as SessionsOptions)
}

async function opened(session: Session = sessionWith()) {
  const own = records()
  const id = own.opening.newId(session.userId)
  await own.opening.write({ id, session })
  return { ...own, id }
}

const user = (id = GRANT.deviceId) => ({ device: { id }, evidence: EVIDENCE, ...FROM })

describe('a session of a device', () => {
  test('is got by its id, by its own device, until it has ended', async () => {
    const { id, get, getFor, exists, end } = await opened()
    expect([await get(id, GRANT.deviceId), await getFor(id, user())]).toEqual([sessionWith(), sessionWith()])
    for (const [given, device] of [
      [id, 'another device'],
      ['nobodys-id', GRANT.deviceId],
    ] as const)
      expect([await get(given, device), await getFor(given, user(device))]).toEqual([undefined, undefined])
    expect([await exists(id), await exists('nobodys-id')]).toEqual([true, false])
    await end({ id, session: sessionWith() }, 'signed_out')
    expect([await get(id, GRANT.deviceId), await getFor(id, user()), await exists(id)]).toEqual([
      undefined,
      undefined,
      false,
    ])
  })

  test('is void if the org has ended its user after it was opened', async () => {
    const { id, get, getFor, exists } = await opened()
    voidBeforeMs = START
    expect([await get(id, GRANT.deviceId), await getFor(id, user()), await exists(id)]).toEqual([
      sessionWith(),
      sessionWith(),
      true,
    ])
    voidBeforeMs = START + 1
    expect([await get(id, GRANT.deviceId), await getFor(id, user()), await exists(id)]).toEqual([
      undefined,
      undefined,
      false,
    ])
  })

  test('whose record cannot be read exists, and is not got', async () => {
    const { id, get, getFor, exists } = await opened()
    await store.set(`gatehouse:sess:${id}`, 'damaged', ABSOLUTE_MS)
    expect([await get(id, GRANT.deviceId), await getFor(id, user()), await exists(id)]).toEqual([
      undefined,
      undefined,
      true,
    ])
  })

  test('shows its times with the configured limits', () => {
    const { limits, formatTimes } = records()
    expect(limits).toEqual({ idleMs: IDLE_MS, absoluteMs: ABSOLUTE_MS })
    expect(formatTimes(sessionWith())).toMatchObject({
      idleExpiresAt: '2026-11-05T06:30:00.000Z',
      expiresAt: '2026-11-05T18:00:00.000Z',
    })
  })
})

describe('a request that uses a session', () => {
  const session = sessionWith({ binding: BINDING })
  const audited = { ...FROM, userId: GRANT.userId, loginHash: GRANT.loginHash, sessionId: 'public-id' }

  test('is judged by the key of the session and by what it brings; another device’s is not judged', async () => {
    const { id, getFor } = await opened(session)
    expect(await getFor(id, user('another device'))).toBeUndefined()
    expect(judged).toEqual([])
    expect(await getFor(id, user())).toEqual(session)
    expect([judged, reported]).toEqual([[[id, BINDING, EVIDENCE]], []])
  })

  test('without the bound cookie does not get the session, and is reported', async () => {
    verdict = { kind: 'refused', reason: 'cookie_missing' }
    const { id, getFor, get } = await opened(session)
    expect(await getFor(id, user())).toBeUndefined()
    expect(reported).toEqual([['cookie_missing', { ...audited, deviceHash: GRANT.deviceHash }]])
    expect(await get(id, GRANT.deviceId)).toEqual(session)
  })

  test('of a browser that could not renew the cookie is 503, which does not end its session', async () => {
    verdict = { kind: 'unavailable', reason: 'cookie_expired' }
    const { id, getFor } = await opened(session)
    await expect(getFor(id, user())).rejects.toMatchObject({ status: 503, isOfClient: true })
    expect(reported).toEqual([['cookie_expired', expect.objectContaining({ sessionId: 'public-id' })]])
  })

  test('with the cookie for the first time ends the time without it, with one command', async () => {
    verdict = { kind: 'served', isFirstUse: true }
    const { id, getFor, get } = await opened(session)
    const { replaceIf } = store
    const written: Promise<boolean>[] = []
    store.replaceIf = (...given) => {
      const writing = replaceIf(...given)
      written.push(writing)
      return writing
    }
    expect(await getFor(id, user())).toEqual(session)
    expect(await Promise.all(written)).toEqual([true])
    expect(await get(id, GRANT.deviceId)).toEqual({ ...session, binding: { ...BINDING, isUsed: true } })
  })

  test('with the cookie later writes nothing', async () => {
    const { id, getFor, get } = await opened(session)
    expect(await getFor(id, user())).toEqual(session)
    expect(await get(id, GRANT.deviceId)).toEqual(session)
  })

  test('with the cookie for the first time is served although the store refuses the write', async () => {
    verdict = { kind: 'served', isFirstUse: true }
    const { id, getFor } = await opened(session)
    store.replaceIf = () => Promise.reject(new Error('READONLY'))
    expect(await getFor(id, user())).toEqual(session)
  })

  test.each([
    ['has no key', undefined],
    ['is marked as used', { ...BINDING, isUsed: true }],
  ])('with the cookie for the first time writes nothing if the stored session %s', async (_what, binding) => {
    verdict = { kind: 'served', isFirstUse: true }
    const { id, getFor } = await opened(sessionWith(binding === undefined ? {} : { binding }))
    const before = await store.get(`gatehouse:sess:${id}`)
    expect(await getFor(id, user())).toBeDefined()
    expect(await store.get(`gatehouse:sess:${id}`)).toBe(before)
  })
})
