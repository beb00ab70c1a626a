import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { createGatehouse, GatehouseError, type PollOptions } from 'gatehouse-client'
import { stepAt } from 'gatehouse-test-support/node-client'
import {
  neverAnswered,
  ORIGIN,
  type Scripted,
  type ScriptedBroker,
  scriptBroker,
  WAITING,
} from 'gatehouse-test-support/scripted-broker'

/** Polling of a push: pacing, back-off, hidden pages and abort. */

const UNAVAILABLE = { status: 503, body: { errorCode: 'E0000009', errorSummary: 'Not now' } }
const DONE = { body: { status: 'SUCCESS' } }

let broker: ScriptedBroker
beforeEach(() => {
  jest.useFakeTimers()
  broker = scriptBroker()
})
afterEach(() => {
  expect(jest.getTimerCount()).toBe(0)
  jest.useRealTimers()
})

/** Starts a push, and answers its polls. */
async function startPush(...answers: readonly Scripted[]) {
  broker.answer({ body: WAITING })
  const gatehouse = createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch })
  const step = stepAt(await gatehouse.signIn({ stateToken: 'an-example-handle' }), 'MFA_CHALLENGE', 'poll')
  broker.requests.length = 0
  broker.answer(...answers)
  return step
}

/** Polls until the end, while the time passes. */
async function finish(step: Awaited<ReturnType<typeof startPush>>, options?: PollOptions) {
  const statuses: string[] = []
  const polls = async () => {
    for await (const each of step.poll(options)) statuses.push(each.status)
    return statuses
  }
  const result = polls().catch((error: unknown) => error)
  await jest.runAllTimersAsync()
  return result
}

const times = () => broker.requests.map(([ms]) => ms)

test('a poll is sent two seconds after the answer before, or as the page says', async () => {
  const step = await startPush({ body: WAITING }, { body: WAITING }, DONE)
  expect(await finish(step)).toEqual(['MFA_CHALLENGE', 'MFA_CHALLENGE', 'SUCCESS'])
  expect(times()).toEqual([2000, 4000, 6000])
})

test.each<[string, Scripted]>([
  ['a 503', UNAVAILABLE],
  ['a 500', { ...UNAVAILABLE, status: 500 }],
  ['a lost connection', new TypeError('fetch failed')],
  ['HTML of a proxy', { status: 502, body: '<html>' }],
])('after %s it waits 1, 2, 4, 8 and 16 seconds, and then throws the error', async (_, failure) => {
  const retries: unknown[] = []
  const error = await finish(await startPush(failure), { onRetry: (one) => retries.push(one) })
  expect(error).toBeInstanceOf(GatehouseError)
  expect(times()).toEqual([2, 3, 5, 9, 17, 33].map((seconds) => seconds * 1000))
  expect(retries).toHaveLength(5)
})

test('after an answer, the back-off begins again', async () => {
  await finish(await startPush(UNAVAILABLE, UNAVAILABLE, { body: WAITING }, UNAVAILABLE, DONE))
  expect(times()).toEqual([2, 3, 5, 7, 8].map((seconds) => seconds * 1000))
})

test.each([
  ['7', 9],
  ['60', 62],
  ['0', 32], // a 429 without a time to wait counts as half a minute
])('a Retry-After of %s seconds: the next poll is sent after %i', async (seconds, next) => {
  await finish(await startPush({ status: 429, headers: { 'retry-after': seconds } }, DONE))
  expect(times()).toEqual([2000, next * 1000])
})

test.each(['61', '1e12', 'Infinity'])('a Retry-After of %s seconds is not waited for', async (seconds) => {
  const error = await finish(await startPush({ status: 429, headers: { 'retry-after': seconds } }))
  expect(error).toMatchObject({ status: 429, retryAfterSeconds: Number(seconds) })
  expect(times()).toEqual([2000])
})

test('an error that does not pass is thrown at once; the step can be polled again', async () => {
  const step = await startPush({ status: 403, body: { errorCode: 'E0000069', errorSummary: 'Locked' } })
  expect(await finish(step)).toMatchObject({ status: 403, code: 'E0000069' })
  expect(times()).toEqual([2000])
  broker.answer(DONE)
  expect(await finish(step)).toEqual(['SUCCESS'])
})

test('an abort while it waits rejects with the reason of the signal, and nothing more is sent', async () => {
  const step = await startPush({ body: WAITING })
  const abort = new AbortController()
  const next = step.poll({ signal: abort.signal }).next()
  await jest.advanceTimersByTimeAsync(1000)
  const reason = new Error('the user has left')
  abort.abort(reason)
  await expect(next).rejects.toBe(reason)
  await jest.advanceTimersByTimeAsync(60_000)
  expect(broker.requests).toEqual([])
})

