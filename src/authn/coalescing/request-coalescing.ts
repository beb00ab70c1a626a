import type { Signer } from '../../crypto/keys.ts'
import { BrokerError, stepInProgress, unknownHandle } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Client } from '../browser/client.ts'
import type { StepAnswer, StepOutcome } from '../transaction/step-result.ts'
import { isHandle, type TransactionStore } from '../transaction/transaction-store.ts'
import type { LockRequest } from './step-locks.ts'

/** What identifies a step. */
export interface IdentifiedStep {
  /** As the browser sent it; undefined if the step begins a transaction. */
  readonly handle: string | undefined
  /** Path, query and body: requests of one device and handle with the same identity are identical. */
  readonly identity: readonly unknown[]
  /** The path, if the step is a poll. */
  readonly pollPath?: string | undefined
  /** How many requests of the transaction may run while this one runs, itself included. */
  readonly maxConcurrent?: number | undefined
}

export interface RequestCoalescingDeps {
  readonly transactions: Pick<TransactionStore, 'names'>
  /** Signs dedup keys: HMACs, so that no key contains a body. */
  readonly dedupKeys: Signer
  readonly metrics: Metrics
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

/**
 * Identical requests in flight in this process share one run of the pipeline. A later identical request is a new attempt.
 * step-locks.ts does the same for requests to different replicas. The returned function throws a refusal as a BrokerError,
 * and 503 if too many requests of the transaction are in flight, identical or not.
 */
export function coalesceRequests<Step extends IdentifiedStep>(
  runPipeline: (request: LockRequest, step: Step, client: Client) => Promise<StepOutcome>,
  deps: RequestCoalescingDeps,
): (step: Step, client: Client) => Promise<StepAnswer> {
  const { metrics } = deps
  /** By the newest name. */
  const transactions = new Map<string, InFlight>()

  /** Limits the requests of one transaction, or one browser could occupy all capacity. */
  const enter = (name: string, dedupKey: string, maxConcurrent = MAX_CONCURRENT): InFlight => {
    const inFlight = transactions.get(name) ?? { requests: 0, maxConcurrent, outcomes: new Map() }
    const max = Math.min(inFlight.maxConcurrent, maxConcurrent)
    const isFull = inFlight.outcomes.size >= MAX_STEPS && !inFlight.outcomes.has(dedupKey)
    if (inFlight.requests >= max || isFull) throw stepInProgress()
    inFlight.maxConcurrent = max
    inFlight.requests += 1
    transactions.set(name, inFlight)
    return inFlight
  }

  const join = ({ outcomes }: InFlight, request: LockRequest, step: Step, client: Client) => {
    const { dedupKey } = request
    const identical = outcomes.get(dedupKey)
    if (identical !== undefined) {
      metrics.coalescedRequests.inc({ scope: 'process' })
      return identical
    }
    const outcome = runPipeline(request, step, client).finally(() => outcomes.delete(dedupKey))
    outcomes.set(dedupKey, outcome)
    return outcome
  }

  return async (step, client) => {
    if (step.handle !== undefined && !isHandle(step.handle)) throw unknownHandleError(client, metrics)
    const request = toLockRequest(step, client, deps)
    const [name] = request.names
    const inFlight = enter(name, request.dedupKey, step.maxConcurrent)
    try {
      return answerOrThrow(await join(inFlight, request, step, client))
    } finally {
      inFlight.requests -= 1
      if (inFlight.requests === 0) transactions.delete(name)
    }
  }
}

/** A step that begins a transaction has its own lock, which identical requests share. */
function toLockRequest(
  { handle, identity, pollPath }: IdentifiedStep,
  { device, fingerprint }: Client,
  { transactions, dedupKeys }: Pick<RequestCoalescingDeps, 'transactions' | 'dedupKeys'>,
): LockRequest {
  // in a transaction, the fingerprint is left out, so that varying it does not gain attempts
  const scope = handle === undefined ? [device.id, fingerprint] : [device.id, handle]
  const dedupKey = dedupKeys.sign(JSON.stringify([...scope, ...identity]))
  return { names: handle === undefined ? [dedupKey] : transactions.names(handle), dedupKey, pollPath }
}

/** Throws a refusal as a BrokerError. */
function answerOrThrow(outcome: StepOutcome): StepAnswer {
  if (outcome.kind === 'answer') return outcome
  const { status, code, summary, causes, headers } = outcome
  throw new BrokerError(status, code, summary, { causes, headers, cause: new Error('shared refusal') })
}

/** 401 E0000011. Says whether the browser returned its device cookie. */
export function unknownHandleError({ device }: Client, metrics: Metrics): BrokerError {
  metrics.requestsRefused.inc({ reason: 'unknown_handle' })
  return unknownHandle(device.returned)
}
