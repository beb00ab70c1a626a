import { v4 as uuid } from 'uuid'
import type { Signer } from '../../crypto/keys.ts'
import { BrokerError, stepInProgress, unknownHandle } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Client } from '../browser/client.ts'
import { identityOf, isInTransaction, pollPathOf, type StepRequest } from '../step/step-request.ts'
import type { StepAnswer, StepOutcome } from '../transaction/step-outcome.ts'
import { isHandle, type TransactionStore } from '../transaction/transaction-store.ts'
import type { LockRequest } from './step-locks.ts'

export interface RequestCoalescingDeps {
  readonly transactions: Pick<TransactionStore, 'namesOf'>
  /** Signs dedup keys: HMACs, so that no key contains a body. */
  readonly dedupSigner: Signer
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

/** Runs one request of a sign-in. Throws a refusal as a BrokerError. */
export type RunRequest = (request: StepRequest, client: Client) => Promise<StepAnswer>

/** `lockRequest` is undefined if the request begins a transaction. */
export type RunStep = (
  request: StepRequest,
  lockRequest: LockRequest | undefined,
  client: Client,
) => Promise<StepOutcome>

/**
 * Identical requests in flight in this process share one run. A later identical request is a new
 * attempt. In a transaction, step-locks.ts does the same for requests to different replicas; of two
 * that begin one on two replicas, each calls Okta. The returned function throws a refusal as a
 * BrokerError, and 503 if too many requests of the transaction are in flight, identical or not.
 */
export function coalesceRequests(runStep: RunStep, deps: RequestCoalescingDeps): RunRequest {
  const { transactions, dedupSigner, metrics } = deps
  /** By the newest name, or by the dedup key of a request that begins a transaction. */
  const byName = new Map<string, InFlight>()

  /** Limits the requests of one transaction, or one browser could occupy all capacity. */
  const enter = (name: string, dedupKey: string, maxConcurrent = MAX_CONCURRENT): InFlight => {
    const inFlight = byName.get(name) ?? { requests: 0, maxConcurrent, outcomes: new Map() }
    const max = Math.min(inFlight.maxConcurrent, maxConcurrent)
    const isFull = inFlight.outcomes.size >= MAX_STEPS && !inFlight.outcomes.has(dedupKey)
    if (inFlight.requests >= max || isFull) throw stepInProgress()
    inFlight.maxConcurrent = max
    inFlight.requests += 1
    byName.set(name, inFlight)
    return inFlight
  }

  const join = ({ outcomes }: InFlight, dedupKey: string, start: () => Promise<StepOutcome>) => {
    const identical = outcomes.get(dedupKey)
    if (identical !== undefined) {
      metrics.coalescedRequests.inc({ scope: 'process' })
      return identical
    }
    const outcome = start().finally(() => outcomes.delete(dedupKey))
    outcomes.set(dedupKey, outcome)
    return outcome
  }

  return async (request, client) => {
    const handle = isInTransaction(request) ? request.handle : undefined
    if (handle !== undefined && !isHandle(handle)) throw unknownHandleError(client, metrics)
    const { content = [uuid()], maxConcurrent } = identityOf(request)
    // in a transaction, the fingerprint is left out, so that varying it does not gain attempts
    const scope = handle === undefined ? [client.device.id, client.fingerprint] : [client.device.id, handle]
    const dedupKey = dedupSigner.sign(JSON.stringify([...scope, ...content]))
    const names = handle === undefined ? undefined : transactions.namesOf(handle)
    const lockRequest = names && { names, dedupKey, pollPath: pollPathOf(request) }
    const name = names?.[0] ?? dedupKey
    const inFlight = enter(name, dedupKey, maxConcurrent)
    try {
      return answerOrThrow(await join(inFlight, dedupKey, () => runStep(request, lockRequest, client)))
    } finally {
      inFlight.requests -= 1
      if (inFlight.requests === 0) byName.delete(name)
    }
  }
}

/** Throws a refusal as a BrokerError. */
function answerOrThrow(outcome: StepOutcome): StepAnswer {
  if (outcome.kind === 'answer') return outcome
  const { status, code, summary, causes, headers } = outcome
  throw new BrokerError(status, code, summary, { causes, headers, cause: new Error('shared refusal') })
}

/** 401 E0000011. Says whether the browser returned its device cookie. */
function unknownHandleError({ device }: Client, metrics: Metrics): BrokerError {
  metrics.requestsRefused.inc({ reason: 'unknown_handle' })
  return unknownHandle(device.returned)
}
