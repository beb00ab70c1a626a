import { describe, expect, test } from '@jest/globals'
import { BrokerError, unknownHandle } from '../../../src/errors.ts'
import { until } from '../../support/until.ts'
import { answer, done, failureOf, gate, LOCK, NAMES, replicas } from './step-replicas.ts'

describe('equal steps in flight', () => {
  test('on one replica are one work, and all get its outcome', async () => {
    const { replica, metrics } = replicas()
    const flights = replica()
    const { work, started, release } = gate()
    const flying = Array.from({ length: 5 }, () => flights.run({ names: NAMES, fingerprint: 'same' }, work))
    await until(() => started() === 1)
    release({ outcome: answer('{"a":1}', { sessionId: 'cookie-id', status: 200 }), record: 'keep' })
    for (const outcome of await Promise.all(flying)) {
      expect(outcome).toEqual(answer('{"a":1}', { sessionId: 'cookie-id' }))
    }
    expect(started()).toBe(1)
    expect((await metrics.sharedAnswers.get()).values).toEqual([
      expect.objectContaining({ labels: { scope: 'process' }, value: 4 }),
    ])
  })

  test.each([
    ['equal steps', () => 'same'],
    ['equal and different steps', (n: number) => `step ${n % 4}`],
  ])('one browser cannot take up every place: more than ten %s are answered at once', async (_, printOf) => {
    const { replica } = replicas()
    const flights = replica()
    const { work, started, release } = gate()
    const run = (n: number) => flights.run({ names: NAMES, fingerprint: printOf(n) }, work)
    const flying = Array.from({ length: 10 }, (_, n) => run(n))
    for (let n = 0; n < 3; n++)
      expect(await failureOf(run(n))).toMatchObject({ status: 503, code: 'E0000009' })
    await until(() => started() === 1)
    release(done('{"a":1}'))
    for (const outcome of await Promise.all(flying)) expect(outcome).toEqual(answer('{"a":1}'))
    const next = gate()
    const after = flights.run({ names: NAMES, fingerprint: 'same' }, next.work)
    await until(() => next.started() === 1) // another attempt, with places of its own
    next.release(done('{"a":2}'))
    expect(await after).toEqual(answer('{"a":2}'))
  })

  test('while a step is under way of which few may be, few requests of its transaction are', async () => {
    const { replica } = replicas()
    const flights = replica()
    const { work, started, release } = gate()
    const run = (fingerprint: string, atOnce?: number) =>
      flights.run({ names: NAMES, fingerprint, atOnce }, work)
    const flying = [run('code', 2), run('state')]
    for (const atOnce of [2, undefined])
      expect(await failureOf(run('code', atOnce))).toMatchObject({ status: 503, code: 'E0000009' })
    await until(() => started() === 1)
    release(done('{"a":1}'))
    for (const outcome of await Promise.all(flying)) expect(outcome).toEqual(answer('{"a":1}'))
    const many = Array.from({ length: 10 }, () => run('state'))
    for (const outcome of await Promise.all(many)) expect(outcome).toEqual(answer('{"a":1}'))
  })

  test('on several replicas too: status, body, headers and session alike', async () => {
    const { replica, entries, metrics } = replicas()
    const { work, started, release } = gate()
    const holder = replica().run({ names: NAMES, fingerprint: 'same' }, work)
    await until(() => started() === 1)
    const others = [replica(), replica()].map((flights) =>
      flights.run({ names: NAMES, fingerprint: 'same' }, work),
    )
    release({
      outcome: answer('{"errorCode":"E0000068"}', {
        status: 403,
        errorCode: 'E0000068',
        sessionId: 'very-secret',
      }),
      record: 'keep',
    })
    const expected = await holder
    for (const outcome of await Promise.all(others)) expect(outcome).toEqual(expected)
    expect(started()).toBe(1)
    expect(JSON.stringify([...entries])).not.toMatch(/very-secret|E0000068/)
    expect((await metrics.sharedAnswers.get()).values).toEqual([
      expect.objectContaining({ labels: { scope: 'replicas' }, value: 2 }),
    ])
    expect(entries.has(LOCK)).toBe(false)
  })

  test('a refusal is shared as a refusal, by all on all replicas', async () => {
    const { replica } = replicas()
    const { work, started, fail } = gate()
    const flight = { names: NAMES, fingerprint: 'same' } as const
    const holder = failureOf(replica().run(flight, work))
    await until(() => started() === 1)
    const second = replica()
    const others = [second, second, second, replica()].map((flights) => failureOf(flights.run(flight, work)))
    fail(unknownHandle(false))
    for (const error of await Promise.all([holder, ...others])) {
      expect(error).toBeInstanceOf(BrokerError)
      expect(error).toMatchObject({
        status: 401,
        code: 'E0000011',
        message: 'Invalid token provided',
        causes: ['device cookie not returned'],
      })
    }
    expect(started()).toBe(1)
  })

  test('a later equal step is a new attempt', async () => {
    const { replica } = replicas()
    const flights = replica()
    let attempts = 0
    const work = async () => done(String(++attempts))
    for (const expected of ['1', '2', '3']) {
      expect(await flights.run({ names: NAMES, fingerprint: 'same' }, work)).toMatchObject({ body: expected })
    }
    expect(await replica().run({ names: NAMES, fingerprint: 'same' }, work)).toMatchObject({ body: '4' })
  })

  test('after a failure too', async () => {
    const { replica } = replicas()
    const flights = replica()
    const flight = { names: NAMES, fingerprint: 'same' } as const
    const failing = () => Promise.reject(unknownHandle())
    expect(await failureOf(flights.run(flight, failing))).toMatchObject({ status: 401 })
    expect(await flights.run(flight, async () => done('fine'))).toMatchObject({ body: 'fine' })
  })
})
