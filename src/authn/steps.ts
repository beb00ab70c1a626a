import { stepNotOffered, unknownHandle } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { StepAudit } from './audit.ts'
import type { Client } from './browser/client.ts'
import type { Recovery, RecoveryType } from './recovery/recovery.ts'
import { type HiddenFactors, isHiddenStep } from './sanitize/hidden-factors.ts'
import { type Operation, upstreamPath } from './sign-in/operations.ts'
import type { PrimaryBody, QueryFlags, RecoveryBody, RecoveryTokenBody } from './sign-in/schemas.ts'
import { MAX_CONCURRENT, type Step, type StepPlan } from './sign-in/step.ts'
import type { TakeStep } from './sign-in/take-step.ts'
import {
  operationStep,
  PRIMARY,
  primaryFields,
  type StateFields,
  stateStep,
} from './sign-in/upstream-step.ts'
import { type Attempt, attemptIn } from './throttling/attempts.ts'
import {
  ACTIVATION_PROOF,
  isAwaited,
  mayBeAnothers,
  PASSWORD_PROOF,
  type Proof,
  proofOf,
} from './transaction/proof.ts'
import type { StepResult } from './transaction/step-result.ts'
import { mayTake, type Transaction } from './transaction/transaction.ts'

/** Every kind of step of a sign-in, from what the browser sent. */
export interface Steps {
  /** Primary authentication with credentials or an activation token; begins a transaction. */
  start(body: PrimaryBody, client: Client): Step
  /** Forgotten password or locked account; begins a transaction. */
  recover(recoveryType: RecoveryType, body: RecoveryBody, client: Client): Step
  /** The token of a recovery mail; begins a transaction. The token is never stored. */
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

export interface StepsDeps {
  readonly takeStep: TakeStep
  readonly recovery: Recovery
  readonly hiddenFactors: HiddenFactors
  readonly audit: Pick<StepAudit, 'started' | 'recoveryStarted'>
  readonly metrics: Metrics
  /** Whether the login that was typed is the one that Okta names. */
  readonly isSameLogin: (typed: string, named: unknown) => boolean
  /** When all calls of a step that begins now must have ended. */
  readonly deadline: () => number
}

const RECOVERY_TOKEN = '/api/v1/authn/recovery/token'

export function createSteps(deps: StepsDeps): Steps {
  const { takeStep, recovery, audit, metrics } = deps

  return {
    start(body, client) {
      const { username: login, token } = body
      const call = {
        path: PRIMARY,
        body: primaryFields(body, undefined, client),
        bearsToken: token !== undefined,
      }
      const proof = token === undefined ? PASSWORD_PROOF : ACTIVATION_PROOF
      const kind = token === undefined ? 'password' : 'token'
      return beginning([PRIMARY, body], { kind, operation: 'primary', login }, (before, handle) => {
        audit.started('primary', login, client)
        return takeStep({ ...before, login }, handle, { operation: 'primary', call, proof }, client)
      })
    },

    recover(recoveryType, body, client) {
      const { username: login, factorType } = body
      const attempt = { kind: 'recovery', operation: 'recovery', login, factorType } as const
      return beginning([recoveryType, body], attempt, (_before, handle) =>
        recovery.start(recoveryType, body, handle, client),
      )
    },

    redeem(body, client) {
      const operation = 'recovery_token'
      const call = { path: RECOVERY_TOKEN, body, bearsToken: true }
      return beginning([RECOVERY_TOKEN, body], { kind: 'token', operation }, (before, handle) => {
        audit.recoveryStarted({ operation: 'token' }, undefined, client)
        return takeStep(before, handle, { operation, call, proof: undefined }, client)
      })
    },

    state: ({ stateToken, ...body }, client) =>
      within({ handle: stateToken, identity: [PRIMARY, body] }, metrics, (before) =>
        planOfState(before, stateToken, body, client, deps),
      ),

    operation({ operation, params, query, body }, client) {
      const { stateToken, ...fields } = body
      const path = upstreamPath(operation, params)
      const pollPath = operation.polls && Object.keys(fields).length === 0 ? path : undefined
      const identity = pollPath === undefined ? [path, query, fields] : [path]
      const request = { handle: stateToken, identity, pollPath, maxConcurrent: operation.maxConcurrent }
      return within(request, metrics, (before) => {
        const factorType = before.factorTypes[params.id ?? '']
        assertOffered(before, operation, path, metrics)
        assertVisible(factorType, fields, deps)
        const tried = { operation: operation.name, fields, factorId: params.id, factorType }
        const step = { operation, path, query, pollPath, tried }
        return {
          attempt: attemptIn(tried, before, stateToken),
          take: () => takeOperation(before, stateToken, step, client, deps),
        }
      })
    },
  }
}

function beginning(
  identity: readonly unknown[],
  attempt: Attempt,
  take: (before: Transaction, handle: string) => Promise<StepResult>,
): Step {
  return {
    handle: undefined,
    identity,
    pollPath: undefined,
    maxConcurrent: MAX_CONCURRENT,
    attempt,
    plan: (before, handle) => ({ take: () => take(before, handle) }),
  }
}

function within(
  request: Pick<Step, 'identity'> & Partial<Step> & { readonly handle: string },
  metrics: Metrics,
  plan: (before: Transaction) => StepPlan,
): Step {
  return {
    pollPath: undefined,
    maxConcurrent: MAX_CONCURRENT,
    attempt: undefined,
    ...request,
    plan(before) {
      if (before.origin !== 'remnant') return plan(before)
      metrics.refusals.inc({ reason: 'unknown_handle' })
      throw unknownHandle() // only its redirects can be used
    },
  }
}

function planOfState(
  before: Transaction,
  handle: string,
  body: StateFields,
  client: Client,
  deps: StepsDeps,
): StepPlan {
  const operation = body.username === undefined ? 'state' : 'primary'
  if (before.recovery !== undefined) {
    const step = { operation, path: PRIMARY, fields: {} }
    return { take: () => deps.recovery.step(before, handle, step, client) }
  }
  if (body.username === undefined)
    return { take: () => deps.takeStep(before, handle, stateStep(before, body, client), client) }
  const { username: login, password: _password, ...fields } = body
  return {
    attempt: { kind: 'password', operation, login },
    take: () =>
      takeWhereAwaited({ before, handle, operation, fields }, client, deps, (current, deadline) =>
        takeCredentials(current, handle, body, client, deps, deadline),
      ),
  }
}

async function takeOperation(
  before: Transaction,
  handle: string,
  step: Parameters<typeof operationStep>[0],
  client: Client,
  deps: StepsDeps,
): Promise<StepResult> {
  const { operation, path, tried } = step
  if (before.recovery !== undefined)
    return deps.recovery.step(
      before,
      handle,
      { operation: operation.name, path, fields: tried.fields },
      client,
    )
  const send = (current: Transaction, deadline?: number) =>
    deps.takeStep(current, handle, operationStep(step, current, deadline), client)
  return proofOf(operation.proves, tried, before) === undefined
    ? send(before)
    : takeWhereAwaited({ before, handle, operation: operation.name, fields: {} }, client, deps, send)
}

/**
 * Sends what shows a credential only where Okta awaits it. The holder of an imported state token can move the transaction at Okta at
 * any time; so until a credential was accepted here, Okta is asked for the state first, whatever the record says.
 */
async function takeWhereAwaited(
  asked: { before: Transaction; handle: string; operation: string; fields: StateFields },
  client: Client,
  deps: StepsDeps,
  send: (before: Transaction, deadline?: number) => Promise<StepResult>,
): Promise<StepResult> {
  const { before, handle, operation, fields } = asked
  if (!mayBeAnothers(before)) return send(before)
  const deadline = deps.deadline() // for both calls: the step lock does not last for two
  const state = await deps.takeStep(before, handle, stateStep(before, fields, client, deadline), client)
  if (state.after === undefined || !isAwaited(operation, state.status)) return state
  return send(state.after, deadline)
}

/** Credentials say who the user is only where Okta awaits them: in another status it may not look at them at all. */
async function takeCredentials(
  before: Transaction,
  handle: string,
  body: StateFields,
  client: Client,
  deps: StepsDeps,
  deadline: number | undefined,
): Promise<StepResult> {
  const awaited = isAwaited('primary', before.status)
  const named = awaited ? { ...before, login: body.username } : before
  const proof = awaited ? passwordOf(body.username, before, deps) : undefined
  const step = { ...stateStep(before, body, client, deadline), proof }
  const result = await deps.takeStep(named, handle, step, client)
  const { after } = result
  // credentials that were not accepted say nothing about whose transaction this is
  if (after === named) return { ...result, after: before }
  return after?.credentialAccepted === false
    ? { ...result, after: { ...after, login: before.login } }
    : result
}

/** In a transaction that may be another's, the answer has to name the user whose password was shown. */
function passwordOf(
  login: string | undefined,
  before: Transaction,
  { isSameLogin }: Pick<StepsDeps, 'isSameLogin'>,
): Proof {
  return login !== undefined && mayBeAnothers(before)
    ? { ...PASSWORD_PROOF, isOf: (user) => isSameLogin(login, user?.profile.login) }
    : PASSWORD_PROOF
}

function assertOffered(before: Transaction, { allowed }: Operation, path: string, metrics: Metrics): void {
  if (allowed === 'always' || mayTake(before, 'POST', path)) return
  metrics.refusals.inc({ reason: 'not_offered' })
  throw stepNotOffered()
}

function assertVisible(
  factorType: string | undefined,
  fields: Readonly<Record<string, unknown>>,
  { hiddenFactors, metrics }: Pick<StepsDeps, 'hiddenFactors' | 'metrics'>,
): void {
  if (!isHiddenStep(factorType, fields, hiddenFactors)) return
  metrics.refusals.inc({ reason: 'hidden_factor' })
  throw stepNotOffered()
}
