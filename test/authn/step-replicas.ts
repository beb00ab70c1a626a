import { afterEach } from '@jest/globals'
import { StepAudit } from '../../src/authn/audit/step-audit.ts'
import type { Client } from '../../src/authn/browser/client.ts'
import { coalesceRequests } from '../../src/authn/coalescing/request-coalescing.ts'
import { StepLocks } from '../../src/authn/coalescing/step-locks.ts'
import { createEndOthers } from '../../src/authn/end-other-sessions.ts'
import type { StepSettings } from '../../src/authn/plan-step.ts'
import { createCodeCooldown } from '../../src/authn/recovery/code-cooldown.ts'
import { SsoTokens } from '../../src/authn/redirects/sso-tokens.ts'
import { type RunStepDeps, runStep } from '../../src/authn/run-step.ts'
import { createSanitizer } from '../../src/authn/sanitize/sanitize.ts'
import type {
  OperationRequest,
  SignInRequest,
  StateRequest,
  StepRequest,
} from '../../src/authn/step/step-request.ts'
import type { Attempt } from '../../src/authn/throttling/attempts.ts'
import type { Reservation } from '../../src/authn/throttling/throttling.ts'
import { createOfferedResources } from '../../src/authn/transaction/offered-resources.ts'
import type { StepAnswer } from '../../src/authn/transaction/step-outcome.ts'
import { createTransaction, type Transaction } from '../../src/authn/transaction/transaction.ts'
import { createTransactionStore, newHandle } from '../../src/authn/transaction/transaction-store.ts'
import type { AuthnCall } from '../../src/authn/upstream/authn-upstream.ts'
import type { AuthnReply } from '../../src/authn/upstream/read-answer.ts'
import { createSeal, createSigner } from '../../src/crypto/keys.ts'
import { createLoginNames } from '../../src/login-names.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { createVoidTimes } from '../../src/org-events/void-times.ts'
import { createRevocation } from '../../src/revocation/create-revocation.ts'
import { createBoundSessions } from '../../src/session/bound-sessions.ts'
import type { SessionOpening } from '../../src/session/open-session.ts'
import { createSessionRecords } from '../../src/session/session-records.ts'
import type { SessionsToKeep } from '../../src/session/user-sessions.ts'
import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { collectLog } from '../observability/collect-log.ts'
import { CLIENT } from './test-client.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

export const HANDLE = newHandle()
export const USER_ID = '00u1ada'
export const LOGIN = 'ada@example.com'
const ORG = 'https://acme.okta.example'
const TTL_MS = 600_000

/** The transaction's state. */
export const STATE: StateRequest = { kind: 'state', handle: HANDLE, fields: {} }

/** A code to a factor. Without a code, it is a poll. */
export const verify = (passCode?: string, id = 'otp1') =>
  operation('verifyFactor', { params: { id }, fields: passCode === undefined ? {} : { passCode } })

export const CANCEL = operation('cancel')

export const SIGN_IN: SignInRequest = {
  kind: 'sign-in',
  body: { username: LOGIN, password: 'a-test-password' },
}

export function operation(
  name: OperationRequest['operation'],
  rest: Partial<OperationRequest> = {},
): OperationRequest {
  const empty = { params: {}, query: {}, search: '', fields: {} }
  return { kind: 'operation', handle: HANDLE, operation: name, ...empty, ...rest }
}

/** What Okta answers to a call. */
export type Okta = (call: AuthnCall) => AuthnReply | Promise<AuthnReply>

/** A success. `name` distinguishes answers. */
export function answer(name: string, rest: Readonly<Record<string, unknown>> = {}): AuthnReply {
  const body = { stateToken: 'of-okta', status: 'MFA_REQUIRED', name, ...rest }
  return { status: 200, body, isError: false, errorCode: undefined, date: undefined, headers: {} }
}

/** Always this answer. */
export const answers =
  (name: string, rest?: Readonly<Record<string, unknown>>): Okta =>
  () =>
    answer(name, rest)

export const EMBEDDED_USER = { _embedded: { user: { id: USER_ID, profile: { login: LOGIN } } } }

/** The sign-in is over, and opens a session. */
export const SUCCESS = answer('success', {
  stateToken: undefined,
  status: 'SUCCESS',
  sessionToken: 'a-test-session-token',
  ...EMBEDDED_USER,
})
export const succeeds: Okta = () => SUCCESS

/** An Error object. */
export function rejection(status: number, errorCode: string): AuthnReply {
  const body = { errorCode, errorSummary: 'refused', errorId: 'oae1', errorCauses: [] }
  return { status, body, isError: true, errorCode, date: undefined, headers: {} }
}

/** Okta no longer knows the transaction, which is over. */
export const ends: Okta = () => rejection(401, 'E0000011')

/** The name of an answer. */
export const nameOf = ({ body }: Pick<StepAnswer, 'body'>): unknown => JSON.parse(body).name

