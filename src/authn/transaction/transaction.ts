import type { Answer, AnsweredUser } from './answer.ts'
import { type Enrolment, enrolmentAfter } from './enrolment.ts'
import { findStep, mergeSteps, type OfferedStep } from './offered-steps.ts'
import { acceptedProof, type Proof } from './proof.ts'

/**
 * A sign-in transaction as Gatehouse keeps it, and the rules of what may happen to it (DESIGN §4). Pure: no
 * package, no input or output, time as a parameter.
 */
export interface Transaction {
  readonly version: 1
  /** `begun` here; `imported` with a state token from outside; `redirect-only`: kept for the redirects of a finished one. */
  readonly origin: 'begun' | 'imported' | 'redirect-only'
  /** The upstream's state token; it never leaves the broker. */
  readonly stateToken: string
  /** State tokens that the upstream has replaced, newest first: they must not come out either. */
  readonly retiredTokens: readonly string[]
  readonly status: string
  /** Known once Okta has named the user. */
  readonly userId?: string | undefined
  /** Who this was begun for, as typed; for the log's hashes and the session only. */
  readonly login?: string | undefined
  /** Every step offered so far. */
  readonly offered: readonly OfferedStep[]
  /** Factor id → factor type, from every list the upstream has shown. */
  readonly factorTypes: Readonly<Record<string, string>>
  /** The factor that is being set up. */
  readonly enrolment?: Enrolment | undefined
  /** The factors that the user has, from the last list of those to set up; see `factorName`. */
  readonly activeFactors: readonly string[]
  /** The push factor whose phone is being waited for: to ask again is to poll, not to push again. */
  readonly awaitedFactor?: string | undefined
  /** By the path of a poll that Okta told to wait: when the next one may be sent. */
  readonly pollNotBeforeMs?: Readonly<Record<string, number>> | undefined
  /** The device it is bound to. */
  readonly device: string
  readonly createdAtMs: number
  readonly expiresAtMs: number
  /** A password, activation token or factor was accepted through this broker, by this device, here. */
  readonly credentialAccepted: boolean
  /**
   * The user's own password or factor was accepted here: an activation token, or a password that was chosen anew, shows
   * nothing of who sits in front of this browser.
   */
  readonly userProved: boolean
  /** Of a redirect-only transaction: the session that its redirects were issued for. */
  readonly sessionId?: string | undefined
  /** What was accepted, RFC 8176 names. */
  readonly amr: readonly string[]
  /** Set while a recovery code is asked for: then everybody gets the same answers (DESIGN §4, "Recovery, safely"). */
  readonly recovery?: RecoveryChallenge | undefined
}

export interface RecoveryChallenge {
  /** Nobody was sent a code: the name is unknown, may not recover, or has no phone. */
  readonly decoy: boolean
  readonly factorType: 'SMS' | 'CALL'
  readonly recoveryType: 'PASSWORD' | 'UNLOCK'
  readonly relayState?: string | undefined
  readonly sentAtMs: number
  readonly wrongCodes: number
}

/** The status of an imported transaction until Okta has named another one. */
export const IMPORTED = 'IMPORTED'

