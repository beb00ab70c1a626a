import { stepNotOffered, unknownHandle } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { StepAudit } from './audit.ts'
import type { Client } from './browser/client.ts'
import type { Recovery, RecoveryType } from './recovery/recovery.ts'
import { type HiddenFactors, isHiddenStep } from './sanitize/hidden-factors.ts'
import { type Operation, upstreamPath } from './sign-in/operations.ts'
import type { Step, StepPlan } from './sign-in/run-step.ts'
import type { PrimaryBody, QueryFlags, RecoveryBody, RecoveryTokenBody } from './sign-in/schemas.ts'
import { type CredentialsDeps, sendCredentials, sendIfAwaited } from './sign-in/send-credentials.ts'
import { buildOperationStep, buildStateStep, type StateFields } from './sign-in/upstream-step.ts'
import { type Attempt, classifyAttempt } from './throttling/attempts.ts'
import { ACTIVATION_PROOF, getProof, PASSWORD_PROOF } from './transaction/credentials.ts'
import type { StepResult } from './transaction/step-result.ts'
import { isOffered, type Transaction } from './transaction/transaction.ts'
import { PRIMARY } from './upstream/authn-upstream.ts'

/** Makes a step of each kind of request. */
export interface Steps {
  /** Primary authentication with credentials or an activation token. Begins a transaction. */
  start(body: PrimaryBody, client: Client): Step
  /** Forgotten password or locked account. Begins a transaction. */
  recover(recoveryType: RecoveryType, body: RecoveryBody, client: Client): Step
  /** The token of a recovery email, which is never stored. Begins a transaction. */
  redeem(body: RecoveryTokenBody, client: Client): Step
  /** The state of the transaction, or step-up with credentials. */
  state(body: PrimaryBody & { stateToken: string }, client: Client): Step
  operation(request: OperationRequest, client: Client): Step
}

export interface OperationRequest {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
  readonly query: QueryFlags
  readonly body: { readonly stateToken: string } & Readonly<Record<string, unknown>>
}

export interface StepsDeps extends CredentialsDeps {
  readonly recovery: Recovery
  readonly hiddenFactors: HiddenFactors
  readonly audit: Pick<StepAudit, 'started' | 'recoveryStarted'>
  readonly metrics: Metrics
}

const RECOVERY_TOKEN = '/api/v1/authn/recovery/token'

export function createSteps(deps: StepsDeps): Steps {
  const { sendStep, recovery, audit, metrics } = deps

  return {
    start: (body, client) => primaryStep(body, client, deps),

    recover(recoveryType, body, client) {
      const { username: login, factorType } = body
      const attempt = { kind: 'recovery', operation: 'recovery', login, factorType } as const
      return entryStep([recoveryType, body], attempt, (_before, handle) =>
        recovery.start(recoveryType, body, handle, client),
      )
    },

    redeem(body, client) {
      const operation = 'recovery_token'
      const call = { path: RECOVERY_TOKEN, body, bearsToken: true }
      return entryStep([RECOVERY_TOKEN, body], { kind: 'token', operation }, (before, handle) => {
        audit.recoveryStarted({ operation: 'token' }, undefined, client)
        return sendStep(before, handle, { operation, call, proof: undefined }, client)
      })
    },

    state: ({ stateToken: handle, ...body }, client) =>
      transactionStep({ handle, identity: [PRIMARY, body], sendsDeviceToken: true }, metrics, (before) =>
        planState(before, handle, body, client, deps),
      ),

    operation: (request, client) => operationStep(request, client, deps),
  }
}

function primaryStep(body: PrimaryBody, client: Client, { sendStep, audit }: StepsDeps): Step {
  const { username: login, token } = body
  const operation = 'primary'
  const [kind, proof] =
    token === undefined ? (['password', PASSWORD_PROOF] as const) : (['token', ACTIVATION_PROOF] as const)
  const call = { path: PRIMARY, body, bearsToken: token !== undefined }
  const step = entryStep([PRIMARY, body], { kind, operation, login }, (before, handle) => {
    audit.started(operation, login, client)
    return sendStep({ ...before, login }, handle, { operation, call, proof }, client)
  })
  return { ...step, sendsDeviceToken: true }
}

function operationStep(
  { operation, params, query, body }: OperationRequest,
  client: Client,
  deps: StepsDeps,
): Step {
  const { stateToken: handle, ...fields } = body
  const path = upstreamPath(operation, params)
  const pollPath = operation.polls && Object.keys(fields).length === 0 ? path : undefined
  const identity = pollPath === undefined ? [path, query, fields] : [path]
  const { maxConcurrent } = operation
  return transactionStep({ handle, identity, pollPath, maxConcurrent }, deps.metrics, (before) => {
    const factorType = before.factorTypes[params.id ?? '']
    assertOffered(before, operation, path, deps.metrics)
    assertNotHidden(factorType, fields, deps)
    const attempted = { operation: operation.name, fields, factorId: params.id, factorType }
    const step = { operation, path, query, pollPath, attempted }
    return {
      attempt: classifyAttempt(attempted, before, handle),
      run: () => sendOperation(before, handle, step, client, deps),
    }
  })
}

function entryStep(
  identity: readonly unknown[],
  attempt: Attempt,
  run: (before: Transaction, handle: string) => Promise<StepResult>,
): Step {
  return {
    handle: undefined,
    identity,
    attempt,
    plan: (before, handle) => ({ run: () => run(before, handle) }),
  }
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
  deps: StepsDeps,
): StepPlan {
  const operation = body.username === undefined ? 'state' : 'primary'
  if (before.recovery !== undefined) {
    const step = { operation, path: PRIMARY, fields: {} }
    return { run: () => deps.recovery.step(before, handle, step, client) }
  }
  if (body.username === undefined)
    return { run: () => deps.sendStep(before, handle, buildStateStep(before, body), client) }
  const { username: login, password: _password, ...fields } = body
  return {
    attempt: { kind: 'password', operation, login },
    run: () =>
      sendIfAwaited({ before, handle, operation, fields }, client, deps, (current, deadline) =>
        sendCredentials(current, handle, body, client, deps, deadline),
      ),
  }
}

async function sendOperation(
  before: Transaction,
  handle: string,
  step: Parameters<typeof buildOperationStep>[0],
  client: Client,
  deps: StepsDeps,
): Promise<StepResult> {
  const { operation, path, attempted } = step
  if (before.recovery !== undefined)
    return deps.recovery.step(
      before,
      handle,
      { operation: operation.name, path, fields: attempted.fields },
      client,
    )
  const send = (current: Transaction, deadline?: number) =>
    deps.sendStep(current, handle, buildOperationStep(step, current, deadline), client)
  return getProof(operation.credential, attempted, before) === undefined
    ? send(before)
    : sendIfAwaited({ before, handle, operation: operation.name, fields: {} }, client, deps, send)
}

function assertOffered(before: Transaction, { allowed }: Operation, path: string, metrics: Metrics): void {
  if (allowed === 'always' || isOffered(before, 'POST', path)) return
  metrics.requestsRefused.inc({ reason: 'not_offered' })
  throw stepNotOffered()
}

function assertNotHidden(
  factorType: string | undefined,
  fields: Readonly<Record<string, unknown>>,
  { hiddenFactors, metrics }: Pick<StepsDeps, 'hiddenFactors' | 'metrics'>,
): void {
  if (!isHiddenStep(factorType, fields, hiddenFactors)) return
  metrics.requestsRefused.inc({ reason: 'hidden_factor' })
  throw stepNotOffered()
}
