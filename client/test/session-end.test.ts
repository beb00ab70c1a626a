import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { createGatehouse, type SessionEnd, type SessionEnding } from 'gatehouse-client'
import {
  ORIGIN,
  type Scripted,
  type ScriptedBroker,
  scriptBroker,
} from 'gatehouse-test-support/scripted-broker'

/**
 * The end of a session: by its times, by other tabs, and by refusals of the broker; what is told
 * before it, and of a start.
 */

const MINUTE = 60_000
const NO_SESSION = { status: 404, body: { errorCode: 'E0000007', errorSummary: 'Not found' } }
const UNAVAILABLE = { status: 503, body: { errorCode: 'E0000009', errorSummary: 'Not now' } }
const DAY = 24 * 60 * MINUTE

let stops: (() => void)[]
beforeEach(() => {
  stops = []
  jest.useFakeTimers({ now: Date.parse('2026-11-23T10:00:00.300Z') })
})
afterEach(() => {
  for (const stop of stops) stop()
  expect(jest.getTimerCount()).toBe(0)
  jest.useRealTimers()
})

/** A session that is idle and expires after these milliseconds, on the broker's clock. */
function sessionOf(idleMs: number, expiresMs: number, { id = 'session-1', clockAheadMs = 0 } = {}) {
  const at = (ms: number) => new Date(Date.now() + clockAheadMs + ms).toISOString()
  return { body: { id, login: 'a@example.test', idleExpiresAt: at(idleMs), expiresAt: at(expiresMs) } }
}

/** A tab that has asked for its session. */
async function openTab(broker: ScriptedBroker, session: Scripted, baseUrl = ORIGIN) {
  broker.answer(session)
  const gatehouse = createGatehouse({ baseUrl, fetch: broker.fetch })
  const reasons: SessionEnd[] = []
  stops.push(gatehouse.onSessionEnd((reason) => reasons.push(reason)))
  await gatehouse.session()
  broker.requests.length = 0
  return { gatehouse, reasons }
}

/** A tab with its own broker. */
async function openOwnTab(session = usual()) {
  const broker = scriptBroker()
  return { broker, ...(await openTab(broker, session)) }
}

/** Messages between tabs do not use timers: they arrive on another turn of the event loop. */
const messages = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** Idle after half an hour. */
const usual = () => sessionOf(30 * MINUTE, 600 * MINUTE)

const times = ({ requests }: ScriptedBroker) => requests.map(([ms]) => ms)

describe('by its times', () => {
  test.each([
    ['idle', 30 * MINUTE, 600 * MINUTE, 0],
    ['expired', 600 * MINUTE, 30 * MINUTE, 0],
    ['idle', 30 * MINUTE, 600 * MINUTE, 120 * MINUTE],
    ['idle', 30 * MINUTE, 600 * MINUTE, -120 * MINUTE],
  ] as const)(
    '%s: idle %i, expires %i, the broker’s clock %i ahead',
    async (reason, idle, expires, clockAheadMs) => {
      const broker = scriptBroker({ clockAheadMs })
      const { reasons } = await openTab(broker, sessionOf(idle, expires, { clockAheadMs }))
      broker.answer(NO_SESSION)
      await jest.advanceTimersByTimeAsync(30 * MINUTE - 1000)
      expect([broker.requests, reasons]).toEqual([[], []])
      await jest.advanceTimersByTimeAsync(2000)
      expect([broker.requests.length, reasons]).toEqual([1, [reason]])
      await jest.advanceTimersByTimeAsync(DAY)
      expect([broker.requests.length, reasons]).toEqual([1, [reason]])
    },
  )

  test('a session that another tab has extended continues', async () => {
    const { broker, reasons } = await openOwnTab()
    broker.answer(sessionOf(60 * MINUTE, 600 * MINUTE))
    await jest.advanceTimersByTimeAsync(31 * MINUTE)
    broker.answer(NO_SESSION)
    expect(reasons).toEqual([])
    await jest.advanceTimersByTimeAsync(31 * MINUTE)
    expect([times(broker).length, reasons]).toEqual([2, ['idle']])
  })

  test('while the broker cannot tell, nothing is said, and it is asked again each half minute', async () => {
    const { broker, reasons } = await openOwnTab(sessionOf(MINUTE, 600 * MINUTE))
    broker.answer(UNAVAILABLE, new TypeError('fetch failed'), NO_SESSION)
    await jest.advanceTimersByTimeAsync(MINUTE + 1500)
    expect([times(broker).length, reasons]).toEqual([1, []])
    await jest.advanceTimersByTimeAsync(MINUTE)
    expect([times(broker).length, reasons]).toEqual([3, ['idle']])
  })

  test('a session of a hundred days is not asked for at once', async () => {
    const { broker, reasons } = await openOwnTab(sessionOf(100 * DAY, 100 * DAY))
    await jest.advanceTimersByTimeAsync(20 * DAY)
    expect([times(broker), reasons]).toEqual([[], []])
  })

  test('an answer without times is not asked for in a loop', async () => {
    const broker = scriptBroker()
    await openTab(broker, { body: { a: 'proxy' } })
    await jest.advanceTimersByTimeAsync(10 * MINUTE)
    expect(times(broker).length).toBeLessThanOrEqual(20)
  })
})

