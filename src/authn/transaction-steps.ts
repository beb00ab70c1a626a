import { stepNotOffered, unknownHandle } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Client } from './browser/client.ts'
import type { Recovery } from './recovery/recovery.ts'
import { type HiddenFactors, isHiddenStep } from './sanitize/hidden-factors.ts'
import { carriesApiToken, ENTRY_OPERATIONS, type Operation, upstreamPath } from './sign-in/operations.ts'
import type { Step, StepPlan } from './sign-in/run-step.ts'
import type { PrimaryBody, QueryFlags } from './sign-in/schemas.ts'
import type { SendStep } from './sign-in/send-step.ts'
import {
  buildOperationStep,
  buildStateStep,
  findQuery,
  type SharedByCalls,
  type StateFields,
} from './sign-in/upstream-step.ts'
import { type Attempt, classifyAttempt } from './throttling/attempts.ts'
import {
  awaitsCredential,
  getProof,
  isUnverifiedImport,
  PASSWORD_PROOF,
  type Proof,
} from './transaction/credentials.ts'
import type { StepResult } from './transaction/step-result.ts'
import { findStep, type Transaction } from './transaction/transaction.ts'
import { PRIMARY } from './upstream/authn-upstream.ts'

type StateRequest = PrimaryBody & { readonly stateToken: string }

export interface OperationRequest {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
  readonly query: QueryFlags
  /** The whole query of the request. */
  readonly search: string
  readonly body: { readonly stateToken: string } & Readonly<Record<string, unknown>>
}

export interface TransactionStepsDeps {
  readonly sendStep: SendStep
  readonly recovery: Pick<Recovery, 'step'>
  readonly hiddenFactors: HiddenFactors
  /** Whether the typed login and the login in Okta's answer name the same user. */
  readonly isSameLogin: (typed: string, named: unknown) => boolean
  /** When all calls of a step that begins now must end. */
  readonly deadline: () => number
  readonly metrics: Metrics
}

export type TransactionSteps = ReturnType<typeof createTransactionSteps>

/** The steps in a transaction. Those that begin one are in entry-steps.ts. */
export function createTransactionSteps(deps: TransactionStepsDeps) {
  return {
    /** The state of the transaction, or step-up with credentials. */
    state: ({ stateToken: handle, ...body }: StateRequest, client: Client) =>
      transactionStep(
        { handle, identity: [PRIMARY, body], attempt: toCall('state') },
        deps.metrics,
        (before) => planState(before, handle, body, client, deps),
      ),

    operation: (request: OperationRequest, client: Client) => operationStep(request, client, deps),
  }
}

function operationStep(
  { operation, params, query, search, body }: OperationRequest,
  client: Client,
  deps: TransactionStepsDeps,
): Step {
  const { stateToken: handle, ...fields } = body
  const path = upstreamPath(operation, params)
  const isEmpty = Object.values(fields).every((value) => value === '') // an empty `passCode` is no code
  const pollPath = operation.polls && isEmpty ? path : undefined
  const identity = pollPath === undefined ? [path, search, fields] : [path]
  const { name, maxConcurrent } = operation
  const request = { handle, identity, pollPath, maxConcurrent, attempt: toCall(name) }
  return transactionStep(request, deps.metrics, (before) => {
    const factorType = before.factorTypes[params.id ?? '']
    assertOffered(before, operation, path, deps.metrics)
    assertNotHidden(factorType, fields, deps)
    const attempted = { operation: name, fields, factorId: params.id, factorType }
    const offeredQuery = findQuery(before.offered, path, search)
    const step = { operation, path, query, offeredQuery, pollPath, attempted }
    return {
      attempt: classifyAttempt(attempted, before, handle),
      run: () => sendOperation(before, handle, step, client, deps),
    }
  })
}

/** A call that is no guess and sends nothing, as far as the request shows. */
function toCall(operation: string): Attempt {
  return { kind: 'call', operation }
}

function transactionStep(
  request: Pick<Step, 'identity'> & Partial<Step> & { readonly handle: string },
  metrics: Metrics,
  plan: (before: Transaction) => StepPlan,
): Step {
  return {
    ...request,
    plan(before) {
      if (before.origin !== 'redirect-only') return plan(before)
      metrics.requestsRefused.inc({ reason: 'unknown_handle' })
      throw unknownHandle() // only the redirects of such a transaction can be used
    },
  }
}

function planState(
  before: Transaction,
  handle: string,
  body: StateFields,
  client: Client,
  deps: TransactionStepsDeps,
): StepPlan {
  const operation = body.username === undefined ? 'state' : 'primary'
  const attempt = { ...toCall(operation), userId: before.userId, login: before.login }
  if (before.recovery !== undefined) {
    const step = {
      operation,
      path: PRIMARY,
      carriesApiToken: carriesApiToken(ENTRY_OPERATIONS.authenticate),
      fields: {},
    }
    return { attempt, run: () => deps.recovery.step(before, handle, step, client) }
  }
  if (body.username === undefined)
    return { attempt, run: () => deps.sendStep(before, handle, buildStateStep(before, body), client) }
  const { username: login, password: _password, ...fields } = body
  return {
    attempt: { kind: 'password', operation, login },
    run: () =>
      sendIfAwaited({ before, handle, operation, fields }, client, deps, (current, shared) =>
        sendCredentials(current, handle, body, client, deps, shared),
      ),
  }
}

async function sendOperation(
  before: Transaction,
  handle: string,
  step: Parameters<typeof buildOperationStep>[0],
  client: Client,
  deps: TransactionStepsDeps,
): Promise<StepResult> {
  const { operation, path, attempted } = step
  if (before.recovery !== undefined)
    return deps.recovery.step(
      before,
      handle,
      {
        operation: operation.name,
        path,
        carriesApiToken: carriesApiToken(operation, before),
        fields: attempted.fields,
      },
      client,
    )
  const send = (current: Transaction, shared?: SharedByCalls) =>
    deps.sendStep(current, handle, buildOperationStep(step, current, shared), client)
  return getProof(operation.credential, attempted, before) === undefined
    ? send(before)
    : sendIfAwaited({ before, handle, operation: operation.name, fields: {} }, client, deps, send)
}

function assertOffered(before: Transaction, { allowed }: Operation, path: string, metrics: Metrics): void {
  if (allowed === 'always' || findStep(before.offered, 'POST', path) !== undefined) return
  metrics.requestsRefused.inc({ reason: 'not_offered' })
  throw stepNotOffered()
}

function assertNotHidden(
  factorType: string | undefined,
  fields: Readonly<Record<string, unknown>>,
  { hiddenFactors, metrics }: Pick<TransactionStepsDeps, 'hiddenFactors' | 'metrics'>,
): void {
  if (!isHiddenStep(factorType, fields, hiddenFactors)) return
  metrics.requestsRefused.inc({ reason: 'hidden_factor' })
  throw stepNotOffered()
}

/**
 * Sends a credential only if Okta awaits it. Another holder of an imported state token can advance the transaction at
 * Okta at any time. So until a credential is accepted here, the broker requests the state from Okta first.
 */
async function sendIfAwaited(
  request: { before: Transaction; handle: string; operation: string; fields: StateFields },
  client: Client,
  deps: TransactionStepsDeps,
  send: (before: Transaction, shared?: SharedByCalls) => Promise<StepResult>,
): Promise<StepResult> {
  const { before, handle, operation, fields } = request
  if (!isUnverifiedImport(before)) return send(before)
  // one deadline for both calls, because the step lock expires
  const shared = { deadline: deps.deadline(), isUserStored: before.userId !== undefined }
  const state = await deps.sendStep(before, handle, buildStateStep(before, fields, shared), client)
  if (state.after === undefined || !awaitsCredential(operation, state.status)) return state
  return send(state.after, shared)
}

/** Sends username and password in a transaction. They identify the user only if Okta awaits them. */
async function sendCredentials(
  before: Transaction,
  handle: string,
  body: StateFields,
  client: Client,
  deps: TransactionStepsDeps,
  shared: SharedByCalls | undefined,
): Promise<StepResult> {
  const awaited = awaitsCredential('primary', before.status)
  const named = awaited ? { ...before, login: body.username } : before
  const proof = awaited ? passwordProof(body.username, before, deps) : undefined
  const step = { ...buildStateStep(before, body, shared), proof }
  const result = await deps.sendStep(named, handle, step, client)
  const { after } = result
  // credentials that Okta did not accept do not identify the user of the transaction
  if (after === named) return { ...result, after: before }
  return after?.credentialAccepted === false
    ? { ...result, after: { ...after, login: before.login } }
    : result
}

/** In an imported transaction, the answer must name the user whose password was sent. */
function passwordProof(
  login: string | undefined,
  before: Transaction,
  { isSameLogin }: Pick<TransactionStepsDeps, 'isSameLogin'>,
): Proof {
  return login !== undefined && isUnverifiedImport(before)
    ? { ...PASSWORD_PROOF, matchesUser: (user) => isSameLogin(login, user?.profile.login) }
    : PASSWORD_PROOF
}
