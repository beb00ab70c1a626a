import { setTimeout as pause } from 'node:timers/promises'
import { v4 as uuid } from 'uuid'
import { z } from 'zod'
import type { Seal } from '../../crypto/seal.ts'
import { stepInProgress } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { allWritten } from '../../store/all-written.ts'
import type { RecordChange, Store } from '../../store/store.ts'
import { parseStored } from '../../store/stored-json.ts'
import { type StepOutcome, StoredOutcome } from '../transaction/step-result.ts'
import { pollDueInMs, type Transaction } from '../transaction/transaction.ts'
import { type TransactionStore, transactionKey } from '../transaction/transaction-store.ts'

/**
 * The step lock: one step at a time in a transaction, on all replicas. The outcome of a step is shared with identical requests
 * that wait for it on other replicas. All keys of a transaction are in one Redis Cluster slot:
 *
 *     gatehouse:lock:{<name>}              the token of the step that runs
 *     gatehouse:lock:{<name>}:<dedupKey>   how the last such step ended, sealed, for a few seconds
 */
export interface StepLocks {
  /** Tries once. The same command reads the transaction. */
  acquire(request: LockRequest): Promise<StepLock>
  /**
   * Waits until the lock is ours, or an identical step that was under way has ended: its outcome is the one of this request too.
   * 503 if that takes longer than `waitMs`.
   */
  waitForTurn(request: LockRequest, busy: StepLock): Promise<StepLock | SharedOutcome>
  /** Writes the transaction, shares the outcome and releases the lock in one round trip; false if the lock had expired. */
  commit(lock: StepLock, record: RecordChange, outcome: StepOutcome): Promise<boolean>
  /** Takes back what `commit` shared, and releases the lock. */
  rollback(lock: StepLock): Promise<void>
  release(lock: StepLock): Promise<void>
}

export interface LockRequest {
  /** Names the transaction, the newest key first. */
  readonly names: readonly [string, ...string[]]
  readonly dedupKey: string
  /** The path, if the request is a poll. */
  readonly pollPath: string | undefined
}

export interface StepLock {
  readonly isOurs: boolean
  /** The token that holds the lock. */
  readonly holder: string | undefined
  readonly name: string
  readonly dedupKey: string
  readonly token: string
  /** Where the transaction is stored. */
  readonly recordKey: string
  /** As stored. */
  readonly raw: string | undefined
  /** undefined: none that can be read. */
  readonly transaction: Transaction | undefined
  /** Above 0: the lock was free, but the request is a poll that came too soon. */
  readonly dueInMs: number
}

export interface SharedOutcome {
  readonly outcome: StepOutcome
}

export interface StepLocksOptions {
  readonly store: Pick<Store, 'acquire' | 'commit' | 'get' | 'deleteIf'>
  readonly seal: Seal
  readonly transactions: Pick<TransactionStore, 'open'>
  /** Whether a session is stored: it may be written a moment after the outcome that speaks of it. */
  readonly isStored: (sessionId: string) => Promise<boolean>
  readonly lockTtlMs: number
  /** How long an outcome is shared. */
  readonly sharedMs: number
  readonly waitMs: number
  /** Between two polls of a factor that waits for the user. */
  readonly pollEveryMs: number
  readonly metrics: Metrics
  readonly now: () => number
  readonly monotonic?: () => number
}

/** Between two attempts to get the lock: short at first, then longer. */
const FIRST_PAUSE_MS = 25
const LAST_PAUSE_MS = 250

const Shared = z.object({ version: z.literal(2), token: z.string(), outcome: StoredOutcome })
type Shared = z.infer<typeof Shared>