describe('by the broker', () => {
  test.each<[SessionEnd, Scripted]>([
    ['ended', { status: 401, body: { errorCode: 'E0000005', errorSummary: 'Invalid session' } }],
    ['replaced', { status: 409, body: { errorCode: 'E0000006', errorSummary: 'Another session' } }],
  ])('a call tells that it is %s; the listener is called once', async (reason, answer) => {
    const { broker, gatehouse, reasons } = await openOwnTab()
    broker.answer(answer)
    await expect(gatehouse.groups()).rejects.toMatchObject({ name: 'GatehouseError' })
    await expect(gatehouse.groups()).rejects.toMatchObject({ name: 'GatehouseError' })
    expect(reasons).toEqual([reason])
  })

  test('a check that finds another session tells that this one is replaced, and watches the new one', async () => {
    const { broker, reasons } = await openOwnTab(sessionOf(MINUTE, 600 * MINUTE))
    broker.answer(sessionOf(30 * MINUTE, 600 * MINUTE, { id: 'session-2' }))
    await jest.advanceTimersByTimeAsync(2 * MINUTE)
    expect(reasons).toEqual(['replaced'])
    broker.answer(NO_SESSION)
    await jest.advanceTimersByTimeAsync(60 * MINUTE)
    expect(reasons).toEqual(['replaced', 'idle'])
  })

  test('that another session is already over does not end this one, whatever its id', async () => {
    const { broker, gatehouse, reasons } = await openOwnTab()
    broker.answer(NO_SESSION)
    await expect(gatehouse.endSession('me-and-more')).rejects.toMatchObject({ status: 404 })
    expect(reasons).toEqual([])
    await expect(gatehouse.refresh()).rejects.toMatchObject({ status: 404 })
    expect(reasons).toEqual(['ended'])
  })

  test('other errors end nothing', async () => {
    const { broker, gatehouse, reasons } = await openOwnTab()
    broker.answer(UNAVAILABLE)
    await expect(gatehouse.groups()).rejects.toMatchObject({ status: 503 })
    await expect(gatehouse.session()).rejects.toMatchObject({ status: 503 })
    await expect(gatehouse.signOut()).rejects.toMatchObject({ status: 503 })
    expect(reasons).toEqual([])
  })
})

