import { afterEach } from '@jest/globals'
import type { StepDone } from '../../../src/authn/coalescing/claimed-step.ts'
import { createStepClaims, type StepClaimsParts } from '../../../src/authn/coalescing/step-claims.ts'
import { createStepFlights, type StepFlights } from '../../../src/authn/coalescing/step-flights.ts'
import type { StepAnswer } from '../../../src/authn/transaction/step-outcome.ts'
import { createSeal } from '../../../src/crypto/seal.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { createMemoryStore, type MemoryEntry } from '../../../src/store/memory-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { collectLog } from '../../observability/collect-log.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

export const NAMES = ['newest'] as const
export const RECORD = 'gatehouse:txn:{newest}'
export const LOCK = 'gatehouse:lock:{newest}'
export const answer = (body: string, rest: Partial<StepAnswer> = {}): StepAnswer => ({
  kind: 'answer',
  status: 200,
  body,
  headers: { 'X-Rate-Limit-Limit': '5' },
  errorCode: undefined,
  sessionId: undefined,
  ...rest,
})
export const done = (body: string, record: StepDone['record'] = 'keep'): StepDone => ({
  outcome: answer(body),
  record,
})

export interface ReplicasOptions {
  readonly lockTtlMs?: number
  readonly waitMs?: number
  readonly sharedAnswerMs?: number
  readonly pollEveryMs?: number
  readonly stands?: StepClaimsParts['stands']
  /** What of the store goes wrong. */
  readonly faults?: (memory: Store) => Partial<Store>
}

/** One store, and as many replicas on it as a test asks for. */
export function replicas({
  lockTtlMs = 15_000,
  waitMs = 12_000,
  sharedAnswerMs = 5000,
  pollEveryMs = 0,
  stands = async () => true,
  faults = () => ({}),
}: ReplicasOptions = {}) {
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

/** Work that takes until the test releases it. */
export function gate() {
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

/** What the promise was rejected with; undefined if it was not. */
export const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )
