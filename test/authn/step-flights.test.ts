import { afterEach, describe, expect, test } from '@jest/globals'
import type { StepDone, StepWork } from '../../src/authn/claimed-step.ts'
import { createStepClaims, type StepClaimsParts } from '../../src/authn/step-claims.ts'
import { createStepFlights, type StepFlights } from '../../src/authn/step-flights.ts'
import type { StepAnswer } from '../../src/authn/step-outcome.ts'
import { createSeal } from '../../src/crypto/seal.ts'
import { BrokerError, storeUnavailable, unknownHandle } from '../../src/errors.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { collectLog } from '../observability/collect-log.ts'
import { until } from '../support/until.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

const NAMES = ['newest'] as const
const RECORD = 'gatehouse:txn:{newest}'
const LOCK = 'gatehouse:lock:{newest}'
const answer = (body: string, rest: Partial<StepAnswer> = {}): StepAnswer => ({
  kind: 'answer',
  status: 200,
  body,
  headers: { 'X-Rate-Limit-Limit': '5' },
  errorCode: undefined,
  sessionId: undefined,
  ...rest,
})
const done = (body: string, record: StepDone['record'] = 'keep'): StepDone => ({
  outcome: answer(body),
  record,
})

interface HouseOptions {
  readonly lockTtlMs?: number
  readonly waitMs?: number
  readonly sharedAnswerMs?: number
  readonly pollEveryMs?: number
  readonly stands?: StepClaimsParts['stands']
  /** What of the store goes wrong. */
  readonly faults?: (memory: Store) => Partial<Store>
}

/** One store, and as many replicas on it as a test asks for. */
function house({
  lockTtlMs = 15_000,
  waitMs = 12_000,
  sharedAnswerMs = 5000,
  pollEveryMs = 0,
  stands = async () => true,
  faults = () => ({}),
}: HouseOptions = {}) {
  const entries = new Map<string, MemoryEntry>()
  const embedded = createMemoryStore({ entries })
  const memory = { ...embedded, ...faults(embedded) }
  const refusedClaims: string[] = []
  const store: Store = {
    ...memory,
    async claim(request) {
      const claim = await memory.claim(request)
      if (!claim.claimed) refusedClaims.push(`${request.lockKey} ${request.token.split('.')[0]}`)
      return claim
    },
  }
  open.push(store)
  const metrics = createMetrics({ processMetrics: false })
  const { log, lines } = collectLog()
  const replica = (ownLockTtlMs = lockTtlMs): StepFlights =>
    createStepFlights({
      claims: createStepClaims({
        store,
        seal: createSeal(() => [Buffer.alloc(32, 1)], 'shared-answer'),
        stands,
        lockTtlMs: ownLockTtlMs,
        sharedAnswerMs,
        pollEveryMs,
      }),
      log,
      metrics,
      waitMs,
    })
  return { store, entries, metrics, replica, refusedClaims, lines }
}

/** Work that waits until it is let go. */
function gate() {
  let started = 0
  let release: (result: StepDone) => void = () => undefined
  let fail: (error: unknown) => void = () => undefined
  const result = new Promise<StepDone>((resolve, reject) => {
    release = resolve
    fail = reject
  })
  result.catch(() => undefined)
  return {
    started: () => started,
    release: (value: StepDone) => release(value),
    fail: (error: unknown) => fail(error),
    work: () => {
      started += 1
      return result
    },
  }
}