export interface ReplicasOptions {
  readonly lockTtlMs?: number
  readonly waitMs?: number
  readonly sharedMs?: number
  readonly now?: () => number
  readonly monotonic?: () => number
  /** Master keys, the newest first. */
  readonly masterKeys?: readonly [Buffer, ...Buffer[]]
  /** Throws if a limit is used up. */
  readonly enforce?: () => Promise<void>
  /** Operations of the store to replace. */
  readonly faults?: (memory: Store) => Partial<Store>
  /** Writes of a session to replace. */
  readonly opening?: (real: SessionOpening) => Partial<SessionOpening>
  readonly settings?: Partial<StepSettings>
}

export interface Replica {
  readonly run: (request: StepRequest, okta?: Okta, client?: Client) => Promise<StepAnswer>
  /** The locks that this replica requested, with the store's answers. */
  readonly acquires: readonly { readonly lockKey: string; readonly isOurs: boolean }[]
}

/** One store with a transaction, and as many replicas as a test needs. */
export async function replicas({
  lockTtlMs = 15_000,
  waitMs = 12_000,
  sharedMs = 5000,
  now = Date.now,
  monotonic = () => performance.now(),
  masterKeys = [Buffer.alloc(32, 1)],
  enforce = async () => {},
  faults = () => ({}),
  opening = () => ({}),
  settings = {},
}: ReplicasOptions = {}) {
  const entries = new Map<string, MemoryEntry>()
  const memory = createMemoryStore({ entries })
  const store: Store = { ...memory, ...faults(memory) }
  open.push(store)
  const metrics = createMetrics()
  const { log, lines } = collectLog()
  const counted: string[] = []
  const remembered: string[] = []
  let deadlines = 0
  const sent: { readonly call: AuthnCall; readonly deadline: number }[] = []
  const seal = (label: string) => createSeal(masterKeys, label)
  const signer = (label: string) => createSigner(masterKeys, label)
  const logins = createLoginNames([])
  const audit = new StepAudit({
    log,
    metrics,
    hashes: signer('log-hashes'),
    canonicalLogin: logins.canonical,
  })

  function createParts(itsStore: Store) {
    const common = { store: itsStore, masterKeys, log, metrics, now }
    const sessions = createSessionRecords({
      ...common,
      deviceCookie: { idIn: () => undefined },
      idleMs: 1_800_000,
      absoluteMs: 43_200_000,
      maxPerUser: 4,
      boundSessions: createBoundSessions({ ...common, secure: false, allowedOrigins: [], isOffered: false }),
      voidTimes: createVoidTimes({ store: itsStore, masterKeys, ttlMs: 43_200_000, isUsed: false }),
    })
    const revocation = createRevocation({ ...common, sessions, refetchAccess: async () => {} })
    const transactions = createTransactionStore({
      ...common,
      seal: seal('transaction'),
      nameSigner: signer('transaction-names'),
      openTransactions: revocation.openTransactions,
    })
    return { sessions, revocation, transactions }
  }

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
    const { sessions, revocation, transactions } = createParts(watched)
    const offeredResources = createOfferedResources({
      store: watched,
      log,
      metrics,
      seal: seal('offer'),
      nameSigner: signer('offer-names'),
      transactions,
    })
    const deps: Omit<RunStepDeps, 'upstream'> = {
      settings: {
        recoveryFrom: 'on',
        publicOrigin: 'https://portal.example',
        recoveryAnswerMs: 0,
        challengeLifetimeMs: TTL_MS,
        resendAfterMs: 30_000,
        sessionLimits: sessions.limits,
        maxWrongCodes: 5,
        hiddenFactors: new Set(),
        pollEveryMs: POLL_EVERY_MS,
        ...settings,
      },
      locks: new StepLocks({
        store: watched,
        seal: seal('shared-answer'),
        transactions,
        isStored: sessions.exists,
        lockTtlMs,
        sharedMs,
        waitMs,
        pollEveryMs: settings.pollEveryMs ?? POLL_EVERY_MS,
        metrics,
        now,
        monotonic,
        ...own,
      }),
      throttling: {
        reserve: (attempt) => watchedReservation(attempt, counted, enforce),
        async rememberDevice({ userId }) {
          remembered.push(userId)
        },
      },
      transactions,
      sessions,
      opening: { ...sessions.opening, ...opening(sessions.opening) },
      ssoTokens: new SsoTokens({
        store: watched,
        sessions,
        audit,
        log,
        metrics,
        allowed: [{ origin: 'https://app.example', pathPrefix: '/' }],
        upstreamOrigin: ORG,
        publicOrigin: 'https://portal.example',
        signsOut: false,
        returnSigner: signer('sign-out-return'),
        seal: seal('hand-over'),
        nameSigner: signer('hand-over-names'),
      }),
      sanitizer: createSanitizer({
        publicOrigin: 'https://portal.example',
        log,
        metrics,
        resources: offeredResources,
        upstreamOrigins: [ORG],
        ownSecrets: ['a-test-api-token'],
        hiddenFactors: new Set(),
      }),
      offeredResources,
      knownDevices: revocation.knownDevices,
      revocationTimes: revocation.revocationTimes,
      endOthers: createEndOthers({
        endAllSessions: revocation.endAllSessions,
        sessions,
        audit,
        log,
        now,
        keysOf: (handle) => transactions.namesOf(handle).map(transactions.keyOf),
        retryMs: 1,
      }),
      cooldown: createCodeCooldown({
        store: watched,
        nameSigner: signer('limit-names'),
        canonicalLogin: logins.canonical,
        audit,
        resendAfterMs: 30_000,
      }),
      logins,
      store: watched,
      audit,
      log,
      now,
    }
    /** Each request brings Okta's answer to it. */
    const answering = new WeakMap<StepRequest, Okta>()
    const runOne = coalesceRequests(
      (request, lock, client) =>
        runStep(request, lock, client, {
          ...deps,
          upstream: {
            deadline: () => ++deadlines,
            async send(call, _client, deadline) {
              sent.push({ call, deadline })
              return (answering.get(request) ?? answers('default'))(call)
            },
          },
        }),
      { transactions, dedupSigner: signer('step-fingerprints'), metrics },
    )
    return {
      acquires,
      run(given, okta, client = CLIENT) {
        const request = { ...given }
        if (okta !== undefined) answering.set(request, okta)
        return runOne(request, client)
      },
    }
  }

  const { transactions, sessions, revocation } = createParts(memory)
  const start = (): Transaction => ({
    ...createTransaction(CLIENT.device.id, LOGIN, now()),
    stateToken: 'of-okta',
    status: 'MFA_REQUIRED',
    offered: ['otp1', 'otp2', 'push1', 'push2'].map((id) => ({
      path: verifyPath(id),
      query: '',
      methods: ['POST'],
    })),
    factorTypes: {
      otp1: 'token:software:totp',
      otp2: 'token:software:totp',
      push1: 'push',
      push2: 'push',
    },
    credentialAccepted: true,
    userProved: true,
    amr: ['pwd'],
    expiresAtMs: now() + TTL_MS,
  })
  const [name] = transactions.namesOf(HANDLE)
  const record = transactions.keyOf(name)
  /** Stores a transaction, by default under the newest name. */
  const keep = async (transaction: Transaction, key = record) => {
    const change = transactions.recordChange(start(), transaction, key)
    if (typeof change === 'object') await memory.set(key, change.write, change.ttlMs)
    await transactions.addToUserIndex(transaction, key)
  }
  await keep(start())

  return {
    store,
    memory,
    entries,
    metrics,
    lines,
    transactions,
    sessions,
    revocation,
    /** Ends all sessions of the user. */
    endAll: (keep?: SessionsToKeep) => revocation.endAllSessions(USER_ID, 'by_admin', () => {}, keep),
    replica,
    start,
    keep,
    /** The transaction as it is stored. */
    stored: async (key = record) => transactions.open(await memory.get(key), key),
    /** Calls of reservations, in order. */
    counted,
    /** Users whose device became known. */
    remembered,
    /** Calls to Okta. */
    sent,
    record,
    lock: lockKey(name),
    /** The keys of the store that begin with this. */
    keys: (prefix = '') =>
      [...entries.keys()].filter((key) => key.startsWith(`gatehouse:${prefix}`)).toSorted(),
    /** Keys of shared results. */
    shared: () => [...entries.keys()].filter((key) => /^gatehouse:lock:\{.*\}:/.test(key)),
    coalesced: async () =>
      (await metrics.coalescedRequests.get()).values.map(({ labels, value }) => ({ ...labels, value })),
  }
}

