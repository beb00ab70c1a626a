import { describe, expect, test } from '@jest/globals'
import type { StepDone } from '../../../src/authn/coalescing/claimed-step.ts'
import { storeUnavailable, unknownHandle } from '../../../src/errors.ts'
import { until } from '../../support/until.ts'
import { answer, done, failureOf, gate, LOCK, NAMES, RECORD, replicas } from './step-replicas.ts'

describe('different steps of one transaction', () => {
  test.each([
    ['one replica', true],
    ['several replicas', false],
  ])('are taken one after the other on %s, each on what the one before left', async (_name, same) => {
    const { replica, store } = replicas()
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
    const { replica } = replicas()
    const { work, started, release } = gate()
    const slow = replica().run({ names: ['one'], fingerprint: 'a' }, work)
    await until(() => started() === 1)
    const other = await replica().run({ names: ['other'], fingerprint: 'b' }, async () => done('quick'))
    expect(other).toMatchObject({ body: 'quick' })
    release(done('slow'))
    await slow
  })

  test('one that waits too long is told so, and its work was never begun', async () => {
    const { replica } = replicas({ waitMs: 80 })
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
    const { replica, store, entries } = replicas()
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
    const { replica, store } = replicas()
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
    const { replica, store, refusedClaims } = replicas()
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
    const { replica, store } = replicas({ lockTtlMs: 60 })
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
    const { replica, store, entries } = replicas({ lockTtlMs: 60, sharedAnswerMs: 60_000 })
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
    const { replica, store } = replicas({ lockTtlMs: 60 })
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
    const { replica, store } = replicas({ lockTtlMs: 15_000 })
    await store.set(LOCK, 'same.of-a-replica-that-died', 80)
    const outcome = await replica().run({ names: NAMES, fingerprint: 'same' }, async () => done('anew'))
    expect(outcome).toMatchObject({ body: 'anew' })
  })
})

describe('what fails inside', () => {
  test('lets go of the lock, and nothing is remembered', async () => {
    const { replica, entries } = replicas()
    const flights = replica()
    const bug = new TypeError('a bug')
    const flight = { names: NAMES, fingerprint: 'same' } as const
    expect(await failureOf(flights.run(flight, () => Promise.reject(bug)))).toBe(bug)
    expect(entries.size).toBe(0)
    expect(await replica().run(flight, async () => done('fine'))).toMatchObject({ body: 'fine' })
  })

  test('a refusal keeps its private cause for the one who met it, and shares none', async () => {
    const { replica, entries } = replicas()
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
    const { replica, lines } = replicas({ faults: () => ({ settle: away, deleteIf: away }) })
    const failed = replica().run({ names: NAMES, fingerprint: 'same' }, () => Promise.reject(failure))
    expect(await failureOf(failed)).toBe(failure)
    expect(lines()).toContainEqual(expect.objectContaining({ event: 'step_not_released', level: 'warn' }))
  })

  test('a shared answer that can not be read is none: the step is taken anew', async () => {
    const { replica, store } = replicas()
    const token = 'same.other-replica'
    await store.set(LOCK, token, 80)
    await store.set(`${LOCK}:${token}`, 'garbage', 60_000)
    const outcome = await replica().run({ names: NAMES, fingerprint: 'same' }, async () => done('anew'))
    expect(outcome).toMatchObject({ body: 'anew' })
  })

  test('the store away is 503, and no work is begun', async () => {
    const { replica, store } = replicas()
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
