import type { Request, Response } from 'express'
import { getRequestContext } from '../http/request-context.ts'
import { type Route, routesOf } from '../http/route.ts'
import { sendJsonText } from '../http/send-json.ts'
import type { Client } from './browser/client.ts'
import type { EntrySteps } from './entry-steps.ts'
import type { RecoveryType } from './recovery/recovery.ts'
import type { FetchOffered } from './sign-in/fetch-offered.ts'
import { ENTRY_OPERATIONS, OFFERED_OPERATIONS, OPERATIONS } from './sign-in/operations.ts'
import type { RunStep, Step } from './sign-in/run-step.ts'
import { parse, primaryBody, recoveryBody, recoveryTokenBody, stateBody } from './sign-in/schemas.ts'
import { normalizePath } from './transaction/link-paths.ts'
import type { StepAnswer } from './transaction/step-result.ts'
import type { TransactionSteps } from './transaction-steps.ts'

export interface AuthnRoutesOptions {
  readonly entrySteps: EntrySteps
  readonly steps: TransactionSteps
  readonly runStep: RunStep
  readonly fetchOffered: FetchOffered
  readonly clientOf: (req: Request, res: Response) => Client
  /** The `Set-Cookie` header of a session. */
  readonly sessionCookie: (sessionId: string) => string
}

export function createAuthnRoutes(options: AuthnRoutesOptions): Route[] {
  const { entrySteps, steps, runStep, clientOf } = options
  const stepHandler =
    (stepOf: (req: Request, client: Client) => Step): Route['handle'] =>
    async (req, res) => {
      const client = clientOf(req, res)
      present(res, await runStep(stepOf(req, client), client), options)
    }
  const recoveryHandler = (recoveryType: RecoveryType) =>
    stepHandler((req, client) => entrySteps.recovery(recoveryType, parse(recoveryBody, req.body), client))

  const entryRoutes = routesOf(ENTRY_OPERATIONS, {
    authenticate: stepHandler((req, client) => {
      const { stateToken, ...body } = parse(primaryBody, req.body)
      return stateToken === undefined
        ? entrySteps.primary(body, client)
        : steps.state({ ...body, stateToken }, client)
    }),
    introspect: stepHandler((req, client) => steps.state(parse(stateBody, req.body), client)),
    recoverPassword: recoveryHandler('PASSWORD'),
    unlockAccount: recoveryHandler('UNLOCK'),
    redeemRecoveryToken: stepHandler((req, client) =>
      entrySteps.recoveryToken(parse(recoveryTokenBody, req.body), client),
    ),
  })
  const stepRoutes = OPERATIONS.map((operation) => ({
    ...operation,
    handle: stepHandler((req, client) => {
      const [body, query] = [parse(operation.body, req.body), parse(operation.query, req.query)]
      const search = req.url.replace(/^[^?]*/, '')
      return steps.operation({ operation, params: paramsOf(req), query, search, body }, client)
    }),
  }))
  return [...entryRoutes, ...stepRoutes, ...offeredRoutes(options)]
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

/** No route has wildcards, whose values are lists. */
const paramsOf = ({ params }: Request) => params as Readonly<Record<string, string>>
