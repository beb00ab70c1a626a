import { stepInProgress } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { answerOrThrow, type StepAnswer, type StepOutcome } from '../transaction/step-result.ts'

/**
 * Request coalescing in this process: identical requests in flight are one call of `run`, and all get its outcome. A later
 * identical request is a new attempt.
 */
export interface Coalescing {
  /** 503 if too many requests of the transaction run already, identical or not. */
  run(request: CoalescedRequest, run: () => Promise<StepOutcome>): Promise<StepAnswer>
}

export interface CoalescedRequest {
  /** Identical requests have the same one. */
  readonly dedupKey: string
  /** Names the transaction. */
  readonly lockName: string
  /** While it runs, so many requests of the transaction may run, this one included. */
  readonly maxConcurrent?: number | undefined
}

/** Requests of one transaction that may run at the same time, unless one of them allows fewer. */
const MAX_CONCURRENT = 10
/** Different steps of one transaction that may run or wait. */
const MAX_RUNS = 6

/** What runs of one transaction. */
interface Running {
  /** Identical ones included. */
  requests: number
  /** The lowest `maxConcurrent` since the transaction last had no request. */
  most: number
  /** By dedup key. */
  readonly runs: Map<string, Promise<StepOutcome>>
}

export function createCoalescing({ metrics }: { readonly metrics: Metrics }): Coalescing {
  const transactions = new Map<string, Running>()

  /** Otherwise one browser could take up every place that there is for requests. */
  const enter = ({ dedupKey, lockName, maxConcurrent = MAX_CONCURRENT }: CoalescedRequest): Running => {
    const running = transactions.get(lockName) ?? { requests: 0, most: maxConcurrent, runs: new Map() }
    const most = Math.min(running.most, maxConcurrent)
    const isFull = running.runs.size >= MAX_RUNS && !running.runs.has(dedupKey)
    if (running.requests >= most || isFull) throw stepInProgress()
    running.most = most
    running.requests += 1
    transactions.set(lockName, running)
    return running
  }

  const join = ({ runs }: Running, dedupKey: string, run: () => Promise<StepOutcome>) => {
    const identical = runs.get(dedupKey)
    if (identical !== undefined) {
      metrics.coalescedRequests.inc({ scope: 'process' })
      return identical
    }
    const outcome = run().finally(() => runs.delete(dedupKey))
    runs.set(dedupKey, outcome)
    return outcome
  }

  return {
    async run(request, run) {
      const running = enter(request)
      try {
        return answerOrThrow(await join(running, request.dedupKey, run))
      } finally {
        running.requests -= 1
        if (running.requests === 0) transactions.delete(request.lockName)
      }
    },
  }
}
