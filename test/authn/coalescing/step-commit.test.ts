import { describe, expect, test } from '@jest/globals'
import type { StepDone } from '../../../src/authn/coalescing/claimed-step.ts'
import { storeUnavailable } from '../../../src/errors.ts'
import type { MemoryEntry } from '../../../src/store/memory-store.ts'
import { until } from '../../support/until.ts'
import { answer, done, failureOf, gate, LOCK, NAMES, RECORD, replicas } from './step-replicas.ts'

describe('what is written elsewhere', () => {
  /** A step whose outcome is a session, with what it did and what it took back. */
  function signIn(rest: Partial<StepDone> = {}) {
    const told: string[] = []
    const tell = (what: string) => async () => {
      told.push(what)
    }
    const step: StepDone = {
      outcome: answer('SUCCESS', { sessionId: 'one' }),
      record: 'delete',
      alongside: tell('written'),
      settled: tell('settled'),
      undo: tell('undone'),
      ...rest,
    }
    return { told, step }
  }
  const flight = { names: NAMES, fingerprint: 'same' } as const
  const resultsIn = (entries: Map<string, MemoryEntry>) =>
    [...entries.keys()].filter((key) => key.startsWith(`${LOCK}:`))

  test('goes out with the settlement, and what follows waits for both', async () => {
    const { told, step } = signIn()
    const { replica } = replicas({
      faults: (memory) => ({
        settle(settlement) {
          told.push('settling')
          return memory.settle(settlement)
        },
      }),
    })
    let write = () => {}
    const writing = new Promise<void>((resolve) => {
      write = resolve
    })
    const alongside = () => {
      told.push('writing')
      return writing
    }
    const running = replica().run(flight, async () => ({ ...step, alongside }))
    await until(() => told.length === 2)
    expect(told).toEqual(['writing', 'settling'])
    write()
    expect(await running).toMatchObject({ sessionId: 'one' })
    expect(told).toEqual(['writing', 'settling', 'settled'])
  })

  test('and can not be: nothing is shared, and what may be there is taken back', async () => {
    const { replica, entries, store } = replicas()
    await store.set(RECORD, 'pushed', 60_000)
    const { told, step } = signIn({ alongside: () => Promise.reject(storeUnavailable()) })
    expect(await failureOf(replica().run(flight, async () => step))).toMatchObject({ status: 503 })
    expect(told).toEqual(['undone'])
    expect([resultsIn(entries), entries.has(LOCK)]).toEqual([[], false])
  })

  test('is taken back when the step could not be settled', async () => {
    const { told, step } = signIn()
    const { replica, entries } = replicas({
      faults: (memory) => ({
        async settle(settlement) {
          await memory.settle(settlement) // done, and then the connection broke
          throw storeUnavailable()
        },
      }),
    })
    expect(await failureOf(replica().run(flight, async () => step))).toMatchObject({ status: 503 })
    expect(told).toEqual(['written', 'undone'])
    expect(resultsIn(entries)).toEqual([])
  })

  test('is taken back when the step was settled too late', async () => {
    const { replica, store, entries } = replicas({ lockTtlMs: 60, sharedAnswerMs: 60_000 })
    await store.set(RECORD, 'start', 60_000)
    const { told, step } = signIn()
    const { work, started, release } = gate()
    const late = failureOf(replica().run(flight, work))
    await until(() => started() === 1)
    await store.set(RECORD, 'newer', 60_000)
    release(step)
    expect(await late).toMatchObject({ status: 503 })
    expect(told).toEqual(['written', 'undone'])
    expect([resultsIn(entries), await store.get(RECORD)]).toEqual([[], 'newer'])
  })

  test('is handed on by no other replica when the step was settled too late: it takes the step anew', async () => {
    const { work, started, release } = gate()
    const taken: string[] = []
    const { replica, store, refusedClaims } = replicas({
      faults: (memory) => ({
        async delete(key) {
          await until(() => taken.length > 0) // what is taken back takes its time
          return memory.delete(key)
        },
      }),
    })
    await store.set(RECORD, 'start', 60_000)
    const late = failureOf(replica().run(flight, work))
    await until(() => started() === 1)
    const other = replica().run(flight, async () => {
      taken.push('anew')
      return done('anew')
    })
    await until(() => refusedClaims.length > 0)
    await store.set(RECORD, 'newer', 60_000)
    release(signIn().step)
    expect(await other).toMatchObject({ body: 'anew', sessionId: undefined })
    expect(await late).toMatchObject({ status: 503 })
  })

  test('is taken back when what must follow could not be done', async () => {
    const { replica, entries } = replicas()
    const { told, step } = signIn({ settled: () => Promise.reject(storeUnavailable()) })
    expect(await failureOf(replica().run(flight, async () => step))).toMatchObject({ status: 503 })
    expect(told).toEqual(['written', 'undone'])
    expect(resultsIn(entries)).toEqual([])
  })

  test('and can not be taken back either: it is logged, and the error is the first one', async () => {
    const away = () => Promise.reject(storeUnavailable(new Error('the second')))
    const { replica, lines } = replicas({ faults: () => ({ delete: away }) })
    const cause = new Error('the first')
    const { step } = signIn({ alongside: () => Promise.reject(storeUnavailable(cause)), undo: away })
    expect(await failureOf(replica().run(flight, async () => step))).toMatchObject({ cause })
    expect(lines().map(({ event }) => event)).toEqual(['step_not_taken_back', 'step_not_taken_back'])
  })

  /** A step that is settled, while what it writes elsewhere takes its time; and an equal one at another replica. */
  async function halfWritten(sharedAnswerMs = 60_000) {
    let isThere = false
    let looked = 0
    const stands = async () => {
      looked += 1
      return isThere
    }
    const { replica, entries } = replicas({ stands, sharedAnswerMs })
    let end = (_error?: unknown) => {}
    const alongside = () =>
      new Promise<void>((resolve, reject) => {
        end = (error) => (error === undefined ? resolve() : reject(error))
      })
    const holder = gate()
    const first = replica().run(flight, holder.work)
    await until(() => holder.started() === 1)
    let attempts = 0
    const other = replica().run(flight, async () => {
      attempts += 1
      return done('anew')
    })
    holder.release({ ...signIn().step, alongside, record: 'keep' })
    await until(() => looked > 1)
    expect(attempts).toBe(0)
    return {
      first,
      other,
      entries,
      attempts: () => attempts,
      written() {
        isThere = true
        end()
      },
      failed: () => end(storeUnavailable()),
    }
  }

  test('is waited for on other replicas: they hand on no outcome that does not stand', async () => {
    const { first, other, attempts, written, entries } = await halfWritten()
    written()
    for (const outcome of await Promise.all([first, other]))
      expect(outcome).toMatchObject({ sessionId: 'one' })
    expect(attempts()).toBe(0)
    expect(entries.has(LOCK)).toBe(false)
  })

  test('and never comes: on other replicas the step is taken anew', async () => {
    const { first, other, failed } = await halfWritten()
    failed()
    expect(await failureOf(first)).toMatchObject({ status: 503 })
    expect(await other).toMatchObject({ body: 'anew' })
  })
})
