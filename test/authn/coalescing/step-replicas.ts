import { afterEach } from '@jest/globals'
import { StepAudit } from '../../../src/authn/audit/step-audit.ts'
import type { Client } from '../../../src/authn/browser/client.ts'
import { coalesceRequests } from '../../../src/authn/coalescing/request-coalescing.ts'
import { StepLocks } from '../../../src/authn/coalescing/step-locks.ts'
import type { RunStep, Step } from '../../../src/authn/sign-in/run-step.ts'
import { createStepPipeline } from '../../../src/authn/sign-in/run-step.ts'
import type { Attempt } from '../../../src/authn/throttling/attempts.ts'
import type { Reservation } from '../../../src/authn/throttling/throttling.ts'
import { createAnswer, type StepAnswer, type StepResult } from '../../../src/authn/transaction/step-result.ts'
import { createTransaction, type Transaction } from '../../../src/authn/transaction/transaction.ts'
import { createTransactionStore, newHandle } from '../../../src/authn/transaction/transaction-store.ts'
import { createSeal, createSigner } from '../../../src/crypto/keys.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { createUserKeys } from '../../../src/revocation/user-keys.ts'
import { createMemoryStore, type MemoryEntry } from '../../../src/store/memory-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { CLIENT } from '../test-client.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

export const HANDLE = newHandle()
const TTL_MS = 600_000

/** Runs a planned step. */
export type Take = (before: Transaction) => Promise<StepResult>

/** Returns an answer. The transaction is unchanged, or as `change` returns it; undefined ends it. */
export function answers(
  body: string,
  change: (before: Transaction) => Transaction | undefined = (before) => before,
  rest: Partial<StepAnswer> = {},
): Take {
  return async (before) => ({ outcome: createAnswer(body, rest), after: change(before) })
}

/** The login distinguishes states of a transaction. */
export const withLogin = (login: string) => (before: Transaction) => ({ ...before, login })
export const ended = () => undefined

export interface ReplicasOptions {
  readonly lockTtlMs?: number
  readonly waitMs?: number
  readonly sharedMs?: number
  readonly pollEveryMs?: number
  readonly isStored?: (sessionId: string) => Promise<boolean>
  readonly now?: () => number
  readonly monotonic?: () => number
  /** Master keys, the newest first. */
  readonly masterKeys?: readonly [Buffer, ...Buffer[]]
  /** Throws if a limit is used up. */
  readonly enforce?: () => Promise<void>
  /** Operations of the store to replace. */
  readonly faults?: (memory: Store) => Partial<Store>
}

export interface StepRequest {
  readonly identity: string
  /** Default: `HANDLE`. undefined: the step begins a transaction. */
  readonly handle?: string | undefined
  readonly pollPath?: string
  readonly maxConcurrent?: number
  readonly attempt?: Attempt
}

export interface Replica {
  readonly run: (request: StepRequest, take: Take, client?: Client) => Promise<StepAnswer>
  readonly runStep: RunStep
  /** The locks that this replica requested, with the store's answers. */
  readonly acquires: readonly { readonly lockKey: string; readonly isOurs: boolean }[]
}

