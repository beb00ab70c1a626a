import type { Request, Response } from 'express'
import { getRequestContext } from '../http/request-context.ts'
import { type Route, routesOf } from '../http/route.ts'
import { sendJsonText } from '../http/send-json.ts'
import type { Client } from './browser/client.ts'
import type { RunRequest } from './coalescing/request-coalescing.ts'
import type { FetchOffered } from './fetch-offered.ts'
import { ENTRY_OPERATIONS, OFFERED_OPERATIONS, OPERATIONS } from './operations.ts'
import { parse, primaryBody, recoveryBody, recoveryTokenBody, stateBody } from './schemas.ts'
import type { StepRequest } from './step/step-request.ts'
import { normalizePath } from './transaction/link-paths.ts'
import type { StepAnswer } from './transaction/step-outcome.ts'
import type { RecoveryType } from './transaction/transaction.ts'

export interface AuthnRoutesOptions {
  /** `runStep` of run-step.ts, once for identical requests (coalescing/request-coalescing.ts). */
  readonly run: RunRequest
  readonly fetchOffered: FetchOffered
  readonly clientOf: (req: Request, res: Response) => Client
  /** Sets the headers of a response that opens a session (session/set-session.ts). */
  readonly setSession: (res: Response, sessionId: string) => void
}

export function createAuthnRoutes(options: AuthnRoutesOptions): Route[] {
  const { run, clientOf } = options
  const handler =
    (parseRequest: (req: Request) => StepRequest): Route['handle'] =>
    async (req, res) => {
      const client = clientOf(req, res)
      present(res, await run(parseRequest(req), client), options)
    }
  const recoveryHandler = (recoveryType: RecoveryType) =>
    handler((req) => ({ kind: 'recovery', recoveryType, body: parse(recoveryBody, req.body) }))

  const entryRoutes = routesOf(ENTRY_OPERATIONS, {
    authenticate: handler((req) => {
      const { stateToken: handle, ...fields } = parse(primaryBody, req.body)
      return handle === undefined ? { kind: 'sign-in', body: fields } : { kind: 'state', handle, fields }
    }),
    introspect: handler((req) => {
      const { stateToken: handle } = parse(stateBody, req.body)
      return { kind: 'state', handle, fields: {} }
    }),
    recoverPassword: recoveryHandler('PASSWORD'),
    unlockAccount: recoveryHandler('UNLOCK'),
    redeemRecoveryToken: handler((req) => ({
      kind: 'recovery-token',
      body: parse(recoveryTokenBody, req.body),
    })),
  })
  const stepRoutes = OPERATIONS.map((operation) => ({
    ...operation,
    handle: handler((req) => {
      const { stateToken: handle, ...fields } = parse(operation.body, req.body)
      const query = parse(operation.query, req.query)
      const search = req.url.replace(/^[^?]*/, '')
      return {
        kind: 'operation',
        handle,
        operation: operation.id,
        params: paramsOf(req),
        query,
        search,
        fields,
      }
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
  { setSession }: Pick<AuthnRoutesOptions, 'setSession'>,
): void {
  if (sessionId !== undefined) setSession(res, sessionId)
  if (errorCode !== undefined) getRequestContext(res.req).errorCode = errorCode
  sendJsonText(res.status(status).set(headers), body)
}

/** No route has wildcards, whose values are lists. */
const paramsOf = ({ params }: Request) => params as Readonly<Record<string, string>>