describe('by another tab', () => {
  test('a sign-out in one tab is told in the others, and not in those of another broker', async () => {
    const session = usual()
    const broker = scriptBroker()
    const one = await openTab(broker, session)
    const two = await openTab(broker, session)
    const elsewhere = await openTab(broker, session, 'https://other.example.com')
    broker.answer({ status: 204 })
    await one.gatehouse.signOut()
    await messages()
    expect([one.reasons, two.reasons, elsewhere.reasons]).toEqual([['signed-out'], ['signed-out'], []])
  })

  test('clients of a server, each with the cookies of another user, tell each other nothing', async () => {
    const broker = scriptBroker()
    const clientOf = () => {
      const cookieJar = { getCookieString: () => '', setCookie: () => undefined }
      return createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch, cookieJar })
    }
    const [ada, bob] = [clientOf(), clientOf()]
    const reasons: SessionEnd[] = []
    stops.push(ada.onSessionEnd((reason) => reasons.push(reason)))
    broker.answer(usual())
    await ada.session()
    broker.answer(sessionOf(30 * MINUTE, 600 * MINUTE, { id: 'session-2' }), { status: 204 })
    await bob.session()
    await bob.signOut()
    await clientOf().signOut()
    await messages()
    expect(reasons).toEqual([])
    broker.answer({ status: 204 })
    await ada.signOut()
    await messages()
    expect(reasons).toEqual(['signed-out'])
  })

  test('a sign-in in one tab replaces the session in the others; the same session does not', async () => {
    const broker = scriptBroker()
    const one = await openTab(broker, usual())
    const two = await openTab(broker, usual())
    await messages()
    expect([one.reasons, two.reasons]).toEqual([[], []])
    const started: string[] = []
    stops.push(one.gatehouse.onSessionStart(({ id }) => started.push(id)))
    broker.answer(sessionOf(30 * MINUTE, 600 * MINUTE, { id: 'session-2' }), usual())
    await two.gatehouse.session()
    await messages()
    expect([one.reasons, two.reasons, started]).toEqual([['replaced'], [], []])
  })
})

describe('at Okta', () => {
  const OKTA = 'https://acme.okta.com/login/signout?fromURI=https%3A%2F%2Fportal.example.com%2F'
  const headers = { 'x-gatehouse-sign-out': OKTA }

  /** A page that keeps what happens, in order. */
  async function openPage() {
    const broker = scriptBroker()
    const happened: string[] = []
    const navigate = (address: string) => happened.push(address)
    const gatehouse = createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch, navigate })
    stops.push(gatehouse.onSessionEnd((reason) => happened.push(reason)))
    broker.answer(usual())
    await gatehouse.session()
    return { broker, gatehouse, happened }
  }

  test('a sign-out leads to the address that the broker tells, and the page is told of the end', async () => {
    const { broker, gatehouse, happened } = await openPage()
    broker.answer({ status: 204, headers })
    await gatehouse.signOut()
    await messages()
    expect(happened.toSorted()).toEqual([OKTA, 'signed-out'])
  })

  test('a session that has ended elsewhere does not keep the one at Okta', async () => {
    const { broker, gatehouse, happened } = await openPage()
    broker.answer({ ...NO_SESSION, headers })
    await gatehouse.signOut()
    expect(happened).toContain(OKTA)
  })

  test('without the address, and after a sign-out that has failed, the page stays', async () => {
    const { broker, gatehouse, happened } = await openPage()
    broker.answer(UNAVAILABLE, { status: 409, body: { errorCode: 'E0000006' } }, { status: 204 })
    await expect(gatehouse.signOut()).rejects.toMatchObject({ status: 503 })
    await expect(gatehouse.signOut()).rejects.toMatchObject({ status: 409 })
    await gatehouse.signOut()
    await messages()
    expect(happened).toEqual(['replaced'])
  })

  test('in Node, nothing is opened', async () => {
    const broker = scriptBroker()
    broker.answer({ status: 204, headers })
    await expect(createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch }).signOut()).resolves.toBeUndefined()
  })
})

test('after the last listener is removed, a Node process ends', async () => {
  const script = `
    import { createGatehouse } from 'gatehouse-client'
    const at = new Date(Date.now() + 600_000).toISOString()
    const session = { id: 'session-1', idleExpiresAt: at, expiresAt: at }
    const gatehouse = createGatehouse({ baseUrl: '${ORIGIN}', fetch: async () => Response.json(session) })
    const stop = gatehouse.onSessionEnd(() => {})
    await gatehouse.session()
    stop()`
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    timeout: 60_000,
  })
  expect(await run).toMatchObject({ stderr: '' })
})

/** A tab that is told of the end a minute before. */
function openWatchedTab() {
  const broker = scriptBroker()
  const gatehouse = createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch })
  const endings: SessionEnding[] = []
  stops.push(gatehouse.onSessionEnding(60, (ending) => endings.push(ending)))
  return { broker, gatehouse, endings }
}

