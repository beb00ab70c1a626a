import { describe, expect, test } from '@jest/globals'
import {
  createAnswer,
  type IssuedSession,
  type StepResult,
} from '../../../src/authn/transaction/step-result.ts'
import type { Transaction } from '../../../src/authn/transaction/transaction.ts'
import { isHandle } from '../../../src/authn/transaction/transaction-store.ts'
import { storeUnavailable } from '../../../src/errors.ts'
import type { Store } from '../../../src/store/store.ts'
import { deferred } from '../../support/deferred.ts'
import { until } from '../../support/until.ts'
import {
  answers,
  busy,
  ended,
  failureOf,
  gate,
  replicas,
  type Take,
  USER_INDEX,
  withLogin,
} from '../coalescing/step-replicas.ts'
import { CLIENT } from '../test-client.ts'

const SAME = { identity: 'same' } as const
const USER_ID = '00u1'

/** A step that opens a session. Records the calls to the session. */
function signIn(faults: Partial<IssuedSession> = {}) {
  const calls: string[] = []
  const record = (what: string) => async () => {
    calls.push(what)
  }
  const session: IssuedSession = {
    id: 'one',
    write: record('written'),
    bindDevice: record('device taken'),
    afterCommit: record('after commit'),
    rollback: record('rolled back'),
    ...faults,
  }
  const opens =
    (change: (before: Transaction) => Transaction | undefined): Take =>
    async (before): Promise<StepResult> => ({
      outcome: createAnswer('SUCCESS', { sessionId: 'one' }),
      after: change(before),
      session,
    })
  return { calls, record, opens, take: opens(ended) }
}

/** Waits until everything that does not depend on held writes has happened. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('the commit of a step that opens a session', () => {
  test('writes the session first if the store may reorder writes', async () => {
    const write = deferred()
    const { calls, take } = signIn({ write: () => write.promise })
    const { replica, memory, record, shared } = await replicas({
      faults: () => ({ preservesWriteOrder: false }),
    })
    let isAnswered = false
    const running = replica()
      .run(SAME, take)
      .finally(() => {
        isAnswered = true
      })
    await turn()
    expect([calls, shared(), isAnswered]).toEqual([[], [], false])
    expect(await memory.get(record)).toBeDefined()
    write.resolve()
    expect(await running).toMatchObject({ sessionId: 'one' })
    expect(calls).toEqual(['device taken', 'after commit'])
    expect(shared()).toHaveLength(1)
    expect(await memory.get(record)).toBeUndefined()
  })
})

describe('is rolled back: nothing is shared, and the lock is released', () => {
  const unreachable = () => Promise.reject(storeUnavailable())
  type Fault = [string, Partial<IssuedSession>, (memory: Store) => Partial<Store>]
  const FAULTS: Fault[] = [
    ['the session is not written', { write: unreachable }, () => ({})],
    [
      'the session is not written, in a store that may reorder writes',
      { write: unreachable },
      () => ({ preservesWriteOrder: false }),
    ],
    ['the session is not bound to its device', { bindDevice: unreachable }, () => ({})],
    ['the transaction is not added to the index of its user', {}, () => ({ indexPut: unreachable })],
    [
      'the response to the commit is lost',
      {},
      (memory) => ({
        async commit(commit) {
          await memory.commit(commit)
          throw storeUnavailable()
        },
      }),
    ],
    ['the commit fails', {}, () => ({ commit: unreachable })],
    ['the replaced sessions cannot be ended', { afterCommit: unreachable }, () => ({})],
  ]

  test.each(FAULTS)('if %s', async (_name, sessionFaults, faults) => {
    const { calls, opens } = signIn(sessionFaults)
    const { replica, shared, entries, lock } = await replicas({ faults })
    const take = opens((before) => ({ ...before, userId: USER_ID }))
    expect(await failureOf(replica().run(SAME, take))).toMatchObject({ status: 503, code: 'E0000009' })
    expect(calls).not.toContain('after commit')
    expect(calls.filter((what) => what === 'rolled back')).toHaveLength(1)
    expect([shared(), entries.has(lock)]).toEqual([[], false])
  })

  test.each([true, false])(
    'if the transaction changed after the lock expired (a store that keeps order: %s)',
    async (preservesWriteOrder) => {
      const { calls, take } = signIn()
      const { replica, start, keep, loginAt, shared, entries, lock } = await replicas({
        faults: () => ({ preservesWriteOrder }),
      })
      const late = gate()
      const running = failureOf(replica().run(SAME, late.take))
      await until(() => late.started() === 1)
      await keep({ ...start(), login: 'newer' })
      late.finish(take)
      expect(await running).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
      expect(calls).toEqual(['written', 'device taken', 'rolled back'])
      expect([shared(), entries.has(lock), await loginAt()]).toEqual([[], false, 'newer'])
    },
  )
})

test('a rollback that fails is logged, and the first error is thrown', async () => {
  const unreachable = () => Promise.reject(storeUnavailable(new Error('the second')))
  const cause = new Error('the first')
  const { take } = signIn({ write: () => Promise.reject(storeUnavailable(cause)), rollback: unreachable })
  const { replica, lines } = await replicas({ faults: () => ({ deleteIf: unreachable }) })
  expect(await failureOf(replica().run(SAME, take))).toMatchObject({ status: 503, cause })
  const events = lines().map(({ event, level }) => ({ event, level }))
  expect(events).toEqual([
    { event: 'step_rollback_failed', level: 'warn' },
    { event: 'step_rollback_failed', level: 'warn' },
  ])
})

describe('the shared result of a session that is not stored yet', () => {
  /** The step is committed, but its session is not stored yet. An identical request waits on another replica. */
  async function pending() {
    let isStored = false
    let reads = 0
    const { replica, entries, lock, shared } = await replicas({
      sharedMs: 60_000,
      async isStored() {
        reads += 1
        return isStored
      },
    })
    const write = deferred()
    let failure: unknown
    const { opens } = signIn({
      async write() {
        await write.promise
        if (failure !== undefined) throw failure
      },
    })
    const holder = gate()
    const first = replica().run(SAME, holder.take)
    await until(() => holder.started() === 1)
    let attempts = 0
    const second = replica()
    const other = second.run(SAME, (before) => {
      attempts += 1
      return answers('again')(before)
    })
    await until(() => busy(second).length > 0)
    holder.finish(opens((before) => before))
    await until(() => reads > 1)
    expect([attempts, shared()]).toEqual([0, [expect.any(String)]])
    return {
      first,
      other,
      attempts: () => attempts,
      isLocked: () => entries.has(lock),
      written() {
        isStored = true
        write.resolve()
      },
      failed() {
        failure = storeUnavailable()
        write.resolve()
      },
    }
  }

  test('is not used by other replicas until the session is stored', async () => {
    const { first, other, attempts, isLocked, written } = await pending()
    written()
    for (const answer of await Promise.all([first, other])) expect(answer).toMatchObject({ sessionId: 'one' })
    expect([attempts(), isLocked()]).toEqual([0, false])
  })

  test('is not used if the session is never stored: other replicas run the step again', async () => {
    const { first, other, attempts, failed } = await pending()
    failed()
    expect(await failureOf(first)).toMatchObject({ status: 503 })
    expect(await other).toEqual(createAnswer('again'))
    expect(attempts()).toBe(1)
  })
})

