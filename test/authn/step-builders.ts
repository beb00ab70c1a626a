import type { Plan, StepSettings } from '../../src/authn/plan-step.ts'
import type { Facts } from '../../src/authn/step/decision.ts'
import { assessAnswer } from '../../src/authn/transaction/assess-answer.ts'
import type { OfferedStep, RecoveryChallenge, Transaction } from '../../src/authn/transaction/transaction.ts'
import { type AuthnReply, readAnswer } from '../../src/authn/upstream/read-answer.ts'
import type { IdentifiedSession } from '../../src/session/session.ts'

/*
 * Values for the tests of the pure rules of a step. Each builder has defaults; a test names only
 * what its case is about.
 */

export const NOW = Date.parse('2026-11-05T06:00:00Z')

export const SETTINGS: StepSettings = {
  hiddenFactors: new Set(),
  pollEveryMs: 1500,
  recoveryFrom: 'on',
  publicOrigin: 'https://portal.example.com',
  recoveryAnswerMs: 2000,
  challengeLifetimeMs: 300_000,
  resendAfterMs: 31_000,
  maxWrongCodes: 4,
  sessionLimits: { idleMs: 1_800_000, absoluteMs: 43_200_000 },
}

/** A transaction that has begun here a minute ago, and whose user Okta has not named. */
export function transactionWith(more: Partial<Transaction> = {}): Transaction {
  return {
    version: 1,
    origin: 'begun',
    stateToken: '00state',
    retiredTokens: [],
    status: 'MFA_REQUIRED',
    login: undefined,
    offered: [],
    factorTypes: {},
    activeFactors: [],
    device: 'device',
    createdAtMs: NOW - 60_000,
    expiresAtMs: NOW + 240_000,
    credentialAccepted: false,
    userProved: false,
    amr: [],
    ...more,
  }
}

/** The transaction of a request that begins one. */
export const begun = (more: Partial<Transaction> = {}) =>
  transactionWith({ stateToken: '', status: '', createdAtMs: NOW, expiresAtMs: NOW, ...more })

/** After a right password. */
export const afterPassword = (more: Partial<Transaction> = {}) =>
  transactionWith({
    userId: '00u1',
    login: 'ada',
    credentialAccepted: true,
    userProved: true,
    amr: ['pwd'],
    ...more,
  })

/** Begun elsewhere; another person may hold its state token. */
export const imported = (more: Partial<Transaction> = {}) => transactionWith({ origin: 'imported', ...more })

export const CHALLENGE: RecoveryChallenge = {
  decoy: false,
  factorType: 'SMS',
  recoveryType: 'PASSWORD',
  sentAtMs: NOW - 60_000,
  wrongCodes: 0,
}

/** A recovery that awaits its code. */
export const challenged = (challenge: Partial<RecoveryChallenge> = {}, more: Partial<Transaction> = {}) => {
  const recovery = { ...CHALLENGE, ...challenge }
  const factor = `/api/v1/authn/recovery/factors/${recovery.factorType}`
  return transactionWith({
    status: 'RECOVERY_CHALLENGE',
    login: 'ada',
    isRecovery: true,
    offered: offers(`${factor}/verify`, `${factor}/resend`, '/api/v1/authn/cancel'),
    recovery,
    ...more,
  })
}

/** Links to POST, each with its query if it has one. */
export const offers = (...links: readonly string[]): OfferedStep[] =>
  links.map((link) => {
    const { pathname: path, search: query } = new URL(link, 'https://org.example.com')
    return { path, query, methods: ['POST'] }
  })

/** A link to GET by redirect. */
export const redirectTo = (path: string, query = '?stateToken=00state'): OfferedStep => ({
  path,
  query,
  methods: ['GET'],
  href: `https://org.example.com${path}${query}`,
})

/** Okta’s answer with a status of a transaction. */
export function answered(
  status: string,
  more: Readonly<Record<string, unknown>> = {},
  rest: Partial<AuthnReply> = {},
): AuthnReply {
  const body = { status, stateToken: '00state', ...more }
  return { status: 200, body, isError: false, errorCode: undefined, date: undefined, headers: {}, ...rest }
}

export const ADA = { id: '00u1', profile: { login: 'ada@example.com', firstName: 'Ada' } }

/** SUCCESS for Ada, with Okta’s session token. */
export const succeeded = (more: Readonly<Record<string, unknown>> = {}) =>
  answered('SUCCESS', {
    stateToken: undefined,
    sessionToken: '20111-okta-session-token',
    _embedded: { user: ADA },
    ...more,
  })

/** An Error object of Okta. */
export function refusedWith(
  errorCode: string,
  status = 403,
  more: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): AuthnReply {
  const body = { errorCode, errorSummary: 'Refused', errorId: 'oae-1', errorCauses: [], ...more }
  return { status, body, isError: true, errorCode, date: undefined, headers }
}

/** What the pipeline reads besides the answer: no session, and nothing offered. */
export const factsWith = (more: Partial<Facts> = {}): Facts => ({
  handle: '00handle',
  shown: { text: '{"shown":true}', offered: [] },
  ...more,
})

/** As `readFacts` assesses an answer. `isOfUser`: it is the user's whose login was sent. */
export const assessed = (
  plan: Plan,
  before: Transaction,
  reply: AuthnReply | undefined,
  isOfUser = true,
): Pick<Facts, 'assessment'> => {
  if (reply === undefined || reply.isError) return {}
  const proof = plan.kind === 'sign-in' ? plan.proof : undefined
  return { assessment: assessAnswer(proof, before, readAnswer(reply.body), isOfUser) }
}

/** What `JSON.stringify` shows of a value. It is all of it only if the value is plain data. */
export const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** The refusal that a rule throws. */
export function refusalOf(rule: () => unknown): unknown {
  try {
    rule()
  } catch (error) {
    return error
  }
  throw new Error('nothing was refused')
}

/** The session of this browser. */
export const sessionOf = (userId: string): IdentifiedSession => ({
  id: `session-of-${userId}`,
  session: {
    publicId: `public-of-${userId}`,
    userId,
    login: `${userId}@example.com`,
    profile: {},
    amr: ['pwd'],
    deviceId: 'device',
    loginHash: 'hash',
    deviceHash: 'hash',
    userAgent: 'test',
    createdAtMs: NOW - 1,
    authenticatedAtMs: NOW - 1,
    lastSeenAtMs: NOW - 1,
  },
})
