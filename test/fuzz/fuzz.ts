import { expect } from '@jest/globals'
import type { Parameters } from 'fast-check'
import { isErrorCode } from '../../openapi/error-object.ts'
import type { Gatehouse } from '../support/gatehouse.ts'

/**
 * Settings of the fuzz tests. FUZZ_SEED repeats a run. FUZZ_TIMES multiplies the number of runs
 * that the tests name: 1/6 by default (`npm test`), 5 for `npm run faults`.
 */
export const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))
export const TIMES = Number(process.env.FUZZ_TIMES ?? 1 / 6)
const MAX_MS = 20_000 * Math.max(1, TIMES)

/** Part of the test's title, so that the seed is always visible. */
export const SEED_LABEL = `(FUZZ_SEED=${SEED})`

/** On a slow machine, the time limit ends the run early. */
export function runs<Values>(numRuns: number): Parameters<Values> {
  return {
    numRuns: Math.ceil(numRuns * TIMES),
    seed: SEED,
    interruptAfterTimeLimit: MAX_MS,
    markInterruptAsFailure: false,
  }
}

export const TEST_MS = MAX_MS + 60_000

/** A success, or a refusal (4xx) with one of the broker's own error codes. */
export function expectSuccessOrRefusal(answer: { status: number; json: unknown; text: string }): void {
  const { status, json, text } = answer
  if (status >= 200 && status < 400) return
  if (!REFUSALS.has(status)) throw new Error(`answered ${status}: ${text.slice(0, 300)}`)
  if (text === '') return
  const { errorCode } = (json ?? {}) as { errorCode?: unknown }
  expect({ isOurs: isErrorCode(String(errorCode)), text }).toEqual({ isOurs: true, text })
}

const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 408, 409, 413, 415, 429, 431])

/** No line of level `error` was logged. */
export function expectNoAlarm({ logLines }: Gatehouse): void {
  const alarms = logLines().filter(({ level }) => level === 'error')
  expect(alarms).toEqual([])
}
