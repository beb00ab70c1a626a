import { describe, expect, test } from '@jest/globals'
import { storeUnavailable } from '../../../src/errors.ts'
import { until } from '../../support/until.ts'
import { done, failureOf, LOCK, NAMES, replicas } from './step-replicas.ts'

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
    const { replica } = replicas({
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
    const { replica, store } = replicas()
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
    const { replica } = replicas({ faults: () => ({ claim: () => Promise.reject(storeUnavailable()) }) })
    const flight = { names: NAMES, fingerprint: 'x', beside } as const
    expect(await failureOf(replica().run(flight, async () => done('')))).toMatchObject({ status: 503 })
    expect(told).toEqual(['ask', 'drop'])
  })
})
