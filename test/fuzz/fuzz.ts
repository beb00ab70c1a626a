import { connect } from 'node:net'
import { expect } from '@jest/globals'
import type { Parameters } from 'fast-check'
import { isErrorCode } from '../../src/http/error-object.ts'
import type { Gatehouse } from '../support/gatehouse.ts'

/**
 * Thousands of requests that nobody would send by mistake. FUZZ_SEED asks for the same ones again; FUZZ_TIMES=20 for
 * twenty times as many as the tests name. `npm test` sends a sixth of those, other ones each time; `npm run faults` five times as
 * many.
 */
export const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))
export const TIMES = Number(process.env.FUZZ_TIMES ?? 1 / 6)
const MAX_MS = 20_000 * Math.max(1, TIMES)

/** For the test's name, so that it is seen whatever becomes of the run. */
export const SEEDED = `(FUZZ_SEED=${SEED})`

/** A slow machine does what it can in the time there is. */
export function runs<Values>(numRuns: number): Parameters<Values> {
  return {
    numRuns: Math.ceil(numRuns * TIMES),
    seed: SEED,
    interruptAfterTimeLimit: MAX_MS,
    markInterruptAsFailure: false,
  }
}

export const TEST_MS = MAX_MS + 60_000

/** Refused as our own Error object, or done; never our fault, nobody else's either, and never half an answer. */
export function expectSound(answer: { status: number; json: unknown; text: string }): void {
  const { status, json, text } = answer
  if (status >= 200 && status < 400) return
  if (!REFUSALS.has(status)) throw new Error(`answered ${status}: ${text.slice(0, 300)}`)
  if (text === '') return
  const { errorCode } = (json ?? {}) as { errorCode?: unknown }
  expect({ isOurs: isErrorCode(String(errorCode)), text }).toEqual({ isOurs: true, text })
}

const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 429, 431])

/** What a run must leave behind: no line that calls for anybody. */
export function expectNoAlarm({ logLines }: Gatehouse): void {
  const alarms = logLines().filter(({ level }) => level === 'error')
  expect(alarms).toEqual([])
}

/** Sends bytes as they are; what came back until the other side closed, or undefined when it never did. */
export function exchangeRaw(port: number, bytes: Buffer, patienceMs = 30_000): Promise<string | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () => socket.end(bytes))
    const timer = setTimeout(() => {
      socket.destroy()
      resolve(undefined)
    }, patienceMs)
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(Buffer.concat(chunks).toString('latin1'))
    })
  })
}