describe('before its end', () => {
  test.each([
    ['idle', 30 * MINUTE, 600 * MINUTE],
    ['expired', 30 * MINUTE, 30 * MINUTE],
  ] as const)(
    'a session that will be %s is told once, when the broker agrees',
    async (reason, idle, expires) => {
      const { broker, gatehouse, endings } = openWatchedTab()
      broker.answer(sessionOf(idle, expires))
      await gatehouse.session()
      await jest.advanceTimersByTimeAsync(29 * MINUTE - 1000)
      expect([broker.requests.length, endings]).toEqual([1, []])
      await jest.advanceTimersByTimeAsync(2000)
      expect([broker.requests.length, endings]).toEqual([2, [{ secondsLeft: 60, reason }]])
      await jest.advanceTimersByTimeAsync(57_000)
      expect([broker.requests.length, endings.length]).toEqual([2, 1])
    },
  )

  test('a session that another tab has extended continues, and is told before its new end', async () => {
    const { broker, gatehouse, endings } = openWatchedTab()
    broker.answer(usual())
    await gatehouse.session()
    broker.answer(sessionOf(50 * MINUTE, 600 * MINUTE))
    await jest.advanceTimersByTimeAsync(48 * MINUTE)
    expect([broker.requests.length, endings]).toEqual([2, []])
    await jest.advanceTimersByTimeAsync(MINUTE + 1000)
    expect([broker.requests.length, endings.length]).toEqual([3, 1])
  })

  test('SUCCESS arms the watch, without another request', async () => {
    const { broker, gatehouse, endings } = openWatchedTab()
    const { body } = usual()
    broker.answer({ body: { status: 'SUCCESS', _embedded: { session: body } } })
    const step = await gatehouse.signIn({ username: 'a', password: 'plainly-fake' })
    expect(step).toMatchObject({ status: 'SUCCESS', session: body })
    broker.answer({ body })
    await jest.advanceTimersByTimeAsync(29 * MINUTE + 1000)
    expect([broker.requests.length, endings.length]).toEqual([2, 1])
  })

  test('a listener that is added late is told at once', async () => {
    const { broker, gatehouse } = openWatchedTab()
    broker.answer(sessionOf(2 * MINUTE, 600 * MINUTE))
    await gatehouse.session()
    const told: number[] = []
    stops.push(gatehouse.onSessionEnding(300, ({ secondsLeft }) => told.push(secondsLeft)))
    await Promise.resolve()
    expect(told).toEqual([120])
  })
})

describe('a sign-in in another tab', () => {
  test('tells the tabs without a session; each asks once, and the one that signed in does not', async () => {
    const session = usual()
    const tabs = [openWatchedTab(), openWatchedTab(), openWatchedTab()]
    const started: string[] = []
    for (const { gatehouse, broker } of tabs) {
      stops.push(gatehouse.onSessionStart(({ id }) => started.push(id)))
      broker.answer(NO_SESSION)
      await gatehouse.session()
      broker.answer(session)
      broker.requests.length = 0
    }
    await tabs[0]?.gatehouse.session()
    await messages()
    expect(started).toEqual(['session-1', 'session-1'])
    expect(tabs.map(({ broker }) => broker.requests.length)).toEqual([1, 1, 1])
  })

  test('while the broker cannot tell, and without a listener, nothing is told', async () => {
    const [one, two, three] = [openWatchedTab(), openWatchedTab(), openWatchedTab()]
    const started: string[] = []
    stops.push(two.gatehouse.onSessionStart(({ id }) => started.push(id)))
    two.broker.answer(new TypeError('fetch failed'))
    one.broker.answer(usual())
    await one.gatehouse.session()
    await messages()
    expect([started, two.broker.requests.length, three.broker.requests.length]).toEqual([[], 1, 0])
  })
})

describe('on a server', () => {
  test('a client can be created, and may have listeners; its first call says what is missing', async () => {
    const gatehouse = createGatehouse()
    const stop = gatehouse.onSessionEnd(() => undefined)
    stop()
    await expect(gatehouse.session()).rejects.toThrow(/outside a browser.*baseUrl and cookieJar/)
    expect(await gatehouse.resume()).toBeUndefined()
  })
})
