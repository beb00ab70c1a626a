import type { Request, Response } from 'express'
import { routesOf } from '../http/operation.ts'
import { getRequestContext } from '../http/request-context.ts'
import { type Route, sendJsonText } from '../http/routes.ts'
import type { StepAudit } from './audit.ts'
import { ENTRY_OPERATIONS, OFFERED_OPERATIONS } from './authn-operations.ts'
import type { Client } from './browser/client.ts'
import type { Recovery, RecoveryType } from './recovery/recovery.ts'
import type { FetchOffered } from './sign-in/fetch-offered.ts'
import { OPERATIONS } from './sign-in/operations.ts'
import type { RunStep, Step } from './sign-in/run-step.ts'
import {
  type PrimaryBody,
  parse,
  primaryBody,
  type RecoveryBody,
  type RecoveryTokenBody,
  recoveryBody,
  recoveryTokenBody,
  stateBody,
} from './sign-in/schemas.ts'
import type { SendStep } from './sign-in/send-step.ts'
import type { Attempt } from './throttling/attempts.ts'
import { ACTIVATION_PROOF, PASSWORD_PROOF } from './transaction/credentials.ts'
import { normalizePath } from './transaction/link-paths.ts'
import type { StepAnswer, StepResult } from './transaction/step-result.ts'
import type { Transaction } from './transaction/transaction.ts'
import type { TransactionSteps } from './transaction-steps.ts'
import { PRIMARY } from './upstream/authn-upstream.ts'

export interface AuthnRoutesOptions {
  readonly steps: TransactionSteps
  readonly sendStep: SendStep
  readonly recovery: Pick<Recovery, 'start'>
  readonly audit: Pick<StepAudit, 'started' | 'recoveryStarted'>
  readonly runStep: RunStep
  readonly fetchOffered: FetchOffered
  readonly clientOf: (req: Request, res: Response) => Client
  /** The `Set-Cookie` header of a session. */
  readonly sessionCookie: (sessionId: string) => string
  /** They need the session, so `app.ts` adds it to them. */
  readonly deviceRoutes: readonly Route[]
}

export function createAuthnRoutes(options: AuthnRoutesOptions): Route[] {
  const { steps, runStep, clientOf } = options
  const stepHandler =
    (stepOf: (req: Request, client: Client) => Step): Route['handle'] =>
    async (req, res) => {
      const client = clientOf(req, res)
      present(res, await runStep(stepOf(req, client), client), options)
    }
  const recoveryHandler = (recoveryType: RecoveryType) =>
    stepHandler((req, client) => recoveryStep(recoveryType, parse(recoveryBody, req.body), client, options))

  const entryRoutes = routesOf(ENTRY_OPERATIONS, {
    authenticate: stepHandler((req, client) => {
      const body = parse(primaryBody, req.body)
      return hasStateToken(body) ? steps.state(body, client) : primaryStep(body, client, options)
    }),
    introspect: stepHandler((req, client) => steps.state(parse(stateBody, req.body), client)),
    recoverPassword: recoveryHandler('PASSWORD'),
    unlockAccount: recoveryHandler('UNLOCK'),
    redeemRecoveryToken: stepHandler((req, client) =>
      recoveryTokenStep(parse(recoveryTokenBody, req.body), client, options),
    ),
  })
  const stepRoutes = OPERATIONS.map((operation) => ({
    ...operation,
    handle: stepHandler((req, client) => {
      const [body, query] = [parse(operation.body, req.body), parse(operation.query, req.query)]
      return steps.operation({ operation, params: paramsOf(req), query, body }, client)
    }),
  }))
  return [...entryRoutes, ...stepRoutes, ...offeredRoutes(options)]
}

type EntryStepDeps = Pick<AuthnRoutesOptions, 'sendStep' | 'recovery' | 'audit'>

/** Primary authentication with credentials or an activation token. */
function primaryStep(body: PrimaryBody, client: Client, { sendStep, audit }: EntryStepDeps): Step {
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

/** Forgotten password or locked account. */
function recoveryStep(
  recoveryType: RecoveryType,
  body: RecoveryBody,
  client: Client,
  { recovery }: EntryStepDeps,
): Step {
  const { username: login, factorType } = body
  const attempt = { kind: 'recovery', operation: 'recovery', login, factorType } as const
  return entryStep([recoveryType, body], attempt, (_before, handle) =>
    recovery.start(recoveryType, body, handle, client),
  )
}

const RECOVERY_TOKEN = '/api/v1/authn/recovery/token'

/** The token of a recovery email, which is never stored. */
function recoveryTokenStep(
  body: RecoveryTokenBody,
  client: Client,
  { sendStep, audit }: EntryStepDeps,
): Step {
  const operation = 'recovery_token'
  const call = { path: RECOVERY_TOKEN, body, bearsToken: true }
  return entryStep([RECOVERY_TOKEN, body], { kind: 'token', operation }, (before, handle) => {
    audit.recoveryStarted({ operation: 'token' }, undefined, client)
    return sendStep(before, handle, { operation, call, proof: undefined }, client)
  })
}

/** A step that begins a transaction. */
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

function offeredRoutes(options: AuthnRoutesOptions): Route[] {
  const { fetchOffered, clientOf } = options
  return routesOf(OFFERED_OPERATIONS, {
    async listSecurityQuestions(req, res) {
      present(res, await fetchOffered.questions(normalizePath(req.path), clientOf(req, res)), options)
    },
    async getEnrollmentPicture(req, res) {
      const answer = await fetchOffered.picture(normalizePath(req.path), clientOf(req, res))
      if (answer.kind !== 'picture') return present(res, answer, options)
      res.set('Cross-Origin-Resource-Policy', 'same-site').type(answer.type).send(answer.bytes)
    },
  })
}

function present(
  res: Response,
  { status, headers, body, errorCode, sessionId }: StepAnswer,
  { sessionCookie }: Pick<AuthnRoutesOptions, 'sessionCookie'>,
): void {
  if (sessionId !== undefined) res.append('Set-Cookie', sessionCookie(sessionId))
  if (errorCode !== undefined) getRequestContext(res.req).errorCode = errorCode
  sendJsonText(res.status(status).set(headers), body)
}

function hasStateToken(body: PrimaryBody): body is PrimaryBody & { stateToken: string } {
  return body.stateToken !== undefined
}

function paramsOf(req: Request): Record<string, string> {
  return Object.fromEntries(
    Object.entries(req.params).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )
}