/** One store with a transaction, and as many replicas as a test needs. */
export async function replicas({
  lockTtlMs = 15_000,
  waitMs = 12_000,
  sharedMs = 5000,
  pollEveryMs = 0,
  isStored = async () => true,
  now = Date.now,
  monotonic = () => performance.now(),
  masterKeys = [Buffer.alloc(32, 1)],
  enforce = async () => {},
  faults = () => ({}),
}: ReplicasOptions = {}) {
  const entries = new Map<string, MemoryEntry>()
  const memory = createMemoryStore({ entries })
  const store: Store = { ...memory, ...faults(memory) }
  open.push(store)
  const keys = masterKeys
  const metrics = createMetrics({ processMetrics: false })
  const { log, lines } = collectLog()
  const counted: string[] = []

  const createTransactions = (itsStore: Store) =>
    createTransactionStore({
      store: itsStore,
      seal: createSeal(keys, 'transaction'),
      names: createSigner(keys, 'transaction-names'),
      openTransactions: createUserKeys({
        store: itsStore,
        nameSigner: createSigner(keys, 'user-names'),
        prefix: USER_INDEX,
        now,
      }),
      log,
      metrics,
      now,
    })

  const replica = (own: { readonly lockTtlMs?: number } = {}): Replica => {
    const acquires: { lockKey: string; isOurs: boolean }[] = []
    const watched: Store = {
      ...store,
      async acquire(request) {
        const acquired = await store.acquire(request)
        acquires.push({ lockKey: request.lockKey, isOurs: acquired.holder === request.token })
        return acquired
      },
    }
    const transactions = createTransactions(watched)
    const locks = new StepLocks({
      store: watched,
      seal: createSeal(keys, 'shared-answer'),
      transactions,
      isStored,
      lockTtlMs,
      sharedMs,
      waitMs,
      pollEveryMs,
      metrics,
      now,
      monotonic,
      ...own,
    })
    const pipeline = createStepPipeline({
      locks,
      throttling: { reserve: (attempt) => watchedReservation(attempt, counted, enforce) },
      store: watched,
      transactions,
      audit: new StepAudit({
        log,
        metrics,
        hashes: createSigner(keys, 'log-hashes'),
        canonicalLogin: (login: string) => login,
      }),
      log,
      metrics,
      now,
    })
    const dedupKeys = createSigner(keys, 'step-fingerprints')
    const runStep: RunStep = coalesceRequests(pipeline, { transactions, dedupKeys, metrics })
    const run: Replica['run'] = (request, take, client = CLIENT) => runStep(stepOf(request, take), client)
    return { run, runStep, acquires }
  }

  const transactions = createTransactions(memory)
  const start = (): Transaction => ({
    ...createTransaction(CLIENT.device.id, 'start', now()),
    stateToken: 'state-token',
    status: 'MFA_REQUIRED',
    expiresAtMs: now() + TTL_MS,
  })
  /** Stores a transaction, by default under the newest name. */
  const keep = async (transaction: Transaction, key = transactions.keyOf(transactions.names(HANDLE)[0])) => {
    const change = transactions.recordChange(start(), transaction, key)
    if (typeof change === 'object') await memory.set(key, change.write, change.ttlMs)
  }
  const [name] = transactions.names(HANDLE)
  const record = transactions.keyOf(name)
  await keep(start())
  const loginAt = async (key = record) => transactions.open(await memory.get(key), key)?.login

  return {
    store,
    memory,
    entries,
    metrics,
    lines,
    transactions,
    replica,
    start,
    keep,
    loginAt,
    /** Calls of reservations, in order. */
    counted,
    record,
    lock: lockKey(name),
    /** Keys of shared results. */
    shared: () => [...entries.keys()].filter((key) => /^gatehouse:lock:\{.*\}:/.test(key)),
    coalesced: async () =>
      (await metrics.coalescedRequests.get()).values.map(({ labels, value }) => ({ ...labels, value })),
  }
}

export const USER_INDEX = 'gatehouse:test:open-transactions:'
export const lockKey = (name: string) => `gatehouse:lock:{${name}}`

/** Requests for a lock that another step had. */
export const busy = ({ acquires }: Replica) => acquires.filter(({ isOurs }) => !isOurs)

/** Resolves when the step has waited once and requested the lock again. */
export const askedTwice = ({ acquires }: Replica) => acquires.length >= 2

function stepOf(request: StepRequest, take: Take): Step {
  const { identity, pollPath, maxConcurrent, attempt } = request
  return {
    handle: 'handle' in request ? request.handle : HANDLE,
    identity: [identity],
    pollPath,
    maxConcurrent,
    attempt,
    plan: (before) => ({ run: () => take(before) }),
  }
}

function watchedReservation(
  attempt: Attempt | undefined,
  counted: string[],
  enforce: () => Promise<void>,
): Reservation {
  const note = (what: string) => {
    if (attempt !== undefined) counted.push(what)
  }
  note('reserve')
  return {
    enforce(planned) {
      note(planned === undefined ? 'enforce' : `enforce ${planned.kind}`)
      return enforce()
    },
    refund: () => note('refund'),
    consumeOrRefund: () => note('consumeOrRefund'),
    consumeOrRefundOnError: () => note('consumeOrRefundOnError'),
  }
}

/** A step that runs until the test finishes it. */
export function gate() {
  let started = 0
  let finish: (take: Take) => void = () => {}
  const finished = new Promise<Take>((resolve) => {
    finish = resolve
  })
  return {
    started: () => started,
    finish,
    async take(before: Transaction) {
      started += 1
      const take = await finished
      return take(before)
    },
  }
}

/** The reason of a rejection; undefined if the promise was fulfilled. */
export const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )
