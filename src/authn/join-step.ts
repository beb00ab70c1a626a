import { BrokerError, unknownHandle } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import { attemptOf } from './attempt-of.ts'
import type { StepAudit } from './audit/step-audit.ts'
import { refused } from './audit/step-events.ts'
import type { Client } from './browser/client.ts'
import type { LockRequest, StepLock, StepLocks } from './coalescing/step-locks.ts'
import type { StepSettings } from './plan-step.ts'
import type { StepRequest } from './step/step-request.ts'
import type { Reservation, Throttling } from './throttling/throttling.ts'
import { type StepOutcome, toRefusal } from './transaction/step-outcome.ts'
import { createTransaction, type Transaction } from './transaction/transaction.ts'
import { newHandle } from './transaction/transaction-store.ts'

export interface ReleaseLockDeps {
  readonly locks: Pick<StepLocks, 'commit' | 'release'>
  readonly log: Logger
}

export interface JoinDeps extends ReleaseLockDeps {
  readonly locks: StepLocks
  readonly throttling: Pick<Throttling, 'reserve'>
  readonly audit: Pick<StepAudit, 'handleFromOtherDevice' | 'report'>
  readonly settings: StepSettings
  readonly now: () => number
}

/** A step that may run. */
export interface JoinedStep {
  /** Empty if the step begins it. */
  readonly before: Transaction
  readonly handle: string
  /** undefined: the step begins the transaction. */
  readonly lock: StepLock | undefined
  /**
   * Reserved with what the request alone tells (`attemptOf`); `enforce` adds what the plan says.
   */
  readonly reservation: Reservation
}

/**
 * Acquires the step lock and reads the transaction, or waits for the result of an identical step
 * on another replica. A step that begins a transaction needs no lock: attempts are reserved before
 * anything is sent, and codes have their cooldown.
 */
export async function joinStep(
  request: StepRequest,
  lockRequest: LockRequest | undefined,
  client: Client,
  deps: JoinDeps,
): Promise<JoinedStep | { readonly shared: StepOutcome }> {
  const { locks, throttling, now, settings } = deps
  const attemptKnown = attemptOf(request, settings)
  if (lockRequest === undefined || !('handle' in request)) {
    const before = beginTransaction(request, client, now())
    return {
      before,
      handle: newHandle(),
      lock: undefined,
      reservation: throttling.reserve(attemptKnown, client),
    }
  }
  const acquiring = locks.acquire(lockRequest) // in the same round trip as the attempt
  const reservation = throttling.reserve(attemptKnown, client)
  try {
    const acquired = await acquiring
    // a waiting request is not answered 429; `enforce` reserves again
    if (!acquired.isOurs) reservation.refund()
    const lock = acquired.isOurs ? acquired : await locks.waitForLock(lockRequest, acquired)
    if ('outcome' in lock) return { shared: lock.outcome }
    return { before: await ownTransaction(lock, client, deps), handle: request.handle, lock, reservation }
  } catch (error) {
    reservation.refund()
    throw error
  }
}

/** The empty transaction of a request that begins one. */
function beginTransaction(request: StepRequest, { device }: Client, nowMs: number): Transaction {
  const login = request.kind === 'sign-in' ? request.body.username : undefined
  const begun = createTransaction(device.id, login, nowMs)
  return request.kind === 'recovery-token' ? { ...begun, isRecovery: true } : begun
}

/** Throws 401 E0000011 if the handle is unknown or expired, or belongs to another device. */
async function ownTransaction(lock: StepLock, client: Client, deps: JoinDeps): Promise<Transaction> {
  const { transaction } = lock
  if (transaction?.device === client.device.id) return transaction
  if (transaction !== undefined) deps.audit.handleFromOtherDevice(transaction, client)
  deps.audit.report([refused('unknown_handle')], client)
  const error = unknownHandle(client.device.returned)
  await releaseLock(lock, error, deps)
  throw error
}

/** Identical requests that wait on other replicas share a BrokerError, but no other error. */
export async function releaseLock(
  lock: StepLock,
  error: unknown,
  { locks, log }: ReleaseLockDeps,
): Promise<void> {
  try {
    if (error instanceof BrokerError) await locks.commit(lock, 'keep', toRefusal(error))
    else await locks.release(lock)
  } catch (failure) {
    log.warn('step_lock_release_failed', {}, failure) // the lock expires after its time to live
  }
}
