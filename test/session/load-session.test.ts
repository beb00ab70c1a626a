import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Request, Response } from 'express'
import { createSigner } from '../../src/crypto/keys.ts'
import { storeUnavailable } from '../../src/errors.ts'
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import { createLoadSession, type LoadSessionOptions } from '../../src/session/load-session.ts'
import { createSessionCookie } from '../../src/session/session-cookie.ts'
import { createSessionStore } from '../../src/session/session-store.ts'
import { type CollectedLog, collectLog } from '../observability/collect-log.ts'
import { clock, entries, store, useMemoryStore } from '../support/memory-store.ts'
import { GRANT, START, sessionWith } from './grant.ts'

/** The loading of a request's session, without a server. */

const [IDLE_MS, ABSOLUTE_MS] = [1_800_000, 43_200_000]
const masterKeys = [Buffer.alloc(32, 1)]
const SESSION = sessionWith({
  publicId: '4f7c7a3e-5d0b-4c1e-9a55-0c3f5f1f7a10',
  loginHash: 'hash-of-login-16',
  deviceHash: 'hash-of-device16',
})
const sessionCookie = createSessionCookie({ masterKeys, secure: true, sameSite: 'lax' })

useMemoryStore()
let metrics: Metrics
let collected: CollectedLog
let voidBeforeMs: number
let asked: string[]
beforeEach(() => {
  clock.now = START
  metrics = createMetrics()
  collected = collectLog()
  ;[voidBeforeMs, asked] = [0, []]
})

/** With the session `one`. `deviceId`: of the requests. */
async function loader(deviceId: () => string | undefined = () => GRANT.deviceId) {
  const used: Partial<LoadSessionOptions> = {
    store,
    masterKeys,
    sessionCookie,
    idleMs: IDLE_MS,
    absoluteMs: ABSOLUTE_MS,
    now: () => clock.now,
    deviceCookie: { idIn: deviceId },
    voidTimes: {
      tagOf: () => '',
      async timeFor(id) {
        asked.push(id)
        return voidBeforeMs
      },
      isVoid: ({ createdAtMs }, beforeMs) => createdAtMs < beforeMs,
    },
    log: collected.log,
    metrics,
  }
  const options = used as LoadSessionOptions // the rest is for other modules
  const sessionStore = createSessionStore(options)
  await sessionStore.create('one', SESSION)
  const load = createLoadSession(options, sessionStore)
  /** Loads the session of a request with this cookie. Returns the request. */
  const loadFrom = async (cookie: string | undefined = sessionCookie.setCookie('one').split(';')[0]) => {
    const req = requestWith(cookie === '' ? {} : { cookie })
    await load(req, responseTo(req))
    return req
  }
  return { load, loadFrom }
}

function requestWith(headers: Record<string, string | undefined>): Request {
  const req = Object.assign(new IncomingMessage(new Socket()), { url: '/', headers })
  return Object.assign(req, {
    context: { requestId: 'request-1', address: '192.0.2.1' },
  }) as unknown as Request
}
const responseTo = (req: Request) => new ServerResponse(req) as unknown as Response

const checked = async () =>
  (await metrics.sessionChecks.get()).values.map(({ labels, value }) => [labels.result, value])

