import { describe, expect, test } from '@jest/globals'
import type { Client } from '../../../src/authn/browser/client.ts'
import type { Step } from '../../../src/authn/sign-in/run-step.ts'
import type { Attempt } from '../../../src/authn/throttling/attempts.ts'
import { createAnswer } from '../../../src/authn/transaction/step-result.ts'
import { isHandle, newHandle } from '../../../src/authn/transaction/transaction-store.ts'
import { rateLimited, stepNotOffered, storeUnavailable, unknownHandle } from '../../../src/errors.ts'
import { until } from '../../support/until.ts'
import { answers, busy, failureOf, gate, HANDLE, lockKey, replicas } from '../coalescing/step-replicas.ts'
import { CLIENT } from '../test-client.ts'

const ATTEMPT: Attempt = { kind: 'password', operation: 'primary', login: 'ann' }
const SAME = { identity: 'same', attempt: ATTEMPT } as const

describe('an attempt', () => {
  test('is refunded at once if another step has the lock, and is enforced once the lock is acquired', async () => {
    const { replica, counted, store, lock } = await replicas()
    await store.set(lock, 'of-another-step', 60_000)
    const { run } = replica()
    const running = run(SAME, async (before) => {
      counted.push('take')
      return answers('')(before)
    })
    await until(() => counted.length > 1)
    expect(counted).toEqual(['reserve', 'refund'])
    expect(await store.get(lock)).toBe('of-another-step')
    await store.delete(lock)
    await running
    expect(counted).toEqual(['reserve', 'refund', 'enforce', 'take', 'consumeOrRefund'])
  })

  test('is refunded if an identical step has the lock, whose result is shared', async () => {
    const { replica, counted } = await replicas()
    const { take, started, finish } = gate()
    const first = replica().run(SAME, take)
    await until(() => started() === 1)
    counted.splice(0)
    const second = replica()
    const other = second.run(SAME, take)
    await until(() => busy(second).length > 0)
    finish(answers('shared'))
    expect(await Promise.all([first, other])).toMatchObject([{ body: 'shared' }, { body: 'shared' }])
    expect(counted.toSorted()).toEqual(['consumeOrRefund', 'refund', 'reserve']) // consumeOrRefund: the first one's
  })

  test('is refunded if the lock cannot be requested', async () => {
    const { replica, counted } = await replicas({
      faults: () => ({ acquire: () => Promise.reject(storeUnavailable()) }),
    })
    expect(await failureOf(replica().run(SAME, answers('')))).toMatchObject({ status: 503 })
    expect(counted).toEqual(['reserve', 'refund'])
  })

  test('beyond a limit is 429: the step is not sent, and the lock is released', async () => {
    const refusal = rateLimited({ limit: 5, resetAtSeconds: 60, retryAfterSeconds: 60 })
    const { replica, counted, entries, lock } = await replicas({ enforce: () => Promise.reject(refusal) })
    const { take, started } = gate()
    expect(await failureOf(replica().run(SAME, take))).toBe(refusal)
    expect(counted).toEqual(['reserve', 'enforce', 'consumeOrRefundOnError'])
    expect([started(), entries.has(lock)]).toEqual([0, false])
  })

  test('that only the plan has is enforced together with the reserved one', async () => {
    const { replica, counted } = await replicas()
    const { runStep } = replica()
    const take = async () => {
      counted.push('take')
      return { outcome: createAnswer('fine'), after: undefined }
    }
    const step = stepWith({
      attempt: { kind: 'call', operation: 'verify' },
      plan() {
        counted.push('plan')
        return { attempt: ATTEMPT, run: take }
      },
    })
    expect(await runStep(step, CLIENT)).toMatchObject({ body: 'fine' })
    expect(counted).toEqual(['reserve', 'plan', `enforce ${ATTEMPT.kind}`, 'take', 'consumeOrRefund'])
  })
})

describe('a step that is not offered', () => {
  test('is refused, counts no attempt and is not sent', async () => {
    const { replica, counted, entries, lock, loginAt } = await replicas()
    const step = stepWith({
      plan() {
        throw stepNotOffered()
      },
    })
    expect(await failureOf(replica().runStep(step, CLIENT))).toMatchObject({ status: 403, code: 'E0000079' })
    expect([counted, entries.has(lock), await loginAt()]).toEqual([[], false, 'start'])
  })
})

