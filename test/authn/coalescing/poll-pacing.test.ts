import { describe, expect, test } from '@jest/globals'
import type { StepDone, StepWork } from '../../../src/authn/coalescing/claimed-step.ts'
import { unknownHandle } from '../../../src/errors.ts'
import { until } from '../../support/until.ts'
import { answer, done, failureOf, gate, NAMES, RECORD, replicas } from './step-replicas.ts'

describe('a poll that was told to wait', () => {
  const FLIGHT = { names: NAMES, fingerprint: 'poll', polls: true } as const
  const HELD = 'gatehouse:lock:{newest}:poll:poll'
  const waiting = (body: string): StepDone => ({ ...done(body), waits: true })

  test('is held when it comes again too soon, on every replica, and is a new attempt then', async () => {
    const { replica, store, metrics } = replicas({ pollEveryMs: 60_000 })
    let asked = 0
    let waits = true
    const work = async () => ({ ...done(String(++asked)), waits })
    expect(await replica().run(FLIGHT, work)).toMatchObject({ body: '1' })
    waits = false // the person has answered in the meantime
    const ended: unknown[] = []
    const polls = [replica(), replica(), replica()].map(async (flights) => {
      const outcome = await flights.run(FLIGHT, work)
      ended.push(outcome)
      return outcome
    })
    // another step of this transaction is not held, and goes on meanwhile
    const other = { names: NAMES, fingerprint: 'cancel' } as const
    expect(await replica().run(other, async () => done('cancelled'))).toMatchObject({ body: 'cancelled' })
    expect([asked, ended]).toEqual([1, []])

    await store.delete(HELD) // the time is over
    for (const outcome of await Promise.all(polls)) expect(outcome).not.toMatchObject({ body: '1' })
    expect(asked).toBeGreaterThan(1)
    expect((await metrics.sharedAnswers.get()).values.length).toBeLessThanOrEqual(1)
  })

  test('however many ask on however many replicas, the upstream is asked once in that time', async () => {
    const { replica, store } = replicas({ pollEveryMs: 60_000 })
    let asked = 0
    const work = async () => waiting(String(++asked))
    const three = [replica(), replica(), replica()]
    await replica().run(FLIGHT, work)
    const polls = Array.from({ length: 30 }, (_, n) => three[n % 3]?.run(FLIGHT, work))
    expect(asked).toBe(1)
    await store.delete(HELD)
    for (const outcome of await Promise.all(polls)) expect(outcome).toMatchObject({ body: '2' })
    expect(asked).toBe(2)
  })

  test('that ends the transaction ends it for those held on other replicas alike', async () => {
    const { replica, store } = replicas({ pollEveryMs: 60_000 })
    await store.set(RECORD, 'pushed', 60_000)
    const end = gate()
    const gone: StepWork = async (_place, raw) =>
      raw === undefined ? Promise.reject(unknownHandle()) : end.work()
    const first = replica()
    await first.run(FLIGHT, async () => waiting('WAITING'))
    const polls = [first, replica(), replica()].map((flights) => flights.run(FLIGHT, gone))
    await store.delete(HELD)
    await until(() => end.started() === 1)
    end.release({ outcome: answer('SUCCESS', { sessionId: 'one' }), record: 'delete' })
    for (const outcome of await Promise.all(polls)) expect(outcome).toMatchObject({ sessionId: 'one' })
    expect(end.started()).toBe(1)
    // a later one finds what any later step finds, and is not held
    expect(await failureOf(replica().run(FLIGHT, gone))).toMatchObject({ code: 'E0000011' })
  })

  test('is held wherever its word lies while keys are being changed', async () => {
    const flight = { ...FLIGHT, names: ['newest', 'retired'] } as const
    for (const name of flight.names) {
      const { replica, store, refusedClaims } = replicas({ pollEveryMs: 60_000 })
      await store.set('gatehouse:txn:{retired}', 'pushed', 60_000)
      const word = `gatehouse:lock:{${name}}:poll:poll`
      await store.set(word, 'waits gatehouse:lock:{newest}:poll.older', 60_000)
      let asked = 0
      const polling = replica().run(flight, async (_place, raw) => done(`${raw} ${++asked}`))
      await until(() => refusedClaims.length > 0)
      expect([asked, await store.get(`gatehouse:lock:{${name}}`)]).toEqual([0, undefined])
      await store.delete(word)
      expect(await polling).toMatchObject({ body: 'pushed 1' })
    }
  })

  test('what waits for nobody, or shows something, is not held', async () => {
    const { replica, entries } = replicas({ pollEveryMs: 60_000 })
    const flights = replica()
    expect(await flights.run(FLIGHT, async () => done('1'))).toMatchObject({ body: '1' })
    expect(await flights.run(FLIGHT, async () => waiting('2'))).toMatchObject({ body: '2' })
    expect(entries.get(HELD)?.content).toMatch(/^waits /)
    const code = { names: NAMES, fingerprint: 'poll' } as const
    expect(await flights.run(code, async () => done('3'))).toMatchObject({ body: '3' })
  })

  test('is told so when it would be held for too long', async () => {
    const { replica } = replicas({ pollEveryMs: 60_000, waitMs: 60 })
    const flights = replica()
    await flights.run(FLIGHT, async () => waiting('1'))
    expect(await failureOf(flights.run(FLIGHT, async () => done('2')))).toMatchObject({ status: 503 })
  })
})