export function begin(device: string, login: string | undefined, nowMs: number): Transaction {
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

/** The transaction after an answer; the handle stays whatever the upstream does with its own token. */
export function advance(
  transaction: Transaction,
  answer: Answer,
  step: {
    offered: readonly OfferedStep[]
    proof: Proof | undefined
    /** Whom the step was about. */
    factorId?: string | undefined
    /** The factor that the step sets up. */
    enrolment?: Enrolment | undefined
    /** Of a poll: its path, and when the next one may be sent. */
    nextPoll?: { readonly path: string; readonly notBeforeMs: number } | undefined
    expiresAtMs: number
  },
): Transaction {
  const accepted = acceptedProof(step.proof, answer)
  return {
    ...transaction,
    stateToken: answer.stateToken ?? transaction.stateToken,
    retiredTokens: retire(transaction, answer.stateToken),
    status: answer.status,
    userId: answer.user?.id ?? transaction.userId,
    offered: mergeSteps(transaction.offered, step.offered),
    factorTypes: { ...transaction.factorTypes, ...answer.factorTypes },
    enrolment: enrolmentAfter(answer, step.enrolment, transaction.enrolment),
    activeFactors: answer.activeFactors.length > 0 ? answer.activeFactors : transaction.activeFactors,
    awaitedFactor: awaitedAfter(transaction, answer, step.factorId),
    pollNotBeforeMs: nextPollsAfter(transaction, answer, step.nextPoll),
    expiresAtMs: step.expiresAtMs,
    credentialAccepted: transaction.credentialAccepted || accepted !== undefined,
    userProved: transaction.userProved || accepted?.provesUser === true,
    recovery: undefined, // an answer of the upstream passes on: the code was right
    amr: accepted === undefined ? transaction.amr : [...new Set([...transaction.amr, accepted.amr])],
  }
}

/** Each path has its own time: polls of two paths in turn must not free each other. */
function nextPollsAfter(
  { pollNotBeforeMs }: Transaction,
  { factorResult }: Answer,
  nextPoll: Parameters<typeof advance>[2]['nextPoll'],
): Transaction['pollNotBeforeMs'] {
  if (factorResult !== 'WAITING' || nextPoll === undefined) return pollNotBeforeMs
  return { ...pollNotBeforeMs, [nextPoll.path]: nextPoll.notBeforeMs }
}

function awaitedAfter(
  { awaitedFactor }: Transaction,
  { status, factorResult }: Answer,
  factorId: string | undefined,
): string | undefined {
  if (status !== 'MFA_CHALLENGE') return undefined
  if (factorResult === 'WAITING') return factorId ?? awaitedFactor
  return factorId === undefined && factorResult === undefined ? awaitedFactor : undefined // only looked at
}

/**
 * The transaction after a step that the upstream refused. One about something else than the awaited push may have ended that
 * all the same: what would have been its next poll may be a push again.
 */
export function afterRefusal(
  transaction: Transaction,
  { operation, factorId }: { readonly operation: string; readonly factorId?: string | undefined },
): Transaction {
  const { awaitedFactor } = transaction
  if (awaitedFactor === undefined || awaitedFactor === factorId || operation === 'state') return transaction
  return { ...transaction, awaitedFactor: undefined }
}

/**
 * How long a poll of this path has to wait, in milliseconds; 0: it is due. A time that is further away than two polls are apart
 * was set by a replica with another clock, and holds back nobody.
 */
export function pollDueInMs(
  transaction: Transaction | undefined,
  pollPath: string | undefined,
  nowMs: number,
  pollEveryMs: number,
): number {
  if (pollPath === undefined) return 0
  const dueInMs = (transaction?.pollNotBeforeMs?.[pollPath] ?? 0) - nowMs
  return dueInMs > pollEveryMs ? 0 : Math.max(0, dueInMs)
}

const MAX_RETIRED = 5

function retire({ stateToken, retiredTokens }: Transaction, next: string | undefined): readonly string[] {
  if (next === undefined || next === stateToken || stateToken === '') return retiredTokens
  return [stateToken, ...retiredTokens].slice(0, MAX_RETIRED)
}

/**
 * A session opens only on SUCCESS with a user, and either a session token or type SESSION_STEP_UP, and only if a
 * credential was accepted through this broker, by this device, in this transaction. An imported token alone never
 * opens or replaces a session.
 */
export function opensSession(
  after: Pick<Transaction, 'credentialAccepted'>,
  answer: Answer,
): answer is Answer & { user: AnsweredUser } {
  return (
    answer.status === 'SUCCESS' &&
    answer.user !== undefined &&
    (answer.sessionToken !== undefined || answer.type === 'SESSION_STEP_UP') &&
    after.credentialAccepted
  )
}

/** The upstream changed its mind about who this is: never a session, always an alarm. */
export function personChanged(before: Transaction, answer: Answer): boolean {
  return before.userId !== undefined && answer.user !== undefined && before.userId !== answer.user.id
}

/** Statuses that end a transaction. After any other one it goes on, also after one that is not known here. */
const ENDS: ReadonlySet<string> = new Set(['SUCCESS', 'LOCKED_OUT', ''])

/** False: the record goes. A transaction without a state token can't go on either. */
export function goesOn(after: Transaction): boolean {
  return after.stateToken !== '' && !ENDS.has(after.status)
}

/** The redirect-only transaction that stays of a finished one: the redirects of its last answer. undefined: there are none. */
export function redirectsOnly(
  after: Transaction,
  lastOffered: readonly OfferedStep[],
  { expiresAtMs, sessionId }: { readonly expiresAtMs: number; readonly sessionId: string | undefined },
): Transaction | undefined {
  const offered = lastOffered.filter(({ href }) => href !== undefined)
  if (after.status !== 'SUCCESS' || offered.length === 0) return undefined
  return { ...after, origin: 'redirect-only', offered, factorTypes: {}, expiresAtMs, sessionId }
}

export function mayTake(transaction: Transaction, method: string, path: string): boolean {
  return findStep(transaction.offered, method, path) !== undefined
}