const failureOf = (flying: Promise<unknown>): Promise<unknown> =>
  flying.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('equal steps in flight', () => {
  test('on one replica are one work, and all get its outcome', async () => {
    const { replica, metrics } = house()
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

  test('are few: one browser can not take up every place with them; more are answered at once', async () => {
    const { replica } = house()
    const flights = replica()
    const { work, started, release } = gate()
    const run = () => flights.run({ names: NAMES, fingerprint: 'same' }, work)
    const flying = Array.from({ length: 21 }, run)
    for (let n = 0; n < 3; n++)
      expect(await failureOf(run())).toMatchObject({ status: 503, code: 'E0000009' })
    await until(() => started() === 1)
    release(done('{"a":1}'))
    for (const outcome of await Promise.all(flying)) expect(outcome).toEqual(answer('{"a":1}'))
    const next = gate()
    const after = flights.run({ names: NAMES, fingerprint: 'same' }, next.work)
    await until(() => next.started() === 1) // another attempt, with places of its own
    next.release(done('{"a":2}'))
    expect(await after).toEqual(answer('{"a":2}'))
  })

  test('on several replicas too: status, body, headers and session alike', async () => {
    const { replica, entries, metrics } = house()
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
    const { replica } = house()
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
    const { replica } = house()
    const flights = replica()
    let attempts = 0
    const work = async () => done(String(++attempts))
    for (const expected of ['1', '2', '3']) {
      expect(await flights.run({ names: NAMES, fingerprint: 'same' }, work)).toMatchObject({ body: expected })
    }
    expect(await replica().run({ names: NAMES, fingerprint: 'same' }, work)).toMatchObject({ body: '4' })
  })

  test('after a failure too', async () => {
    const { replica } = house()
    const flights = replica()
    const flight = { names: NAMES, fingerprint: 'same' } as const
    const failing = () => Promise.reject(unknownHandle())
    expect(await failureOf(flights.run(flight, failing))).toMatchObject({ status: 401 })
    expect(await flights.run(flight, async () => done('fine'))).toMatchObject({ body: 'fine' })
  })
})

describe('a poll that was told to wait', () => {
  const FLIGHT = { names: NAMES, fingerprint: 'poll', polls: true } as const
  const HELD = 'gatehouse:lock:{newest}:poll:poll'
  const waiting = (body: string): StepDone => ({ ...done(body), waits: true })

  test('is held when it comes again too soon, on every replica, and is a new attempt then', async () => {
    const { replica, store, metrics } = house({ pollEveryMs: 60_000 })
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
    const { replica, store } = house({ pollEveryMs: 60_000 })
    let asked = 0
    const work = async () => waiting(String(++asked))
    const replicas = [replica(), replica(), replica()]
    await replica().run(FLIGHT, work)
    const polls = Array.from({ length: 30 }, (_, n) => replicas[n % 3]?.run(FLIGHT, work))
    expect(asked).toBe(1)
    await store.delete(HELD)
    for (const outcome of await Promise.all(polls)) expect(outcome).toMatchObject({ body: '2' })
    expect(asked).toBe(2)
  })

  test('that ends the transaction ends it for those held on other replicas alike', async () => {
    const { replica, store } = house({ pollEveryMs: 60_000 })
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
      const { replica, store, refusedClaims } = house({ pollEveryMs: 60_000 })
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
    const { replica, entries } = house({ pollEveryMs: 60_000 })
    const flights = replica()
    expect(await flights.run(FLIGHT, async () => done('1'))).toMatchObject({ body: '1' })
    expect(await flights.run(FLIGHT, async () => waiting('2'))).toMatchObject({ body: '2' })
    expect(entries.get(HELD)?.content).toMatch(/^waits /)
    const code = { names: NAMES, fingerprint: 'poll' } as const
    expect(await flights.run(code, async () => done('3'))).toMatchObject({ body: '3' })
  })

  test('is told so when it would be held for too long', async () => {
    const { replica } = house({ pollEveryMs: 60_000, waitMs: 60 })
    const flights = replica()
    await flights.run(FLIGHT, async () => waiting('1'))
    expect(await failureOf(flights.run(FLIGHT, async () => done('2')))).toMatchObject({ status: 503 })
  })
})

describe('different steps of one transaction', () => {
  test.each([
    ['one replica', true],
    ['several replicas', false],
  ])('are taken one after the other on %s, each on what the one before left', async (_name, same) => {
    const { replica, store } = house()
    const one = replica()
    let running = 0
    let most = 0
    const seen: (string | undefined)[] = []
    const step = (name: string) => {
      const flights = same ? one : replica()
      return flights.run({ names: NAMES, fingerprint: name }, async (place, raw) => {
        running += 1
        most = Math.max(most, running)
        seen.push(raw)
        await new Promise((resolve) => setImmediate(resolve))
        running -= 1
        expect(place).toBe(RECORD)
        return done(name, { write: `${raw ?? ''}+`, ttlMs: 60_000 })
      })
    }
    await store.set(RECORD, 'start', 60_000)
    const outcomes = await Promise.all(['a', 'b', 'c', 'd'].map(step))
    expect(outcomes.map((outcome) => outcome.kind === 'answer' && outcome.body)).toEqual(['a', 'b', 'c', 'd'])
    expect(most).toBe(1)
    expect(seen).toEqual(['start', 'start+', 'start++', 'start+++'])
    expect(await store.get(RECORD)).toBe('start++++')
  })

  test('of different transactions do not wait for each other', async () => {
    const { replica } = house()
    const { work, started, release } = gate()
    const slow = replica().run({ names: ['one'], fingerprint: 'a' }, work)
    await until(() => started() === 1)
    const other = await replica().run({ names: ['other'], fingerprint: 'b' }, async () => done('quick'))
    expect(other).toMatchObject({ body: 'quick' })
    release(done('slow'))
    await slow
  })

  test('one that waits too long is told so, and its work was never begun', async () => {
    const { replica } = house({ waitMs: 80 })
    const { work, started, release } = gate()
    const slow = replica().run({ names: NAMES, fingerprint: 'a' }, work)
    await until(() => started() === 1)
    let begun = false
    const failure = await failureOf(
      replica().run({ names: NAMES, fingerprint: 'b' }, async () => {
        begun = true
        return done('b')
      }),
    )
    expect(failure).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
    expect(begun).toBe(false)
    release(done('a'))
    expect(await slow).toMatchObject({ body: 'a' })
  })
})

describe('the record', () => {
  test('is written, deleted or left as the work says, with its time to live', async () => {
    const { replica, store, entries } = house()
    const flights = replica()
    const run = (record: StepDone['record']) =>
      flights.run({ names: NAMES, fingerprint: 'x' }, async () => done('', record))
    await run({ write: 'v1', ttlMs: 60_000 })
    expect(await store.get(RECORD)).toBe('v1')
    expect((entries.get(RECORD)?.expiresAt ?? 0) - performance.now()).toBeGreaterThan(50_000)
    await run('keep')
    expect(await store.get(RECORD)).toBe('v1')
    await run('delete')
    expect(await store.get(RECORD)).toBeUndefined()
  })

  test('that lies under a retired name is found there, and stays there', async () => {
    const { replica, store } = house()
    await store.set('gatehouse:txn:{retired}', 'old', 60_000)
    const names = ['newest', 'retired'] as const
    await replica().run({ names, fingerprint: 'x' }, async (place, raw) => {
      expect([place, raw]).toEqual(['gatehouse:txn:{retired}', 'old'])
      return done('', { write: 'new', ttlMs: 60_000 })
    })
    expect(await store.get('gatehouse:txn:{retired}')).toBe('new')
    expect(await store.get(RECORD)).toBeUndefined()
    expect(await store.get(LOCK)).toBeUndefined()
  })

  test('is guarded by one lock under whichever name it lies', async () => {
    const { replica, store, refusedClaims } = house()
    await store.set('gatehouse:txn:{retired}', 'old', 60_000)
    const flight = { names: ['newest', 'retired'], fingerprint: 'x' } as const
    const { work, started, release } = gate()
    const first = replica().run(flight, work)
    await until(() => started() === 1)
    const second = replica().run({ ...flight, fingerprint: 'y' }, async () => done('y'))
    const third = replica().run(flight, work)
    for (const waiting of ['x', 'y']) {
      await until(() => refusedClaims.includes(`gatehouse:lock:{retired} ${waiting}`))
    }
    release(done('x'))
    expect(await Promise.all([first, second, third])).toMatchObject([
      { body: 'x' },
      { body: 'y' },
      { body: 'x' },
    ])
    expect(started()).toBe(1)
  })
})

describe('a holder that is too slow', () => {
  test('does not overwrite what came after it: it takes back what it did, and says so', async () => {
    const { replica, store } = house({ lockTtlMs: 60 })
    await store.set(RECORD, 'start', 60_000)
    const { work, started, release } = gate()
    const late = failureOf(replica().run({ names: NAMES, fingerprint: 'late' }, work))
    await until(() => started() === 1)
    const quick = await replica().run({ names: NAMES, fingerprint: 'quick' }, async () =>
      done('quick', { write: 'newer', ttlMs: 60_000 }),
    )
    expect(quick).toMatchObject({ body: 'quick' })
    let undone = 0
    release({
      outcome: answer('late', { sessionId: 'opened-too-late' }),
      record: { write: 'stale', ttlMs: 60_000 },
      undo: async () => {
        undone += 1
      },
    })
    expect(await late).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
    expect(undone).toBe(1)
    expect(await store.get(RECORD)).toBe('newer')
  })

  test('does not share what it took back', async () => {
    const { replica, store, entries } = house({ lockTtlMs: 60, sharedAnswerMs: 60_000 })
    await store.set(RECORD, 'start', 60_000)
    const { work, started, release } = gate()
    const late = failureOf(replica().run({ names: NAMES, fingerprint: 'late' }, work))
    await until(() => started() === 1)
    await replica().run({ names: NAMES, fingerprint: 'quick' }, async () => done('', 'delete'))
    release({ outcome: answer('late', { sessionId: 'undone' }), record: { write: 'stale', ttlMs: 60_000 } })
    await late
    const leftOf = [...entries.keys()].filter((key) => key.includes(':late.'))
    expect(leftOf).toEqual([])
    expect(await store.get(RECORD)).toBeUndefined()
  })

  test('does not let go of the lock that another one holds by now', async () => {
    const { replica, store } = house({ lockTtlMs: 60 })
    const first = gate()
    const second = gate()
    const late = failureOf(replica().run({ names: NAMES, fingerprint: 'first' }, first.work))
    await until(() => first.started() === 1)
    const now = replica(600_000).run({ names: NAMES, fingerprint: 'second' }, second.work)
    await until(() => second.started() === 1)
    first.release(done('first'))
    await late
    expect(await store.get(LOCK)).toMatch(/^second\./)
    second.release(done('second'))
    expect(await now).toMatchObject({ body: 'second' })
    expect(await store.get(LOCK)).toBeUndefined()
  })

  test('that died is waited for until its lock ends, then the equal step is taken anew', async () => {
    const { replica, store } = house({ lockTtlMs: 15_000 })
    await store.set(LOCK, 'same.of-a-replica-that-died', 80)
    const outcome = await replica().run({ names: NAMES, fingerprint: 'same' }, async () => done('anew'))
    expect(outcome).toMatchObject({ body: 'anew' })
  })
})

describe('what is asked beside the claim', () => {
  function besides() {
    const told: string[] = []
    return { told, beside: { ask: () => told.push('ask'), drop: () => told.push('drop') } }
  }

  test('goes out with it, and belongs to the step', async () => {
    const { told, beside } = besides()
    let answer = () => {}
    const answered = new Promise<void>((resolve) => {
      answer = resolve
    })
    const { replica } = house({
      faults: (memory) => ({
        async claim(request) {
          told.push('claim')
          await answered
          return memory.claim(request)
        },
      }),
    })
    const running = replica().run({ names: NAMES, fingerprint: 'x', beside }, async () => {
      told.push('work')
      return done('')
    })
    await until(() => told.length > 1)
    expect(told).toEqual(['claim', 'ask']) // the claim has not been answered yet
    answer()
    await running
    expect(told).toEqual(['claim', 'ask', 'work'])
  })

  test('is dropped at once when the claim is lost, and not asked again', async () => {
    const { replica, store } = house()
    await store.set(LOCK, 'same.of-a-replica-that-died', 200)
    const { told, beside } = besides()
    const running = replica().run({ names: NAMES, fingerprint: 'same', beside }, async () => {
      told.push('work')
      return done('')
    })
    await until(() => told.length === 2)
    expect(await store.get(LOCK)).toMatch(/that-died/)
    await running
    expect(told.filter((what) => what === 'ask')).toHaveLength(1)
    expect([told[1], told.at(-1)]).toEqual(['drop', 'work'])
  })

  test('is dropped when there can be no claim', async () => {
    const { told, beside } = besides()
    const { replica } = house({ faults: () => ({ claim: () => Promise.reject(storeUnavailable()) }) })
    const flight = { names: NAMES, fingerprint: 'x', beside } as const
    expect(await failureOf(replica().run(flight, async () => done('')))).toMatchObject({ status: 503 })
    expect(told).toEqual(['ask', 'drop'])
  })
})

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
    const { replica } = house({
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
    const { replica, entries, store } = house()
    await store.set(RECORD, 'pushed', 60_000)
    const { told, step } = signIn({ alongside: () => Promise.reject(storeUnavailable()) })
    expect(await failureOf(replica().run(flight, async () => step))).toMatchObject({ status: 503 })
    expect(told).toEqual(['undone'])
    expect([resultsIn(entries), entries.has(LOCK)]).toEqual([[], false])
  })

  test('is taken back when the step could not be settled', async () => {
    const { told, step } = signIn()
    const { replica, entries } = house({
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
    const { replica, store, entries } = house({ lockTtlMs: 60, sharedAnswerMs: 60_000 })
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
    const { replica, store, refusedClaims } = house({
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
    const { replica, entries } = house()
    const { told, step } = signIn({ settled: () => Promise.reject(storeUnavailable()) })
    expect(await failureOf(replica().run(flight, async () => step))).toMatchObject({ status: 503 })
    expect(told).toEqual(['written', 'undone'])
    expect(resultsIn(entries)).toEqual([])
  })

  test('and can not be taken back either: it is logged, and the error is the first one', async () => {
    const away = () => Promise.reject(storeUnavailable(new Error('the second')))
    const { replica, lines } = house({ faults: () => ({ delete: away }) })
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
    const { replica, entries } = house({ stands, sharedAnswerMs })
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

describe('what fails inside', () => {
  test('lets go of the lock, and nothing is remembered', async () => {
    const { replica, entries } = house()
    const flights = replica()
    const bug = new TypeError('a bug')
    const flight = { names: NAMES, fingerprint: 'same' } as const
    expect(await failureOf(flights.run(flight, () => Promise.reject(bug)))).toBe(bug)
    expect(entries.size).toBe(0)
    expect(await replica().run(flight, async () => done('fine'))).toMatchObject({ body: 'fine' })
  })

  test('a refusal keeps its private cause for the one who met it, and shares none', async () => {
    const { replica, entries } = house()
    const cause = new Error('very-secret')
    const failure = await failureOf(
      replica().run({ names: NAMES, fingerprint: 'same' }, () => Promise.reject(storeUnavailable(cause))),
    )
    expect(failure).toMatchObject({ status: 503, cause })
    expect(JSON.stringify([...entries])).not.toContain('very-secret')
  })

  test.each([
    ['a bug', new TypeError('a bug')],
    ['a refusal', unknownHandle(true)],
  ])('is what is told, also when the store goes away meanwhile: %s', async (_, failure) => {
    const away = () => Promise.reject(storeUnavailable())
    const { replica, lines } = house({ faults: () => ({ settle: away, deleteIf: away }) })
    const failed = replica().run({ names: NAMES, fingerprint: 'same' }, () => Promise.reject(failure))
    expect(await failureOf(failed)).toBe(failure)
    expect(lines()).toContainEqual(expect.objectContaining({ event: 'step_not_released', level: 'warn' }))
  })

  test('a shared answer that can not be read is none: the step is taken anew', async () => {
    const { replica, store } = house()
    const token = 'same.other-replica'
    await store.set(LOCK, token, 80)
    await store.set(`${LOCK}:${token}`, 'garbage', 60_000)
    const outcome = await replica().run({ names: NAMES, fingerprint: 'same' }, async () => done('anew'))
    expect(outcome).toMatchObject({ body: 'anew' })
  })

  test('the store away is 503, and no work is begun', async () => {
    const { replica, store } = house()
    await store.close()
    let begun = false
    const failure = await failureOf(
      replica().run({ names: NAMES, fingerprint: 'x' }, async () => {
        begun = true
        return done('')
      }),
    )
    expect(failure).toMatchObject({ status: 503, code: 'E0000009' })
    expect(begun).toBe(false)
  })
})
