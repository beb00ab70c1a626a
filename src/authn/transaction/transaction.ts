import { z } from 'zod'
import type { Answer } from './answer.ts'
import { Enrollment, nextEnrollment, type Proof } from './credentials.ts'

/** A step that Okta offered in a transaction. */
const OfferedStep = z.object({
  /** Okta's path, normalized (`normalizePath`). */
  path: z.string(),
  /** Okta's query with its `?`, or empty. */
  query: z.string(),
  /** From `hints.allow`; empty if the link has no hints, which allows every method. */
  methods: z.array(z.string()).readonly(),
  /** The whole link if it is a redirect for the browser; undefined for a call. */
  href: z.string().optional(),
})
export type OfferedStep = Readonly<z.infer<typeof OfferedStep>>

const RecoveryChallenge = z.object({
  /** No code was sent: the user is unknown, may not recover, or has no phone. */
  decoy: z.boolean(),
  factorType: z.enum(['SMS', 'CALL']),
  recoveryType: z.enum(['PASSWORD', 'UNLOCK']),
  sentAtMs: z.number(),
  wrongCodes: z.number(),
})
export type RecoveryChallenge = Readonly<z.infer<typeof RecoveryChallenge>>
export type RecoveryType = RecoveryChallenge['recoveryType']

/**
 * A sign-in transaction as it is stored, and below its rules. Pure: no I/O, time as a parameter.
 */
export const Transaction = z.object({
  version: z.literal(1),
  /**
   * `begun` in this broker; `imported` with a state token from outside; `redirect-only` after
   * SUCCESS with a redirect.
   */
  origin: z.enum(['begun', 'imported', 'redirect-only']),
  /** Okta's state token; it never leaves the broker. */
  stateToken: z.string(),
  /** State tokens that Okta has replaced, newest first. They must not leave the broker either. */
  retiredTokens: z.array(z.string()).readonly(),
  status: z.string(),
  /** Known once Okta has named the user. */
  userId: z.string().optional(),
  /** As typed. Used only for the session and for hashes in the log. */
  login: z.string().optional(),
  /** Every step offered so far. */
  offered: z.array(OfferedStep).readonly(),
  /** Factor id → factor type, from every list that Okta has sent. */
  factorTypes: z.record(z.string(), z.string()),
  /** The factor that is being set up. */
  enrollment: Enrollment.optional(),
  /** The user's active factors (`factorName`), from the last list of factors to enroll. */
  activeFactors: z.array(z.string()).readonly(),
  /** The push factor that waits for approval: another request to it is a poll, not a new push. */
  awaitedFactor: z.string().optional(),
  /**
   * Okta's last answer had the factor result FAILED: another identity provider refused the user.
   */
  factorFailed: z.boolean().optional(),
  /** The earliest time of the next poll, by the path of the poll. */
  pollNotBeforeMs: z.record(z.string(), z.number()).optional(),
  /** The id of the device that the transaction is bound to. */
  device: z.string(),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  /**
   * Okta has accepted a password, activation token or factor that this device sent through this
   * broker.
   */
  credentialAccepted: z.boolean(),
  /**
   * Okta has accepted the user's own password or factor, not only an activation token or a new
   * password.
   */
  userProved: z.boolean(),
  /** Of a redirect-only transaction: the session that its redirects were issued for. */
  sessionId: z.string().optional(),
  /** The accepted authentication methods (RFC 8176). */
  amr: z.array(z.string()).readonly(),
  /** A recovery began the transaction. */
  isRecovery: z.boolean().optional(),
  /**
   * Of a recovery. It is returned with every answer, and not sent to Okta, which refuses it unless
   * it leads to a trusted origin (R10).
   */
  relayState: z.string().optional(),
  /** Set while a recovery code is awaited: known and unknown users get the same answers. */
  recovery: RecoveryChallenge.optional(),
})
export type Transaction = Readonly<z.infer<typeof Transaction>>

export function createTransaction(device: string, login: string | undefined, nowMs: number): Transaction {
  return {
    version: 1,
    origin: 'begun',
    stateToken: '',
    retiredTokens: [],
    status: '',
    login,
    offered: [],
    factorTypes: {},
    activeFactors: [],
    device,
    createdAtMs: nowMs,
    expiresAtMs: nowMs,
    credentialAccepted: false,
    userProved: false,
    amr: [],
  }
}

/** The transaction after a successful answer. */
export function advance(
  transaction: Transaction,
  answer: Answer,
  step: {
    offered: readonly OfferedStep[]
    /** The proof that Okta has accepted. */
    accepted: Proof | undefined
    /** The factor in the step's path. */
    factorId?: string | undefined
    /** The factor that the step sets up. */
    enrollment?: Enrollment | undefined
    /** If the step is a poll: its path, and the earliest time of the next one. */
    nextPoll?: { readonly path: string; readonly notBeforeMs: number } | undefined
    expiresAtMs: number
  },
): Transaction {
  const { accepted } = step
  return {
    ...transaction,
    stateToken: answer.stateToken ?? transaction.stateToken,
    retiredTokens: nextRetiredTokens(transaction, answer.stateToken),
    status: answer.status,
    userId: answer.user?.id ?? transaction.userId,
    offered: mergeSteps(transaction.offered, step.offered),
    factorTypes: { ...transaction.factorTypes, ...answer.factorTypes },
    enrollment: nextEnrollment(answer, step.enrollment, transaction.enrollment),
    activeFactors: answer.activeFactors.length > 0 ? answer.activeFactors : transaction.activeFactors,
    awaitedFactor: nextAwaitedFactor(transaction, answer, step.factorId),
    factorFailed: answer.factorResult === 'FAILED' ? true : undefined,
    pollNotBeforeMs: nextPollTimes(transaction, answer, step.nextPoll),
    expiresAtMs: step.expiresAtMs,
    credentialAccepted: transaction.credentialAccepted || accepted !== undefined,
    userProved: transaction.userProved || accepted?.provesUser === true,
    // Okta answers a recovery transaction with a success only if the code was right
    recovery: undefined,
    amr: accepted === undefined ? transaction.amr : [...new Set([...transaction.amr, accepted.amr])],
  }
}