export type Harness = Awaited<ReturnType<typeof replicas>>

export const POLL_EVERY_MS = 50
export const verifyPath = (id: string) => `/api/v1/authn/factors/${id}/verify`
export const lockKey = (name: string) => `gatehouse:lock:{${name}}`

/** Requests for a lock that another step had. */
export const busy = ({ acquires }: Replica) => acquires.filter(({ isOurs }) => !isOurs)

/** Resolves when the step has waited once and requested the lock again. */
export const askedTwice = ({ acquires }: Replica) => acquires.length >= 2

function watchedReservation(
  attempt: Attempt | undefined,
  counted: string[],
  enforce: () => Promise<void>,
): Reservation {
  const note = (what: string) => {
    if (attempt !== undefined) counted.push(what)
  }
  note(`reserve ${attempt?.kind}`)
  return {
    enforce(planned) {
      note(`enforce ${planned?.kind}`)
      return enforce()
    },
    refund: () => note('refund'),
    consumeOrRefund: () => note('consumeOrRefund'),
    consumeOrRefundOnError: () => note('consumeOrRefundOnError'),
  }
}

/** Okta answers when the test says so. */
export function gate() {
  let started = 0
  let finish: (okta: Okta) => void = () => {}
  const finished = new Promise<Okta>((resolve) => {
    finish = resolve
  })
  return {
    /** How many calls were sent. */
    started: () => started,
    finish,
    async okta(call: AuthnCall) {
      started += 1
      const okta = await finished
      return okta(call)
    },
  }
}

/** The reason of a rejection; undefined if the promise was fulfilled. */
export const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )
