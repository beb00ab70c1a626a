import { stepNotOffered, unknownHandle } from '../errors.ts'
import type { SessionTimeLimits } from '../session/session-times.ts'
import { attemptOf } from './attempt-of.ts'
import { recoveryStarted, refused, signInStarted } from './audit/step-events.ts'
import { carriesApiToken, ENTRY_OPERATIONS, type Operation } from './operations.ts'
import {
  type ChallengeSettings,
  planChallengeStep,
  planRecovery,
  type RecoveryPlan,
} from './recovery/plan-recovery.ts'
import type { RedirectPlan } from './redirects/redirect-step.ts'
import { type HiddenFactors, isHiddenStep } from './sanitize/hidden-factors.ts'
import type { QueryFlags } from './schemas.ts'
import type { SignInPlan } from './step/plan.ts'
import { StepRefusedError } from './step/step-refused.ts'
import {
  isInTransaction,
  type OperationRequest,
  operationOf,
  pathOf,
  pollPathOf,
  type RecoveryTokenRequest,
  type SignInRequest,
  type StateFields,
  type StateRequest,
  type StepRequest,
} from './step/step-request.ts'
import { type Attempt, type AttemptedStep, classifyAttempt } from './throttling/attempts.ts'
import {
  ACTIVATION_PROOF,
  awaitsCredential,
  EXTERNAL_FACTOR_PROOF,
  enrollmentOfStep,
  getProof,
  isUnverifiedImport,
  PASSWORD_PROOF,
} from './transaction/credentials.ts'
import { findStep, type OfferedStep, type Transaction } from './transaction/transaction.ts'

/** What a step sends, what it counts as, and what it proves if Okta accepts it. Plain data. */
export type Plan = SignInPlan | RecoveryPlan | RedirectPlan

export interface StepSettings extends ChallengeSettings {
  readonly hiddenFactors: HiddenFactors
  /** The shortest time between two polls. */
  readonly pollEveryMs: number
  readonly sessionLimits: SessionTimeLimits
}

/**
 * Decides what a step sends, before anything is sent. Pure.
 *
 * @param before the transaction; an empty one if the step begins it
 * @throws StepRefusedError with 401 E0000011, 403 or 429
 */
export function planStep(
  request: StepRequest,
  before: Transaction,
  nowMs: number,
  settings: StepSettings,
): Plan {
  if (!isInTransaction(request)) return planEntry(request, settings)
  if (request.kind === 'redirect') {
    const { path } = request
    const rest = { attempt: undefined, call: undefined, minDurationMs: 0, events: [] }
    return { kind: 'redirect', operation: 'redirect', path, ...rest }
  }
  // only the redirects of such a transaction can be used
  if (before.origin === 'redirect-only')
    throw new StepRefusedError(unknownHandle(), [refused('unknown_handle')])
  if (request.kind === 'operation') assertAllowed(request, before, settings)
  if (before.recovery !== undefined)
    return planChallengeStep(challengeStepOf(request, before), before, before.recovery, nowMs, settings)
  return isUnverifiedImport(before) ? planImported(request, before) : planCredential(request, before)
}

function planEntry(request: Exclude<StepRequest, { readonly handle: string }>, settings: StepSettings): Plan {
  const attempt = attemptOf(request, settings) // all that counts; reserved in join-step.ts already
  switch (request.kind) {
    case 'sign-in':
      return planSignIn(request, attempt)
    case 'recovery':
      return planRecovery(request, attempt, settings)
    case 'recovery-token':
      return planRecoveryToken(request, attempt)
  }
}

/** Primary authentication with credentials or an activation token. */
function planSignIn({ body }: SignInRequest, attempt: Attempt | undefined): SignInPlan {
  const { username, token } = body
  const { authenticate } = ENTRY_OPERATIONS
  return {
    ...ORDINARY,
    operation: 'primary',
    attempt,
    call: {
      path: authenticate.path,
      body,
      bearsToken: token !== undefined,
      carriesApiToken: carriesApiToken(authenticate),
    },
    proof: token === undefined ? PASSWORD_PROOF : ACTIVATION_PROOF,
    isUserStored: false,
    events: [signInStarted('primary', username)],
  }
}

/** The token of a recovery email. Okta accepts it again until the password is set (R6). */
function planRecoveryToken({ body }: RecoveryTokenRequest, attempt: Attempt | undefined): SignInPlan {
  const { redeemRecoveryToken } = ENTRY_OPERATIONS
  return {
    ...ORDINARY,
    operation: 'recovery_token',
    attempt,
    call: {
      path: redeemRecoveryToken.path,
      body,
      bearsToken: true,
      carriesApiToken: carriesApiToken(redeemRecoveryToken),
    },
    proof: undefined,
    isUserStored: false,
    events: [recoveryStarted({ operation: 'token' }, undefined)],
  }
}

/** What most plans of a sign-in have in common. */
const ORDINARY = {
  kind: 'sign-in',
  endsOtherSessions: false,
  changesPassword: false,
  minDurationMs: 0,
  events: [],
} as const

/**
 * Another holder of an imported state token can advance the transaction at Okta at any time. So
 * until a credential is accepted here, the broker requests the state first, and sends a credential
 * only if Okta awaits it.
 */
function planImported(request: StateRequest | OperationRequest, before: Transaction): SignInPlan {
  const plan = planCredential(request, before)
  const sendsCredential =
    request.kind === 'state' ? request.fields.username !== undefined : plan.proof !== undefined
  if (!sendsCredential) return plan
  const fields = request.kind === 'state' ? withoutCredentials(request.fields) : {}
  const { attempt, changesPassword, isUserStored } = plan
  return { ...planState(fields, before, isUserStored), attempt, changesPassword, credential: request }
}

function withoutCredentials({ username: _login, password: _password, ...fields }: StateFields): StateFields {
  return fields
}

/** The plan that sends what the request has. */
export function planCredential(
  request: StateRequest | OperationRequest,
  before: Transaction,
  isUserStored = before.userId !== undefined,
): SignInPlan {
  if (request.kind === 'operation') return planOperation(request, before, isUserStored)
  const { fields } = request
  if (fields.username === undefined) return planState(fields, before, isUserStored)
  return planCredentials(fields, fields.username, before, isUserStored)
}

/** A request for the transaction's state. */
function planState(fields: StateFields, before: Transaction, isUserStored: boolean): SignInPlan {
  const { authenticate } = ENTRY_OPERATIONS
  // if the status changes, the challenged factor was verified, even if not by a step here
  const waitsForFactor = before.status === 'MFA_CHALLENGE' && before.credentialAccepted
  return {
    ...ORDINARY,
    operation: 'state',
    attempt: { kind: 'call', operation: 'state', userId: before.userId, login: before.login },
    call: {
      path: authenticate.path,
      body: { ...fields, stateToken: before.stateToken },
      bearsToken: true,
      carriesApiToken: carriesApiToken(authenticate),
    },
    proof: waitsForFactor ? EXTERNAL_FACTOR_PROOF : undefined,
    isUserStored,
  }
}

/** Username and password in a transaction. They identify the user only if Okta awaits them. */
function planCredentials(
  fields: StateFields,
  login: string,
  before: Transaction,
  isUserStored: boolean,
): SignInPlan {
  const isAwaited = awaitsCredential('primary', before.status)
  // in an imported transaction, the answer must name the user whose password was sent
  const proof = isUnverifiedImport(before) ? { ...PASSWORD_PROOF, ofLogin: login } : PASSWORD_PROOF
  return {
    ...planState(fields, before, isUserStored),
    operation: 'primary',
    attempt: { kind: 'password', operation: 'primary', login },
    login: isAwaited ? login : undefined,
    proof: isAwaited ? proof : undefined,
  }
}

/** An operation in a transaction. */
function planOperation(request: OperationRequest, before: Transaction, isUserStored: boolean): SignInPlan {
  const operation = operationOf(request)
  const { query, fields, handle } = request
  const attempted = attemptedStep(request, before)
  const path = pathOf(request)
  const linkQuery = findQuery(before.offered, path, request.search)
  return {
    ...ORDINARY,
    operation: operation.name,
    attempt: classifyAttempt(operation.attempt, attempted, before, handle),
    call: {
      path: path + addFlags(linkQuery, query),
      body: { stateToken: before.stateToken, ...fields },
      bearsToken: true,
      carriesApiToken: carriesApiToken(operation, before),
      encoding: operation.encoding,
    },
    proof: getProof(operation.credential, attempted, before),
    factorType: attempted.factorType,
    factorId: attempted.factorId,
    enrollment: enrollmentOfStep({ ...attempted, updatePhone: query.updatePhone === 'true' }, before),
    pollPath: pollPathOf(request),
    endsOtherSessions: endsOtherSessions(operation, fields, before),
    changesPassword: operation.changesPassword,
    isUserStored,
  }
}

function attemptedStep(request: OperationRequest, before: Transaction): AttemptedStep {
  const { fields, params } = request
  const factorType = before.factorTypes[params.id ?? '']
  return { operation: operationOf(request).name, fields, factorId: params.id, factorType }
}

/** By default only after a recovery, with which Okta ends its own sessions too (R5). */
function endsOtherSessions(
  { name }: Operation,
  { revokeSessions }: OperationRequest['fields'],
  { isRecovery = false }: Transaction,
): boolean {
  const isDefault = isRecovery && name === 'reset_password'
  return isDefault ? revokeSessions !== false : revokeSessions === true
}

function addFlags(offered: string, flags: QueryFlags): string {
  const has = new URLSearchParams(offered)
  const added = Object.entries(flags).flatMap(([name, value]) =>
    value === undefined || has.has(name) ? [] : [`${name}=${value}`],
  )
  const all = [...(offered === '' ? [] : [offered.slice(1)]), ...added]
  return all.length === 0 ? '' : `?${all.join('&')}`
}

/**
 * The query of the offered link that a request with this query follows, as Okta wrote it; empty if
 * there is none.
 */
function findQuery(offered: readonly OfferedStep[], path: string, search: string): string {
  const asked = new URLSearchParams(search)
  const isFollowed = (query: string) =>
    // the browser's link has the handle instead of a state token
    [...new URLSearchParams(query)].every(
      ([name, value]) => asked.has(name, value) || (name === 'stateToken' && asked.has(name)),
    )
  return (
    offered.findLast((step) => step.path === path && step.query !== '' && isFollowed(step.query))?.query ?? ''
  )
}

/** The step is offered, and about no hidden factor. */
function assertAllowed(
  request: OperationRequest,
  before: Transaction,
  { hiddenFactors }: Pick<StepSettings, 'hiddenFactors'>,
): void {
  const isOffered =
    operationOf(request).allowed === 'always' ||
    findStep(before.offered, 'POST', pathOf(request)) !== undefined
  if (!isOffered) throw new StepRefusedError(stepNotOffered(), [refused('not_offered')])
  const factorType = before.factorTypes[request.params.id ?? '']
  if (isHiddenStep(factorType, request.fields, hiddenFactors))
    throw new StepRefusedError(stepNotOffered(), [refused('hidden_factor')])
}

/** The request as a step while a recovery code is awaited. */
function challengeStepOf(request: StateRequest | OperationRequest, before: Transaction) {
  if (request.kind === 'state') {
    const operation = request.fields.username === undefined ? 'state' : 'primary'
    const { userId, login } = before
    const attempt: Attempt = { kind: 'call', operation, userId, login }
    return {
      operation,
      path: ENTRY_OPERATIONS.authenticate.path,
      carriesApiToken: false,
      fields: {},
      attempt,
    }
  }
  const operation = operationOf(request)
  return {
    operation: operation.name,
    path: pathOf(request),
    carriesApiToken: carriesApiToken(operation, before),
    fields: request.fields,
    attempt: classifyAttempt(operation.attempt, attemptedStep(request, before), before, request.handle),
  }
}
