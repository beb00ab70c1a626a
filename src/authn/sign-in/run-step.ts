import type { Signer } from '../../crypto/keys.ts'
import { unknownHandle } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { Coalescing } from '../coalescing/coalescing.ts'
import type { LockRequest, SharedResult, StepLock, StepLocks } from '../coalescing/step-locks.ts'
import type { Attempt } from '../throttling/attempts.ts'
import type { Reservation, Throttling } from '../throttling/throttling.ts'
import type { StepAnswer, StepResult } from '../transaction/step-result.ts'
import { createTransaction, type Transaction } from '../transaction/transaction.ts'
import { isHandle, newHandle, type TransactionStore } from '../transaction/transaction-store.ts'
import type { Commits, CompletedStep } from './commit.ts'

/** One request of a sign-in, as `run-step.ts` takes it. */
export interface Step {
  /** As the browser sent it; undefined: the step begins a transaction. */
  readonly handle: string | undefined
  /** What identical requests of one device and handle have in common: path, query and body. */
  readonly identity: readonly unknown[]
  /** The path, if the step is a poll: it shows nothing and asks how things stand. */
  readonly pollPath: string | undefined
  /** While it runs, so many requests of its transaction may run, this one included. */
  readonly maxConcurrent?: number | undefined
  /** What it tries, if the request itself says so; undefined: the plan says it. */
  readonly attempt: Attempt | undefined
  /**
   * Checks the step against its transaction, before anything is counted or sent. A step that begins a transaction gets an empty
   * one. Throws 401 E0000011 or 403 E0000079.
   */
  plan(before: Transaction, handle: string): StepPlan
}

export interface StepPlan {
  /** What the step tries; undefined: nothing that is limited. */
  readonly attempt?: Attempt | undefined
  /** Sends the step, and says what became of it. */
  run(): Promise<StepResult>
}

/** Takes a step and answers it; a refusal is thrown. */
export type RunStep = (step: Step, client: Client) => Promise<StepAnswer>

export interface RunStepDeps {
  readonly coalescing: Coalescing
  readonly locks: StepLocks
  readonly throttling: Pick<Throttling, 'reserve'>
  readonly commits: Commits
  readonly transactions: Pick<TransactionStore, 'names'>
  /** Makes dedup keys: HMACs, so that no key contains a body. */
  readonly dedupKeys: Signer
  /** Reads what other replicas know of the org's rate limit, if that is due: in the same round trip as the lock. */
  readonly readRateLimit: () => void
  readonly audit: Pick<StepAudit, 'handleFromOtherDevice'>
  readonly metrics: Metrics
  readonly now: () => number
}

/** The sign-in pipeline: a request of a sign-in, from the step lock to the answer (DESIGN §12). */
export function createRunStep(deps: RunStepDeps): RunStep {
  const { coalescing, commits, metrics } = deps
  return async (step, client) => {
    if (step.handle !== undefined && !isHandle(step.handle)) throw refuseHandle(client, metrics)
    const request = lockRequestOf(step, client, deps)
    const { maxConcurrent } = step
    deps.readRateLimit()
    return coalescing.run({ ...request, lockName: request.names[0], maxConcurrent }, async () => {
      const turn = await acquireAndReserve(request, step, client, deps)
      if ('outcome' in turn) return turn.outcome
      return commits.commit(await decide(turn, step, client, deps)) // one round trip: all or nothing
    })
  }
}

/** Tries the lock and counts the attempt in one round trip to Redis. */
async function acquireAndReserve(
  request: LockRequest,
  step: Step,
  client: Client,
  { locks, throttling }: RunStepDeps,
): Promise<LockedStep | SharedResult> {
  const acquiring = locks.acquire(request)
  const attempt = throttling.reserve(step.attempt, client)
  try {
    const lock = await acquiring
    if (lock.isOurs) return { lock, attempt }
    attempt.refund() // while another step runs, nobody is told of a limit; `enforce` counts it again
    const next = await locks.waitForTurn(request, lock)
    return 'outcome' in next ? next : { lock: next, attempt }
  } catch (error) {
    attempt.refund()
    throw error
  }
}

async function decide(
  turn: LockedStep,
  step: Step,
  client: Client,
  deps: RunStepDeps,
): Promise<CompletedStep> {
  const { lock } = turn
  let { attempt } = turn
  try {
    const before = readTransaction(lock, step, client, deps) // 401 E0000011: unknown, expired, another device's
    const handle = step.handle ?? newHandle()
    const plan = step.plan(before, handle) // 403 E0000079: not offered
    if (plan.attempt !== undefined) attempt = deps.throttling.reserve(plan.attempt, client)
    await attempt.enforce() // 429, audited
    const result = await plan.run() // send, sanitize, decide
    attempt.consumeOrRefund(result)
    return { lock, before, handle, isNew: step.handle === undefined, result }
  } catch (error) {
    attempt.consumeOrRefundOnError(error)
    await deps.commits.abandon(lock, error)
    throw error
  }
}

interface LockedStep {
  readonly lock: StepLock
  readonly attempt: Reservation
}

/** A step that begins a transaction has a lock of its own, shared with identical requests. */
function lockRequestOf(
  { handle, identity, pollPath }: Step,
  { device, fingerprint }: Client,
  { transactions, dedupKeys }: Pick<RunStepDeps, 'transactions' | 'dedupKeys'>,
): LockRequest {
  // within a transaction without `X-Device-Fingerprint`: naming another one with each request must gain nothing
  const inCommon = handle === undefined ? [device.id, fingerprint] : [device.id, handle]
  const dedupKey = dedupKeys.sign(JSON.stringify([...inCommon, ...identity]))
  return { names: handle === undefined ? [dedupKey] : transactions.names(handle), dedupKey, pollPath }
}

function readTransaction(
  { transaction }: StepLock,
  { handle }: Step,
  client: Client,
  { audit, metrics, now }: Pick<RunStepDeps, 'audit' | 'metrics' | 'now'>,
): Transaction {
  if (handle === undefined) return createTransaction(client.device.id, undefined, now())
  if (transaction?.device === client.device.id) return transaction
  if (transaction !== undefined) audit.handleFromOtherDevice(transaction, client)
  throw refuseHandle(client, metrics)
}

function refuseHandle({ device }: Client, metrics: Metrics) {
  metrics.requestsRefused.inc({ reason: 'unknown_handle' })
  return unknownHandle(device.returned)
}
