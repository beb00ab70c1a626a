import { BrokerError, stepInProgress } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { StepAnswer, StepOutcome } from '../transaction/step-result.ts'

/**
 * Identical requests in flight in this process share one call of `run`. A later identical request is a new attempt.
 * step-locks.ts does the same for requests to different replicas.
 */
export interface Coalescing {
  /** Throws 503 if too many requests of the transaction are in flight, identical or not. */
  run(request: CoalescedRequest, run: () => Promise<StepOutcome>): Promise<StepAnswer>
}

export interface CoalescedRequest {
  /** The same for identical requests. */
  readonly dedupKey: string
  /** Names the transaction. */
  readonly lockName: string
  /** How many requests of the transaction may run while this one runs, itself included. */
  readonly maxConcurrent?: number | undefined
}

/** The default of `maxConcurrent`. */
const MAX_CONCURRENT = 10
/** How many different steps of one transaction may run or wait. */
const MAX_STEPS = 6

/** The requests in flight of one transaction. */
interface InFlight {
  /** Identical requests included. */
  requests: number
  /** The lowest `maxConcurrent` since the transaction last had no request. */
  maxConcurrent: number
  /** By dedup key. */
  readonly outcomes: Map<string, Promise<StepOutcome>>
}

export function createCoalescing({ metrics }: { readonly metrics: Metrics }): Coalescing {
  const transactions = new Map<string, InFlight>()

  /** Limits the requests of one transaction, or one browser could occupy all capacity. */
  const enter = ({ dedupKey, lockName, maxConcurrent = MAX_CONCURRENT }: CoalescedRequest): InFlight => {
    const inFlight = transactions.get(lockName) ?? { requests: 0, maxConcurrent, outcomes: new Map() }
    const max = Math.min(inFlight.maxConcurrent, maxConcurrent)
    const isFull = inFlight.outcomes.size >= MAX_STEPS && !inFlight.outcomes.has(dedupKey)
    if (inFlight.requests >= max || isFull) throw stepInProgress()
    inFlight.maxConcurrent = max
    inFlight.requests += 1
    transactions.set(lockName, inFlight)
    return inFlight
  }

  const join = ({ outcomes }: InFlight, dedupKey: string, run: () => Promise<StepOutcome>) => {
    const identical = outcomes.get(dedupKey)
    if (identical !== undefined) {
      metrics.coalescedRequests.inc({ scope: 'process' })
      return identical
    }
    const outcome = run().finally(() => outcomes.delete(dedupKey))
    outcomes.set(dedupKey, outcome)
    return outcome
  }

  return {
    async run(request, run) {
      const inFlight = enter(request)
      try {
        return answerOrThrow(await join(inFlight, request.dedupKey, run))
      } finally {
        inFlight.requests -= 1
        if (inFlight.requests === 0) transactions.delete(request.lockName)
      }
    },
  }
}

/** Throws a refusal as a BrokerError. */
function answerOrThrow(outcome: StepOutcome): StepAnswer {
  if (outcome.kind === 'answer') return outcome
  const { status, code, summary, causes, headers } = outcome
  throw new BrokerError(status, code, summary, { causes, headers, cause: new Error('shared refusal') })
}