test('an abort while a request is under way ends the request, and rejects with the reason', async () => {
  const waits = ({ signal }: RequestInit) =>
    new Promise<Response>((_, reject) => {
      signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')))
    })
  const step = await startPush(waits)
  const abort = new AbortController()
  const next = step.poll({ signal: abort.signal }).next()
  await jest.advanceTimersByTimeAsync(2000)
  expect(broker.requests).toHaveLength(1)
  const reason = new Error('the user has left')
  abort.abort(reason)
  await expect(next).rejects.toBe(reason)
})

test('a page that leaves the loop sends no further poll', async () => {
  const step = await startPush({ body: WAITING })
  const leave = (async () => {
    for await (const _ of step.poll()) break
  })()
  await jest.advanceTimersByTimeAsync(60_000)
  await leave
  expect(times()).toEqual([2000])
})

test('a poll that is not answered fails after timeoutMs, and the next one is sent', async () => {
  const step = await startPush(neverAnswered, DONE)
  expect(await finish(step)).toEqual(['SUCCESS'])
  expect(times()).toEqual([2000, 2000 + 30_000 + 1000])
})

describe('a page that is hidden', () => {
  /** As the browser's, as far as the client uses it. */
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' })
  const turn = (visibilityState: 'visible' | 'hidden') => {
    page.visibilityState = visibilityState
    page.dispatchEvent(new Event('visibilitychange'))
  }
  const listeners = jest.spyOn(page, 'addEventListener')
  const removed = jest.spyOn(page, 'removeEventListener')
  beforeEach(() => {
    page.visibilityState = 'visible'
    Object.assign(globalThis, { document: page })
  })
  afterEach(() => {
    Reflect.deleteProperty(globalThis, 'document')
    expect(removed.mock.calls.length).toBe(listeners.mock.calls.length)
  })

  async function lastStatus(step: Awaited<ReturnType<typeof startPush>>) {
    let last = ''
    for await (const each of step.poll()) last = each.status
    return last
  }

  /** Polls, hidden after so many milliseconds and shown again after ten minutes. */
  async function hide(afterMs: number, ...answers: readonly Scripted[]) {
    const step = await startPush(...answers)
    const result = lastStatus(step)
    await jest.advanceTimersByTimeAsync(afterMs)
    turn('hidden')
    await jest.advanceTimersByTimeAsync(600_000 - afterMs)
    const whileHidden = times()
    turn('visible')
    return { result, whileHidden }
  }

  test('sends no poll, and the next one at once when it is shown again', async () => {
    const { result, whileHidden } = await hide(3000, { body: WAITING }, DONE)
    expect(whileHidden).toEqual([2000])
    expect(await result).toBe('SUCCESS')
    expect(times()).toEqual([2000, 600_000])
  })

  test('does not wait for the rest of the time when it is shown again', async () => {
    const step = await startPush(DONE)
    const next = step.poll().next()
    await jest.advanceTimersByTimeAsync(500)
    turn('hidden')
    await jest.advanceTimersByTimeAsync(500)
    turn('visible')
    expect((await next).value).toMatchObject({ status: 'SUCCESS' })
    expect(times()).toEqual([1000])
  })

  test('that has lost its request has not failed, however often', async () => {
    const lost = new TypeError('Load failed')
    const step = await startPush(lost, lost, lost, lost, lost, lost, lost, DONE)
    const result = lastStatus(step)
    for (let poll = 0; poll < 8; poll += 1) {
      turn('visible')
      await jest.advanceTimersByTimeAsync(2000)
      turn('hidden')
      await jest.advanceTimersByTimeAsync(60_000)
    }
    expect(await result).toBe('SUCCESS')
  })

  test('waits as long as the broker has told, also when it is shown again', async () => {
    const limited = { status: 429, headers: { 'retry-after': '30' } }
    const step = await startPush(limited, DONE)
    const next = step.poll().next()
    await jest.advanceTimersByTimeAsync(3000)
    turn('hidden')
    turn('visible')
    await jest.advanceTimersByTimeAsync(28_000)
    expect(times()).toEqual([2000])
    await jest.advanceTimersByTimeAsync(1000)
    await next
    expect(times()).toEqual([2000, 32_000])
  })

  test('can be aborted', async () => {
    const step = await startPush(DONE)
    const abort = new AbortController()
    const next = step.poll({ signal: abort.signal }).next()
    turn('hidden')
    await jest.advanceTimersByTimeAsync(60_000)
    abort.abort(new Error('the user has left'))
    await expect(next).rejects.toThrow('the user has left')
    expect(times()).toEqual([])
  })
})
