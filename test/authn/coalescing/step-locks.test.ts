import { describe, expect, test } from '@jest/globals'
import type { TransactionStore } from '../../../src/authn/transaction/transaction-store.ts'
import { storeUnavailable } from '../../../src/errors.ts'
import { until } from '../../support/until.ts'
import {
  answers,
  busy,
  ended,
  failureOf,
  gate,
  HANDLE,
  lockKey,
  replicas,
  withLogin,
} from './step-replicas.ts'

const SAME = { identity: 'same' } as const

describe('different steps of one transaction', () => {
  test.each([
    ['one replica', true],
    ['several replicas', false],
  ])(
    'run one after the other on %s, each on the transaction that the previous one left',
    async (_name, isOne) => {
      const { replica, loginAt } = await replicas()
      const one = replica()
      let running = 0
      let most = 0
      const seen: (string | undefined)[] = []
      const steps = ['a', 'b', 'c', 'd'].map((identity) =>
        (isOne ? one : replica()).run({ identity }, async (before) => {
          running += 1
          most = Math.max(most, running)
          seen.push(before.login)
          await new Promise((resolve) => setImmediate(resolve))
          running -= 1
          return answers(identity, withLogin(`${before.login}+`))(before)
        }),
      )
      expect((await Promise.all(steps)).map(({ body }) => body)).toEqual(['a', 'b', 'c', 'd'])
      expect(most).toBe(1)
      expect(seen).toEqual(['start', 'start+', 'start++', 'start+++'])
      expect(await loginAt()).toBe('start++++')
    },
  )

  test.each([
    ['the same replica', true],
    ['another replica', false],
  ])('time out with 503 while a step runs on %s, and are never started', async (_name, isSame) => {
    const { replica } = await replicas({ waitMs: 80 })
    const { take, started, finish } = gate()
    const first = replica()
    const slow = first.run({ identity: 'a' }, take)
    await until(() => started() === 1)
    let isBegun = false
    const waiting = (isSame ? first : replica()).run({ identity: 'b' }, (before) => {
      isBegun = true
      return answers('b')(before)
    })
    expect(await failureOf(waiting)).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
    expect(isBegun).toBe(false)
    finish(answers('a'))
    expect(await slow).toMatchObject({ body: 'a' })
  })
})

describe('a transaction', () => {
  test('is written, kept or deleted, with its time to live', async () => {
    const { replica, entries, start, record, lock, loginAt } = await replicas()
    const { run } = replica()
    const expiresAtMs = Date.now() + 60_000
    await run(
      SAME,
      answers('', () => ({ ...start(), login: 'v1', expiresAtMs })),
    )
    expect(await loginAt()).toBe('v1')
    const leftMs = (entries.get(record)?.expiresAt ?? 0) - performance.now()
    expect(leftMs).toBeGreaterThan(50_000)
    expect(leftMs).toBeLessThanOrEqual(60_001)
    const stored = entries.get(record)
    await run(SAME, answers(''))
    expect(entries.get(record)).toBe(stored)
    await run(SAME, answers('', ended))
    expect([entries.has(record), entries.has(lock)]).toEqual([false, false])
  })

  test('that was ended meanwhile stays ended, and the step gets 503', async () => {
    const { replica, transactions, loginAt, shared } = await replicas()
    const { take, started, finish } = gate()
    const late = failureOf(replica().run(SAME, take))
    await until(() => started() === 1)
    await transactions.end(transactions.names(HANDLE)[0])
    finish(answers('late', withLogin('late')))
    expect(await late).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
    expect([await loginAt(), shared()]).toEqual([undefined, []])
  })
})

describe('while SECRET_KEYS has several keys', () => {
  async function rotating() {
    const all = await replicas({ masterKeys: [Buffer.alloc(32, 2), Buffer.alloc(32, 1)] })
    const { transactions, entries, keep, start } = all
    const [newest, retired] = namesOf(transactions)
    entries.clear()
    await keep(start(), transactions.keyOf(retired))
    return { ...all, newest, retired }
  }

  function namesOf(transactions: TransactionStore): [string, string] {
    const [newest, retired] = transactions.names(HANDLE)
    return [newest, retired ?? '']
  }

  test('one lock protects it, and identical requests share a result', async () => {
    const { replica, retired } = await rotating()
    const { take, started, finish } = gate()
    const first = replica().run(SAME, take)
    await until(() => started() === 1)
    const [second, third] = [replica(), replica()]
    const different = second.run({ identity: 'different' }, answers('different'))
    const identical = third.run(SAME, take)
    for (const other of [second, third])
      await until(() => busy(other).some((one) => one.lockKey === lockKey(retired)))
    finish(answers('same'))
    expect(await Promise.all([first, different, identical])).toMatchObject([
      { body: 'same' },
      { body: 'different' },
      { body: 'same' },
    ])
    expect(started()).toBe(1)
  })
})

describe('a step that runs longer than its lock lasts', () => {
  test('does not overwrite a newer state, and gets 503', async () => {
    const { replica, loginAt } = await replicas({ lockTtlMs: 60 })
    const { take, started, finish } = gate()
    const late = failureOf(replica().run({ identity: 'late' }, take))
    await until(() => started() === 1)
    const quick = replica().run({ identity: 'quick' }, answers('quick', withLogin('newer')))
    expect(await quick).toMatchObject({ body: 'quick' })
    finish(answers('late', withLogin('stale')))
    expect(await late).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
    expect(await loginAt()).toBe('newer')
  })
})

test('if a replica dies, its lock expires, and then the identical step runs again', async () => {
  const { replica, store, lock } = await replicas()
  await store.set(lock, 'of-a-replica-that-died', 80)
  expect(await replica().run(SAME, answers('again'))).toMatchObject({ body: 'again' })
})

describe('a step that fails', () => {
  test('releases the lock, and stores nothing', async () => {
    const { replica, entries, record } = await replicas()
    const bug = new TypeError('a bug')
    expect(await failureOf(replica().run(SAME, () => Promise.reject(bug)))).toBe(bug)
    expect([...entries.keys()]).toEqual([record])
    expect(await replica().run(SAME, answers('fine'))).toMatchObject({ body: 'fine' })
  })

  test('is shared only if it is a refusal; otherwise waiting requests run the step themselves', async () => {
    const { replica } = await replicas()
    const bug = new TypeError('a bug')
    const { take, started, finish } = gate()
    const first = failureOf(replica().run(SAME, take))
    await until(() => started() === 1)
    const other = replica()
    const again = other.run(SAME, answers('again'))
    await until(() => busy(other).length > 0)
    finish(() => Promise.reject(bug))
    expect(await first).toBe(bug)
    expect(await again).toMatchObject({ body: 'again' })
  })
})

describe('a store that is unreachable', () => {
  test('is a 503, and no step is started', async () => {
    const { replica, store } = await replicas()
    await store.close()
    const { take, started } = gate()
    expect(await failureOf(replica().run(SAME, take))).toMatchObject({ status: 503, code: 'E0000009' })
    expect(started()).toBe(0)
  })

  test('leaves no lock if the answer to acquiring it was lost', async () => {
    let isLost = true
    const { replica, entries, lock } = await replicas({
      faults: (memory) => ({
        async acquire(request) {
          const acquired = await memory.acquire(request)
          if (isLost) throw storeUnavailable()
          return acquired
        },
      }),
    })
    expect(await failureOf(replica().run(SAME, answers('')))).toMatchObject({ status: 503 })
    await until(() => !entries.has(lock))
    isLost = false
    expect(await replica().run(SAME, answers('fine'))).toMatchObject({ body: 'fine' })
  })
})