describe('the transaction', () => {
  const indexed = async (store: Store, entries: ReadonlyMap<string, unknown>) => {
    const index = [...entries.keys()].find((key) => key.startsWith(USER_INDEX))
    return index === undefined ? [] : Object.keys(await store.indexAll(index))
  }
  const named = (before: Transaction): Transaction => ({ ...before, userId: USER_ID })

  test('is in the index of its user once the user is known, and leaves it when it is over', async () => {
    const { replica, store, entries, record } = await replicas()
    const { run } = replica()
    await run(SAME, answers('', withLogin('next')))
    expect(await indexed(store, entries)).toEqual([])
    await run(SAME, answers('', named))
    expect(await indexed(store, entries)).toEqual([record])
    await run(SAME, answers(''))
    expect(await indexed(store, entries)).toEqual([record])
    await run(SAME, answers('', ended))
    await until(async () => (await indexed(store, entries)).length === 0)
  })

  test('of a first step is created under the new handle, with its user', async () => {
    const { replica, transactions, start, store, entries, shared } = await replicas()
    const { runStep } = replica()
    let handle = ''
    await runStep(
      {
        handle: undefined,
        identity: ['primary'],
        pollPath: undefined,
        attempt: undefined,
        plan(_before, newHandle) {
          handle = newHandle
          return { run: async () => ({ outcome: createAnswer('{}'), after: named(start()) }) }
        },
      },
      CLIENT,
    )
    expect(isHandle(handle)).toBe(true)
    const [name] = transactions.names(handle)
    expect(await transactions.read(name)).toMatchObject({ userId: USER_ID, login: 'start' })
    expect(await indexed(store, entries)).toEqual([transactions.keyOf(name)])
    expect(shared()).toHaveLength(1)
  })

  test.each([
    ['ends', ended],
    ['is refused', (before: Transaction) => before],
    ['has no status', (before: Transaction): Transaction => ({ ...before, login: 'other' })],
  ])('is not created if the first step %s', async (_name, change) => {
    const { replica, entries, record } = await replicas()
    await replica().run({ identity: 'primary', handle: undefined }, answers('{}', change))
    expect([...entries.keys()].filter((key) => key.startsWith('gatehouse:txn:'))).toEqual([record])
  })

  test('of a first step: if it is not stored, the step fails and nothing is shared', async () => {
    const { replica, start, shared, entries } = await replicas({
      faults: () => ({ set: () => Promise.reject(storeUnavailable()) }),
    })
    const begins = replica().run({ identity: 'primary', handle: undefined }, answers('{}', start))
    expect(await failureOf(begins)).toMatchObject({ status: 503 })
    expect([...entries.keys()].filter((key) => key.startsWith('gatehouse:lock:'))).toEqual([])
    expect(shared()).toEqual([])
  })
})