describe('a request', () => {
  test('with the cookie of a session has that session', async () => {
    const { loadFrom } = await loader()
    expect((await loadFrom()).stored).toMatchObject({ id: 'one', session: SESSION })
    expect([await checked(), asked]).toEqual([[['session', 1]], ['one']])
  })

  test('without the cookie costs nothing', async () => {
    const { loadFrom } = await loader()
    expect((await loadFrom('')).stored).toBeUndefined()
    expect([await checked(), asked]).toEqual([[], []])
  })

  test.each<[string, () => Promise<unknown> | unknown]>([
    ['has ended', () => store.delete('gatehouse:sess:one')],
    ['cannot be read', () => store.set('gatehouse:sess:one', 'damaged', ABSOLUTE_MS)],
    [
      'was idle for too long, although the store still has it',
      () => {
        for (const entry of entries.values()) entry.expiresAt = Number.POSITIVE_INFINITY
        clock.now = START + IDLE_MS
      },
    ],
    [
      'is void',
      () => {
        voidBeforeMs = START + 1
      },
    ],
  ])('with the cookie of a session that %s has none', async (_what, happens) => {
    const { loadFrom } = await loader()
    await happens()
    expect((await loadFrom()).stored).toBeUndefined()
    expect(await checked()).toEqual([['no_session', 1]])
    expect(collected.lines().filter(({ audit }) => audit === true)).toEqual([])
  })

  test('with a forged cookie, or with a copied record, has none', async () => {
    const { loadFrom } = await loader()
    const forged = await loadFrom('__Host-gatehouse=s%3Aone.forged')
    const copy = String(entries.get('gatehouse:sess:one')?.content)
    await store.set('gatehouse:sess:two', copy, ABSOLUTE_MS)
    const copied = await loadFrom(sessionCookie.setCookie('two').split(';')[0])
    expect([forged.stored, copied.stored, await checked()]).toEqual([
      undefined,
      undefined,
      [['no_session', 2]],
    ])
  })

  test('reads its session once, whether it has one or not', async () => {
    const { load, loadFrom } = await loader()
    const found = await loadFrom()
    await store.delete('gatehouse:sess:one')
    const ended = await loadFrom()
    asked = []
    for (const req of [found, ended]) await load(req, responseTo(req))
    expect([found.stored?.id, ended.stored, asked]).toEqual(['one', undefined, []])
  })

  test('keeps the session that it has from the cookie of an application', async () => {
    const { load } = await loader()
    const stored = { id: 'of-application', session: SESSION }
    const req = Object.assign(requestWith({ cookie: sessionCookie.setCookie('one').split(';')[0] }), {
      stored,
    })
    await load(req, responseTo(req))
    expect([req.stored, asked]).toEqual([stored, []])
  })

  test('is 503 while the store is out of reach, which ends no session', async () => {
    const { loadFrom } = await loader()
    const { get } = store
    store.get = () => Promise.reject(storeUnavailable())
    await expect(loadFrom()).rejects.toMatchObject({ status: 503 })
    store.get = get
    expect((await loadFrom()).stored).toMatchObject({ id: 'one' })
  })
})

test('the end of the response neither writes nor deletes the session, nor sets a cookie', async () => {
  const { load } = await loader()
  const before = new Map(entries)
  const req = requestWith({ cookie: sessionCookie.setCookie('one').split(';')[0] })
  const res = responseTo(req)
  await load(req, res)
  Object.assign(req.stored?.session ?? {}, { login: 'changed' })
  res.end()
  expect(res.getHeader('Set-Cookie')).toBeUndefined()
  expect([...entries]).toEqual([...before])
})

describe('a session cookie from another device', () => {
  const mismatches = async () =>
    (await metrics.requestsRefused.get()).values.map(({ labels, value }) => [labels.reason, value])
  const audited = () =>
    collected
      .lines()
      .filter(({ event }) => event === 'session_device_mismatch')
      .map(({ deviceHash }) => deviceHash)
  const hashOf = (device: string) => createSigner(masterKeys, 'log-hashes').sign(device).slice(0, 16)

  test('gives no session, and is counted and audited with the hash of that device', async () => {
    const { loadFrom } = await loader(() => 'another')
    expect((await loadFrom()).stored).toBeUndefined()
    expect(await mismatches()).toEqual([['session_device_mismatch', 1]])
    expect(await checked()).toEqual([['no_session', 1]])
    expect(collected.lines()).toMatchObject([
      {
        event: 'session_device_mismatch',
        requestId: 'request-1',
        address: '192.0.2.1',
        userId: GRANT.userId,
        sessionId: SESSION.publicId,
        deviceHash: hashOf('another'),
      },
    ])
  })

  test('is audited once a minute for each device, or for none', async () => {
    let device: string | undefined
    const { loadFrom } = await loader(() => device)
    for (device of ['another', 'another', undefined, undefined, 'a third']) await loadFrom()
    expect(audited()).toEqual([hashOf('another'), undefined, hashOf('a third')])
    clock.now = START + 59_999
    for (device of ['another', undefined]) await loadFrom()
    expect(audited()).toHaveLength(3)
    clock.now = START + 60_000
    for (device of ['another', undefined]) await loadFrom()
    expect(audited().slice(3)).toEqual([hashOf('another'), undefined])
    expect(await mismatches()).toEqual([['session_device_mismatch', 9]])
  })
})
