import { BrokerError, stepInProgress } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { allSettledOrThrow } from '../../store/all-settled-or-throw.ts'
import type { Store } from '../../store/store.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import { type IdentifiedStep, unknownHandleError } from '../coalescing/request-coalescing.ts'
import type { LockRequest, SharedResult, StepLock, StepLocks } from '../coalescing/step-locks.ts'
import type { Attempt } from '../throttling/attempts.ts'
import type { Reservation, Throttling } from '../throttling/throttling.ts'
import { type StepAnswer, type StepOutcome, type StepResult, toRefusal } from '../transaction/step-result.ts'
import { createTransaction, type Transaction } from '../transaction/transaction.ts'
import { newHandle, type TransactionStore } from '../transaction/transaction-store.ts'

/** One request of a sign-in. */
export interface Step extends IdentifiedStep {
  /** The attempt as far as it is known from the request alone. undefined if Okta is not called. */
  readonly attempt?: Attempt | undefined
  /**
   * Checks the step against its transaction, before anything is sent. `before` is empty if the step begins a
   * transaction. Throws 401 E0000011 or 403 E0000079.
   */
  plan(before: Transaction, handle: string): StepPlan
}

export interface StepPlan {
  /** The attempt with what is known from the transaction. */
  readonly attempt?: Attempt | undefined
  /** Sends the step to Okta and decides its result. */
  run(): Promise<StepResult>
}

/** Runs a step. Throws a refusal as a BrokerError. */
export type RunStep = (step: Step, client: Client) => Promise<StepAnswer>

export interface RunStepDeps {
  readonly locks: StepLocks
  readonly throttling: Pick<Throttling, 'reserve'>
  readonly store: Pick<Store, 'preservesWriteOrder'>
  readonly transactions: Omit<TransactionStore, 'open' | 'read' | 'end'>
  readonly audit: Pick<StepAudit, 'handleFromOtherDevice'>
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

/** The sign-in pipeline, from the step lock to the commit (docs/architecture.md#four-requests). */
export function createStepPipeline(deps: RunStepDeps) {
  return async (request: LockRequest, step: Step, client: Client): Promise<StepOutcome> => {
    const locked = await acquireLock(request, step, client, deps)
    if ('outcome' in locked) return locked.outcome
    return commitStep(await executeStep(locked, step, client, deps), deps) // one round trip: all or nothing
  }
}

/** Acquires the lock and reserves the attempt in one round trip to Redis. */
async function acquireLock(
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
    attempt.refund() // a waiting request is not answered 429; `enforce` reserves again
    const next = await locks.waitForLock(request, lock)
    return 'outcome' in next ? next : { lock: next, attempt }
  } catch (error) {
    attempt.refund()
    throw error
  }
}

async function executeStep(
  locked: LockedStep,
  step: Step,
  client: Client,
  deps: RunStepDeps,
): Promise<CompletedStep> {
  const { lock, attempt } = locked
  try {
    const before = readTransaction(lock, step, client, deps) // 401 E0000011: unknown, expired, another device's
    const handle = step.handle ?? newHandle()
    const plan = step.plan(before, handle) // 403 E0000079: not offered
    await attempt.enforce(plan.attempt) // 429, audited
    const result = await plan.run() // send, sanitize, decide
    attempt.consumeOrRefund(result)
    return { lock, before, handle, isNew: step.handle === undefined, result }
  } catch (error) {
    attempt.consumeOrRefundOnError(error)
    await abandonStep(lock, error, deps)
    throw error
  }
}

interface LockedStep {
  readonly lock: StepLock
  readonly attempt: Reservation
}

interface CompletedStep {
  readonly lock: StepLock
  readonly before: Transaction
  readonly handle: string
  /** The step began the transaction. */
  readonly isNew: boolean
  readonly result: StepResult
}

/**
 * Writes the session, the transaction and the shared result, and releases the lock. If a write fails, or the lock has
 * expired and the transaction has changed since, all writes are rolled back.
 */
async function commitStep(step: CompletedStep, deps: RunStepDeps): Promise<StepOutcome> {
  try {
    await writeStep(step, deps)
  } catch (error) {
    await rollbackStep(step, deps)
    throw error
  }
  return step.result.outcome
}

/** All writes are sent in one tick. If the store may reorder them, the session is written first, because requests must find it. */
async function writeStep(step: CompletedStep, { store, locks, transactions }: RunStepDeps): Promise<void> {
  const { lock, before, isNew, result } = step
  const { outcome, after, session } = result
  const change = isNew ? 'keep' : transactions.recordChange(before, after, lock.recordKey)
  const writing = session?.write()
  if (!store.preservesWriteOrder) await writing
  const [, , committed] = await allSettledOrThrow(
    Promise.resolve(writing),
    allSettledOrThrow(writeTransaction(step, transactions), Promise.resolve(session?.bindDevice())),
    locks.commit(lock, change, outcome),
  )
  if (!committed) throw stepInProgress()
  await session?.afterCommit()
  if (!isNew && after === undefined) transactions.removeFromUserIndex(before, lock.recordKey)
}

/** Creates the record of a new transaction, or adds an existing one to its user's index once the user is known. */
async function writeTransaction(
  { lock, before, handle, isNew, result: { after } }: CompletedStep,
  transactions: RunStepDeps['transactions'],
): Promise<void> {
  if (after === undefined) return
  if (isNew && after.status !== '') await transactions.create(handle, after)
  if (!isNew && after.userId !== before.userId) await transactions.addToUserIndex(after, lock.recordKey)
}

async function rollbackStep({ lock, result }: CompletedStep, { locks, log }: RunStepDeps): Promise<void> {
  const results = await Promise.allSettled([locks.rollback(lock), result.session?.rollback()])
  for (const one of results) if (one.status === 'rejected') log.warn('step_rollback_failed', {}, one.reason)
}

/** Ends a step that failed before its commit. Identical requests share a BrokerError, but no other error. */
async function abandonStep(lock: StepLock, error: unknown, { locks, log }: RunStepDeps): Promise<void> {
  try {
    if (error instanceof BrokerError) await locks.commit(lock, 'keep', toRefusal(error))
    else await locks.release(lock)
  } catch (failure) {
    log.warn('step_lock_release_failed', {}, failure) // the lock expires after its time to live
  }
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
  throw unknownHandleError(client, metrics)
}