test.each([
  ['a bug', new TypeError('a bug')],
  ['a refusal', unknownHandle(true)],
])(
  'a step that fails throws its own error, even if the store is unreachable by then: %s',
  async (_name, failure) => {
    const unreachable = () => Promise.reject(storeUnavailable())
    const { replica, lines } = await replicas({
      faults: () => ({ commit: unreachable, deleteIf: unreachable }),
    })
    expect(await failureOf(replica().run(SAME, () => Promise.reject(failure)))).toBe(failure)
    expect(lines()).toContainEqual(
      expect.objectContaining({ event: 'step_lock_release_failed', level: 'warn' }),
    )
  },
)

describe('a handle', () => {
  test.each([
    ['is malformed', 'malformed'],
    ['is the name of a prototype member', '__proto__'],
    ['is of another sign-in engine', `01${HANDLE.slice(2)}`],
    ['is empty', ''],
  ])('that %s is refused, without a call to the store', async (_name, handle) => {
    const { replica, counted, metrics } = await replicas()
    const { run, acquires } = replica()
    const { take, started } = gate()
    expect(await failureOf(run({ ...SAME, handle }, take))).toMatchObject({
      status: 401,
      code: 'E0000011',
      causes: [],
    })
    expect([started(), counted, acquires]).toEqual([0, [], []])
    expect(await refusals(metrics)).toEqual([{ reason: 'unknown_handle', value: 1 }])
  })

  test('that is unknown is refused: nothing is sent or enforced, and the lock is released', async () => {
    const { replica, counted, metrics, transactions, entries, lines } = await replicas()
    const handle = newHandle()
    const { run } = replica()
    const { take, started } = gate()
    const unknown = failureOf(run({ ...SAME, handle }, take))
    expect(await unknown).toMatchObject({ status: 401, code: 'E0000011' })
    expect(started()).toBe(0)
    expect(counted).toEqual(['reserve', 'consumeOrRefundOnError'])
    expect(entries.has(lockKey(transactions.names(handle)[0]))).toBe(false)
    expect(await refusals(metrics)).toEqual([{ reason: 'unknown_handle', value: 1 }])
    expect(lines()).toEqual([])
  })

  test.each([
    [true, 'other_device', []],
    [false, 'no_device_cookie', ['device cookie not returned']],
  ])(
    'of another device is refused and audited (device cookie returned: %s)',
    async (returned, reason, causes) => {
      const { replica, lines, loginAt } = await replicas()
      const client: Client = { ...CLIENT, device: { id: 'e'.repeat(32), returned } }
      const { take, started } = gate()
      const refused = failureOf(replica().run(SAME, take, client))
      expect(await refused).toMatchObject({ status: 401, code: 'E0000011', causes })
      expect([started(), await loginAt()]).toEqual([0, 'start'])
      expect(lines()).toEqual([expect.objectContaining({ event: 'handle_refused', reason })])
      expect(await replica().run(SAME, answers('of its own device'))).toMatchObject({
        body: 'of its own device',
      })
    },
  )

  test('that was not sent is created, with an empty transaction of the device', async () => {
    const { replica } = await replicas()
    const handles: string[] = []
    const step = stepWith({
      handle: undefined,
      plan(before, handle) {
        expect(before).toMatchObject({ device: CLIENT.device.id, stateToken: '', status: '', offered: [] })
        handles.push(handle)
        return { run: async () => ({ outcome: createAnswer(''), after: before }) }
      },
    })
    const { runStep } = replica()
    await runStep(step, CLIENT)
    await runStep(step, CLIENT)
    expect(handles.map(isHandle)).toEqual([true, true])
    expect(handles[0]).not.toBe(handles[1])
  })
})

type Harness = Awaited<ReturnType<typeof replicas>>

async function refusals(metrics: Harness['metrics']) {
  return (await metrics.requestsRefused.get()).values.map(({ labels, value }) => ({ ...labels, value }))
}

function stepWith(rest: Partial<Step> & Pick<Step, 'plan'>): Step {
  return {
    handle: HANDLE,
    identity: ['same'],
    pollPath: undefined,
    attempt: undefined,
    ...rest,
  }
}
