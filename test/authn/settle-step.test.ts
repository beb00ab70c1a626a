import { describe, expect, test } from '@jest/globals'
import type { StepEvent } from '../../src/authn/audit/step-events.ts'
import { planStep } from '../../src/authn/plan-step.ts'
import { settleStep } from '../../src/authn/settle-step.ts'
import { StepRefusedError } from '../../src/authn/step/step-refused.ts'
import { storeUnavailable, upstreamUnavailable, wrongCode } from '../../src/errors.ts'
import { UpstreamFailure } from '../../src/upstream/upstream-failure.ts'
import { collectLog } from '../observability/collect-log.ts'
import { begun, NOW, SETTINGS } from './step-builders.ts'
import { CLIENT } from './test-client.ts'

const SMS = { username: 'ada', factorType: 'SMS' } as const
const RECOVERY = planStep({ kind: 'recovery', recoveryType: 'PASSWORD', body: SMS }, begun(), NOW, SETTINGS)

/** Settles a failed recovery, unless stated otherwise, and records what was done. */
async function settled(thrown: unknown, more: { isPrepared?: boolean; endFails?: Error } = {}) {
  const done: unknown[] = []
  const record = (name: string) => (value: unknown) => void done.push([name, value])
  const reservation = {
    enforce: async () => {},
    refund: () => {},
    consumeOrRefund: () => {},
    consumeOrRefundOnError: record('attempt'),
  }
  const { isPrepared = true, endFails } = more
  const joined = { before: begun(), handle: '00handle', lock: undefined, reservation }
  const failed = { ...joined, plan: RECOVERY, isPrepared }
  const error = await settleStep(thrown, failed, CLIENT, {
    locks: { commit: async () => true, release: async () => {} },
    log: collectLog().log,
    audit: { report: (events: readonly StepEvent[]) => void done.push(...events) },
    cooldown: { end: async (code) => void done.push(['cooldown', code.login]) },
    async endOthers(user, handle) {
      done.push(['ended', user.userId, handle])
      if (endFails !== undefined) throw endFails
    },
  })
  return { error, done }
}

describe('a step that failed', () => {
  test.each([
    ['unreachable', true, true],
    ['timeout', true, false], // the code may have been sent
    ['unreachable', false, false], // the cooldown is of an earlier code
  ] as const)('with %s, prepared: %s, ends its cooldown: %s', async (outcome, isPrepared, ends) => {
    const thrown = upstreamUnavailable(new UpstreamFailure(outcome))
    const { error, done } = await settled(thrown, { isPrepared })
    expect(error).toBe(thrown)
    expect(done).toEqual([['attempt', thrown], ...(ends ? [['cooldown', 'ada']] : [])])
  })

  const event: StepEvent = { log: 'warn', event: 'token_user_mismatch' }
  const user = { userId: '00u1', login: 'ada' }

  test('by a refusal is answered with its error, after its events', async () => {
    const refusal = new StepRefusedError(wrongCode(), [event])
    const { error, done } = await settled(refusal, { isPrepared: false })
    expect(error).toBe(refusal.error)
    expect(done).toEqual([event, ['attempt', refusal.error]])
  })

  test('ends the other sessions that its answer ends all the same', async () => {
    const refusal = new StepRefusedError(wrongCode(), [event], user)
    const { error, done } = await settled(refusal, { isPrepared: false })
    expect(error).toBe(refusal.error)
    expect(done).toEqual([event, ['ended', '00u1', '00handle'], ['attempt', refusal.error]])
  })

  test('is answered with the failure if they do not end', async () => {
    const endFails = storeUnavailable()
    const refusal = new StepRefusedError(wrongCode(), [event], user)
    const { error, done } = await settled(refusal, { isPrepared: false, endFails })
    expect(error).toBe(endFails)
    expect(done.at(-1)).toEqual(['attempt', endFails])
  })
})
