import { describe, expect, test } from '@jest/globals'
import type { TransactionStore } from '../../../src/authn/transaction/transaction-store.ts'
import { storeUnavailable } from '../../../src/errors.ts'
import { until } from '../../support/until.ts'
import {
  answer,
  answers,
  busy,
  ends,
  failureOf,
  gate,
  HANDLE,
  lockKey,
  nameOf,
  rejection,
  replicas,
  STATE,
  verify,
} from '../step-replicas.ts'

/** The next step gets this token from the transaction. */
const withToken = (stateToken: string) => answers(stateToken, { stateToken })

describe('different steps of one transaction', () => {
  // shows: V15.4.2
  test.each([
    ['one replica', true],
    ['several replicas', false],
  ])(
    'run one after the other on %s, each on the transaction that the previous one left',
    async (_name, isOne) => {
      const { replica, stored } = await replicas()
      const one = replica()
      let running = 0
      let most = 0
      const seen: unknown[] = []
      const steps = ['a', 'b', 'c', 'd'].map((name) =>
        (isOne ? one : replica()).run(verify(name), async ({ body }) => {
          running += 1
          most = Math.max(most, running)
          seen.push(body.stateToken)
          await new Promise((resolve) => setImmediate(resolve))
          running -= 1
          return answer(name, { stateToken: `${body.stateToken}+` })
        }),
      )
      expect((await Promise.all(steps)).map(nameOf)).toEqual(['a', 'b', 'c', 'd'])
      expect(most).toBe(1)
      expect(seen).toEqual(['of-okta', 'of-okta+', 'of-okta++', 'of-okta+++'])
      expect((await stored())?.stateToken).toBe('of-okta++++')
    },
  )

  test.each([
    ['the same replica', true],
    ['another replica', false],
  ])('time out with 503 while a step runs on %s, and are never started', async (_name, isSame) => {
    const { replica, sent } = await replicas({ waitMs: 80 })
    const { okta, started, finish } = gate()
    const first = replica()
    const slow = first.run(verify('a'), okta)
    await until(() => started() === 1)
    const waiting = (isSame ? first : replica()).run(verify('b'))
    expect(await failureOf(waiting)).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
    expect(sent).toHaveLength(1)
    finish(answers('a'))
    expect(nameOf(await slow)).toBe('a')
  })
})

describe('a transaction', () => {
  test('is written, kept or deleted, with its time to live', async () => {
    const { replica, entries, record, lock, stored } = await replicas()
    const { run } = replica()
    const expiresAt = new Date(Date.now() + 120_000).toISOString()
    await run(STATE, answers('v1', { stateToken: 'v1', expiresAt }))
    expect(await stored()).toMatchObject({ stateToken: 'v1', status: 'MFA_REQUIRED' })
    const leftMs = (entries.get(record)?.expiresAt ?? 0) - performance.now()
    expect(leftMs).toBeGreaterThan(110_000)
    expect(leftMs).toBeLessThanOrEqual(120_001)
    const kept = entries.get(record)
    // Okta rejects a code: the transaction is as before
    expect(await run(verify('1'), () => rejection(403, 'E0000068'))).toMatchObject({ status: 403 })
    expect(entries.get(record)).toBe(kept)
    await run(STATE, ends)
    expect([entries.has(record), entries.has(lock)]).toEqual([false, false])
  })

  test('that was ended meanwhile stays ended, and the step gets 503', async () => {
    const { replica, transactions, stored, shared } = await replicas()
    const { okta, started, finish } = gate()
    const late = failureOf(replica().run(STATE, okta))
    await until(() => started() === 1)
    await transactions.end(transactions.namesOf(HANDLE)[0])
    finish(withToken('late'))
    expect(await late).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
    expect([await stored(), shared()]).toEqual([undefined, []])
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
    const [newest, retired] = transactions.namesOf(HANDLE)
    return [newest, retired ?? '']
  }

  test('one lock protects it, and identical requests share a result', async () => {
    const { replica, retired, transactions, stored } = await rotating()
    const { okta, started, finish } = gate()
    const first = replica().run(verify('same'), okta)
    await until(() => started() === 1)
    const [second, third] = [replica(), replica()]
    const different = second.run(verify('different'), answers('different'))
    const identical = third.run(verify('same'), okta)
    for (const other of [second, third])
      await until(() => busy(other).some((one) => one.lockKey === lockKey(retired)))
    finish(withToken('same'))
    expect((await Promise.all([first, different, identical])).map(nameOf)).toEqual([
      'same',
      'different',
      'same',
    ])
    expect(started()).toBe(1)
    // it stays under the name that it has
    expect((await stored(transactions.keyOf(retired)))?.stateToken).toBe('of-okta')
  })
})

describe('a step that runs longer than its lock lasts', () => {
  // shows: V2.3.3
  test('does not overwrite a newer state, and gets 503', async () => {
    const { replica, stored } = await replicas({ lockTtlMs: 60 })
    const { okta, started, finish } = gate()
    const late = failureOf(replica().run(verify('late'), okta))
    await until(() => started() === 1)
    expect(nameOf(await replica().run(verify('quick'), withToken('newer')))).toBe('newer')
    finish(withToken('stale'))
    expect(await late).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
    expect((await stored())?.stateToken).toBe('newer')
  })
})

test('if a replica dies, its lock expires, and then the identical step runs again', async () => {
  const { replica, store, lock } = await replicas()
  await store.set(lock, 'of-a-replica-that-died', 80)
  expect(nameOf(await replica().run(STATE, answers('again')))).toBe('again')
})

describe('a step that fails', () => {
  const bug = new TypeError('a bug')
  const fails = () => Promise.reject(bug)

  test('releases the lock, and stores nothing', async () => {
    const { replica, entries, record } = await replicas()
    expect(await failureOf(replica().run(STATE, fails))).toBe(bug)
    expect([...entries.keys()]).toEqual([record])
    expect(nameOf(await replica().run(STATE, answers('fine')))).toBe('fine')
  })

  test('is shared only if it is a refusal; otherwise waiting requests run the step themselves', async () => {
    const { replica } = await replicas()
    const { okta, started, finish } = gate()
    const first = failureOf(replica().run(STATE, okta))
    await until(() => started() === 1)
    const other = replica()
    const again = other.run(STATE, answers('again'))
    await until(() => busy(other).length > 0)
    finish(fails)
    expect(await first).toBe(bug)
    expect(nameOf(await again)).toBe('again')
  })
})

describe('a store that is unreachable', () => {
  // shows: V16.5.3
  test('is a 503, and no step is started', async () => {
    const { replica, store, sent } = await replicas()
    await store.close()
    expect(await failureOf(replica().run(STATE))).toMatchObject({ status: 503, code: 'E0000009' })
    expect(sent).toEqual([])
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
    expect(await failureOf(replica().run(STATE))).toMatchObject({ status: 503 })
    await until(() => !entries.has(lock))
    isLost = false
    expect(nameOf(await replica().run(STATE, answers('fine')))).toBe('fine')
  })
})