export function createStepLocks(options: StepLocksOptions): StepLocks {
  const { store, seal, transactions, isStored, metrics, now, monotonic = () => performance.now() } = options
  const { lockTtlMs, sharedMs, waitMs, pollEveryMs } = options

  const acquireAt = async (name: string, { dedupKey }: LockRequest): Promise<StepLock> => {
    const [token, recordKey] = [`${dedupKey}.${uuid()}`, transactionKey(name)]
    try {
      const { holder, record: raw } = await store.acquire({
        lockKey: lockKey(name),
        recordKey,
        token,
        lockTtlMs,
      })
      const isOurs = holder === token
      const transaction = isOurs ? transactions.open(raw, recordKey) : undefined
      return { isOurs, holder, name, dedupKey, token, recordKey, raw, transaction, dueInMs: 0 }
    } catch (error) {
      // a store that stalled still executes the command when it resumes: this one is executed right after it
      store.deleteIf(lockKey(name), token).catch(() => {}) // if this fails too, the lock expires
      throw error
    }
  }

  const release: StepLocks['release'] = async ({ name, token }) => {
    await store.deleteIf(lockKey(name), token)
  }

  /** Where the transaction is; if it is nowhere, under the oldest name. */
  const acquire = async (request: LockRequest, nowMs = now()): Promise<StepLock> => {
    for (const name of request.names) {
      const lock = await acquireAt(name, request)
      const isLast = name === request.names.at(-1)
      const dueInMs = pollDueInMs(lock.transaction, request.pollPath, nowMs, pollEveryMs)
      if (!lock.isOurs || ((lock.raw !== undefined || isLast) && dueInMs <= 0)) return lock
      await release(lock)
      if (dueInMs > 0) return { ...lock, isOurs: false, dueInMs }
    }
    throw new Error('a step needs a name to be locked by')
  }

  const lastShared = async ({ name, dedupKey }: Pick<StepLock, 'name' | 'dedupKey'>) => {
    const key = sharedKey(name, dedupKey)
    const raw = await store.get(key)
    if (raw === undefined) return undefined
    const { data } = Shared.safeParse(parseStored(seal.open(raw, key)))
    return data && { ...data, key, raw }
  }

  /** The outcome of an identical step that is none of these. */
  const newOutcome = async (lock: StepLock, ended: ReadonlySet<string | undefined>) => {
    try {
      const shared = await lastShared(lock)
      return ended.has(shared?.token) ? undefined : shared?.outcome
    } catch (error) {
      if (lock.isOurs) await release(lock)
      throw error
    }
  }

  /** Nobody may be told of a session before it is stored. */
  const isComplete = async (outcome: StepOutcome) =>
    outcome.kind === 'refusal' || outcome.sessionId === undefined || isStored(outcome.sessionId)

  return {
    acquire: (request) => acquire(request),
    release,

    async waitForTurn(request, busy) {
      const [startMs, started] = [now(), monotonic()]
      const elapsedMs = () => monotonic() - started // the clock may jump
      const { names, dedupKey } = request
      const earlier = await Promise.all(names.map((name) => lastShared({ name, dedupKey })))
      const ended = new Set(earlier.map((shared) => shared?.token)) // before this request came
      ended.delete(busy.holder)
      let lock = busy
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LAST_PAUSE_MS)) {
        const waitsMs = lock.dueInMs > 0 ? lock.dueInMs : pauseMs * (1 + Math.random())
        if (elapsedMs() + lock.dueInMs > waitMs) throw stepInProgress()
        await pause(waitsMs)
        lock = await acquire(request, startMs + elapsedMs())
        const outcome = await newOutcome(lock, ended)
        if (outcome === undefined && lock.isOurs) return lock
        if (lock.isOurs) await release(lock)
        if (outcome !== undefined && (await isComplete(outcome))) {
          metrics.sharedAnswers.inc({ scope: 'replicas' })
          return { outcome }
        }
      }
    },

    commit({ name, dedupKey, token, recordKey, raw }, record, outcome) {
      const key = sharedKey(name, dedupKey)
      const shared: Shared = { version: 2, token, outcome }
      return store.commit({
        lockKey: lockKey(name),
        recordKey,
        token,
        expected: raw,
        record,
        shared: { key, value: seal.seal(JSON.stringify(shared), key), ttlMs: sharedMs },
      })
    },

    async rollback(lock) {
      const unshare = async () => {
        const shared = await lastShared(lock)
        if (shared?.token === lock.token) await store.deleteIf(shared.key, shared.raw)
      }
      await allWritten(unshare(), release(lock))
    },
  }
}

const lockKey = (name: string) => `gatehouse:lock:{${name}}`
const sharedKey = (name: string, dedupKey: string) => `${lockKey(name)}:${dedupKey}`