/** Adds steps to those offered before. Each path and query has one entry, with all its methods. */
export function mergeSteps(before: readonly OfferedStep[], added: readonly OfferedStep[]): OfferedStep[] {
  const merged = new Map<string, OfferedStep>()
  for (const step of [...before, ...added]) {
    const key = step.path + step.query
    const { methods } = merged.get(key) ?? step
    merged.delete(key) // so that the newest entry is the last one
    merged.set(key, { ...step, methods: mergeMethods(methods, step.methods) })
  }
  return [...merged.values()]
}

export function findStep(
  offered: readonly OfferedStep[],
  method: string,
  path: string,
): OfferedStep | undefined {
  return offered.findLast(
    (step) => step.path === path && (step.methods.length === 0 || step.methods.includes(method)),
  )
}

function mergeMethods(a: readonly string[], b: readonly string[]): string[] {
  return a.length === 0 || b.length === 0 ? [] : [...new Set([...a, ...b])]
}

const MAX_RETIRED_TOKENS = 5

function nextRetiredTokens({ stateToken, retiredTokens }: Transaction, next: string | undefined) {
  if (next === undefined || next === stateToken || stateToken === '') return retiredTokens
  return [stateToken, ...retiredTokens].slice(0, MAX_RETIRED_TOKENS)
}

function nextAwaitedFactor(
  { awaitedFactor }: Transaction,
  { status, factorResult }: Answer,
  factorId: string | undefined,
): string | undefined {
  if (status !== 'MFA_CHALLENGE') return undefined
  if (factorResult === 'WAITING') return factorId ?? awaitedFactor
  const isStateRequest = factorId === undefined && factorResult === undefined
  return isStateRequest ? awaitedFactor : undefined
}

/** Each path has its own time, so that polls of two paths in turn are not sent sooner. */
function nextPollTimes(
  { pollNotBeforeMs }: Transaction,
  { factorResult }: Answer,
  nextPoll: Parameters<typeof advance>[2]['nextPoll'],
): Transaction['pollNotBeforeMs'] {
  if (factorResult !== 'WAITING' || nextPoll === undefined) return pollNotBeforeMs
  return { ...pollNotBeforeMs, [nextPoll.path]: nextPoll.notBeforeMs }
}

/**
 * The transaction after a rejected step. A step about another factor may have ended the push: a
 * poll may push again.
 */
export function afterRejectedStep(
  transaction: Transaction,
  { operation, factorId }: { readonly operation: string; readonly factorId?: string | undefined },
): Transaction {
  const { awaitedFactor } = transaction
  if (awaitedFactor === undefined || awaitedFactor === factorId || operation === 'state') return transaction
  return { ...transaction, awaitedFactor: undefined }
}

/** The answer names a different user than earlier answers of this transaction. */
export function isDifferentUser(before: Transaction, answer: Answer): boolean {
  return before.userId !== undefined && answer.user !== undefined && before.userId !== answer.user.id
}

/** Any other status continues the transaction, unknown ones included. */
const FINAL_STATUSES: ReadonlySet<string> = new Set(['SUCCESS', 'LOCKED_OUT', ''])

export function isOngoing(after: Transaction): boolean {
  return after.stateToken !== '' && !FINAL_STATUSES.has(after.status)
}

/**
 * The redirect-only transaction that a finished one leaves; undefined if its last answer had no
 * redirects.
 */
export function toRedirectOnly(
  after: Transaction,
  lastOffered: readonly OfferedStep[],
  { expiresAtMs, sessionId }: { readonly expiresAtMs: number; readonly sessionId: string | undefined },
): Transaction | undefined {
  const offered = lastOffered.filter(({ href }) => href !== undefined)
  if (after.status !== 'SUCCESS' || offered.length === 0) return undefined
  return { ...after, origin: 'redirect-only', offered, factorTypes: {}, expiresAtMs, sessionId }
}

/** Bounds of a transaction's time to live after an answer, and from its start to its end. */
export const LIFETIME = { minMs: 60_000, maxMs: 60 * 60_000, defaultMs: 5 * 60_000, totalMs: 3 * 60 * 60_000 }

/**
 * The time to live: `expiresAt` minus the answer's `Date`, so that the broker's clock does not
 * matter, within the LIFETIME. The default if `expiresAt` is missing, unreadable or past. A
 * transaction ends `totalMs` after its start, an imported one `maxMs` after its import, because the
 * indexes of transactions keep an entry no longer.
 */
export function lifetimeMs(
  { origin, createdAtMs }: Pick<Transaction, 'origin' | 'createdAtMs'>,
  { expiresAt, date }: { readonly expiresAt: string | undefined; readonly date: string | undefined },
  nowMs: number,
): number {
  const sent = Date.parse(date ?? '')
  const left = Date.parse(expiresAt ?? '') - (Number.isNaN(sent) ? nowMs : sent)
  const isUsable = left > 0 // false for NaN
  const ms = isUsable ? Math.min(Math.max(left, LIFETIME.minMs), LIFETIME.maxMs) : LIFETIME.defaultMs
  const totalMs = origin === 'imported' ? LIFETIME.maxMs : LIFETIME.totalMs
  return Math.min(ms, createdAtMs + totalMs - nowMs)
}
