import { setTimeout as pause } from 'node:timers/promises'
import { v4 as uuid } from 'uuid'
import { z } from 'zod'
import type { Seal } from '../../crypto/keys.ts'
import { stepInProgress } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { allSettledOrThrow } from '../../store/all-settled-or-throw.ts'
import { KEYS, keyOf } from '../../store/keys.ts'
import type { RecordChange } from '../../store/locked-records.ts'
import { parseStoredJson } from '../../store/sealed-records.ts'
import type { Store } from '../../store/store.ts'
import { StepOutcome } from '../transaction/step-outcome.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { TransactionStore } from '../transaction/transaction-store.ts'

export interface LockRequest {
  /** The names of the transaction, one for each of SECRET_KEYS, the newest first. */
  readonly names: readonly [string, ...string[]]
  readonly dedupKey: string
  /** The path, if the request is a poll. */
  readonly pollPath: string | undefined
}

export interface StepLock {
  readonly isOurs: boolean
  /** The token that holds the lock. */
  readonly holder: string
  readonly name: string
  readonly dedupKey: string
  readonly token: string
  readonly recordKey: string
  /** The transaction as stored. */
  readonly raw: string | undefined
  /** undefined if there is none, or it is unreadable. */
  readonly transaction: Transaction | undefined
  /** Above 0 if the lock was free but the request is a poll that came too soon. */
  readonly dueInMs: number
}

export interface SharedResult {
  readonly outcome: StepOutcome
}

export interface StepLocksOptions {
  readonly store: Pick<Store, 'keyPrefix' | 'acquire' | 'commit' | 'get' | 'deleteIf'>
  readonly seal: Seal
  readonly transactions: Pick<TransactionStore, 'keyOf' | 'open'>
  /**
   * Whether a session is stored. It may be written a moment after the shared result that names it.
   */
  readonly isStored: (sessionId: string) => Promise<boolean>
  readonly lockTtlMs: number
  /** How long a result is shared. */
  readonly sharedMs: number
  readonly waitMs: number
  /** The shortest time between two polls. */
  readonly pollEveryMs: number
  readonly metrics: Metrics
  readonly now: () => number
  readonly monotonic?: () => number
}

/** Pauses between two attempts to acquire the lock grow from the first value to the last. */
const FIRST_PAUSE_MS = 25
const LAST_PAUSE_MS = 250

const Shared = z.object({ version: z.literal(2), token: z.string(), outcome: StepOutcome })
type Shared = z.infer<typeof Shared>

/**
 * The step lock: one step at a time in a transaction, over all replicas. Identical requests that
 * wait on other replicas share the step's result. It also paces polls: a poll before
 * `pollNotBeforeMs` waits. All keys of a transaction are in one Redis Cluster slot (`stepLock` and
 * `sharedResult` in store/keys.ts).
 */
export class StepLocks {
  readonly #options: StepLocksOptions

  constructor(options: StepLocksOptions) {
    this.#options = options
  }

  /**
   * Tries once, under the name that has the record, else under the oldest. The same command reads
   * the transaction.
   */
  async acquire(request: LockRequest, nowMs = this.#options.now()): Promise<StepLock> {
    for (const name of request.names) {
      const lock = await this.#acquireAt(name, request)
      const isLast = name === request.names.at(-1)
      const dueInMs = pollDueInMs(lock.transaction, request.pollPath, nowMs, this.#options.pollEveryMs)
      if (!lock.isOurs || ((lock.raw !== undefined || isLast) && dueInMs <= 0)) return lock
      await this.release(lock)
      if (dueInMs > 0) return { ...lock, isOurs: false, dueInMs }
    }
    throw new Error('a step needs a name to be locked by')
  }

  /**
   * Waits for the lock, or for the shared result of an identical step. Throws 503 if that takes
   * longer than `waitMs`.
   */
  async waitForLock(request: LockRequest, busy: StepLock): Promise<StepLock | SharedResult> {
    const { waitMs, metrics, now, monotonic = () => performance.now() } = this.#options
    const [startMs, started] = [now(), monotonic()]
    const elapsedMs = () => monotonic() - started // the system clock may jump
    const ended = await this.#readFinishedTokens(request, busy)
    let lock = busy
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LAST_PAUSE_MS)) {
      if (elapsedMs() + lock.dueInMs > waitMs) throw stepInProgress()
      await pause(lock.dueInMs > 0 ? lock.dueInMs : pauseMs * (1 + Math.random()))
      lock = await this.acquire(request, startMs + elapsedMs())
      const outcome = await this.#findNewOutcome(lock, ended)
      if (outcome === undefined && lock.isOurs) return lock
      if (lock.isOurs) await this.release(lock)
      if (outcome !== undefined && (await this.#isSessionStored(outcome))) {
        metrics.coalescedRequests.inc({ scope: 'replicas' })
        return { outcome }
      }
    }
  }

  /**
   * Writes the transaction, shares the result and releases the lock in one round trip. False if the
   * record has changed since it was read: by another step after the lock had expired, or because
   * all sessions of the user have ended. Only the lock is released then.
   */
  commit(lock: StepLock, record: RecordChange, outcome: StepOutcome): Promise<boolean> {
    const { store, seal, sharedMs } = this.#options
    const { name, token, recordKey, raw } = lock
    const key = this.#sharedKey(lock)
    const shared: Shared = { version: 2, token, outcome }
    return store.commit({
      lockKey: this.#lockKey(name),
      recordKey,
      token,
      expected: raw,
      record,
      shared: { key, value: seal.seal(JSON.stringify(shared), key), ttlMs: sharedMs },
    })
  }

  /** Deletes the result that `commit` shared, and releases the lock. */
  async rollback(lock: StepLock): Promise<void> {
    const unshare = async () => {
      const shared = await this.#readShared(lock)
      if (shared?.token === lock.token) await this.#options.store.deleteIf(shared.key, shared.raw)
    }
    await allSettledOrThrow(unshare(), this.release(lock))
  }

  async release({ name, token }: StepLock): Promise<void> {
    await this.#options.store.deleteIf(this.#lockKey(name), token)
  }

  async #acquireAt(name: string, { dedupKey }: LockRequest): Promise<StepLock> {
    const { store, transactions, lockTtlMs } = this.#options
    const [token, recordKey] = [`${dedupKey}.${uuid()}`, transactions.keyOf(name)]
    try {
      const { holder, record: raw } = await store.acquire({
        lockKey: this.#lockKey(name),
        recordKey,
        token,
        lockTtlMs,
      })
      const isOurs = holder === token
      const transaction = isOurs ? transactions.open(raw, recordKey) : undefined
      return { isOurs, holder, name, dedupKey, token, recordKey, raw, transaction, dueInMs: 0 }
    } catch (error) {
      // a store that stalled may still execute the command when it resumes; this delete then
      // follows it
      // if this fails too, the lock expires
      store.deleteIf(this.#lockKey(name), token).catch(() => {})
      throw error
    }
  }

  async #readShared(lock: Pick<StepLock, 'name' | 'dedupKey'>) {
    const { store, seal } = this.#options
    const key = this.#sharedKey(lock)
    const raw = await store.get(key)
    if (raw === undefined) return undefined
    const { data } = Shared.safeParse(parseStoredJson(seal.open(raw, key)))
    return data && { ...data, key, raw }
  }

  /**
   * The tokens of identical steps that ended before this request: their results are not shared with
   * it.
   */
  async #readFinishedTokens(
    { names, dedupKey }: LockRequest,
    busy: StepLock,
  ): Promise<Set<string | undefined>> {
    const shared = await Promise.all(names.map((name) => this.#readShared({ name, dedupKey })))
    const tokens = new Set(shared.map((one) => one?.token))
    tokens.delete(busy.holder)
    return tokens
  }

  /** The shared result of an identical step, unless it ended before this request. */
  async #findNewOutcome(lock: StepLock, ended: ReadonlySet<string | undefined>) {
    try {
      const shared = await this.#readShared(lock)
      return ended.has(shared?.token) ? undefined : shared?.outcome
    } catch (error) {
      if (lock.isOurs) await this.release(lock)
      throw error
    }
  }

  #lockKey(name: string): string {
    return keyOf(this.#options.store, KEYS.stepLock, name)
  }

  #sharedKey({ name, dedupKey }: Pick<StepLock, 'name' | 'dedupKey'>): string {
    return keyOf(this.#options.store, KEYS.sharedResult, name, dedupKey)
  }

  /** An answer must not name a session before the session is stored. */
  async #isSessionStored(outcome: StepOutcome): Promise<boolean> {
    const sessionId = outcome.kind === 'answer' ? outcome.sessionId : undefined
    return sessionId === undefined || this.#options.isStored(sessionId)
  }
}

/**
 * How long a poll of this path must wait, in milliseconds; 0 if it need not. A time further ahead
 * than the poll interval was written by a replica with another clock, and is ignored.
 */
function pollDueInMs(
  transaction: Transaction | undefined,
  pollPath: string | undefined,
  nowMs: number,
  pollEveryMs: number,
): number {
  if (pollPath === undefined) return 0
  const dueInMs = (transaction?.pollNotBeforeMs?.[pollPath] ?? 0) - nowMs
  return dueInMs > pollEveryMs ? 0 : Math.max(0, dueInMs)
}
