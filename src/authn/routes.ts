import type { Request, Response } from 'express'
import { contextOf } from '../http/request-context.ts'
import type { Route } from '../http/routes.ts'
import { sendJsonText } from '../http/send-json.ts'
import type { Client } from './browser/client.ts'
import type { RecoveryType } from './recovery/recovery.ts'
import type { FetchOffered } from './sign-in/fetch-offered.ts'
import { OPERATIONS, type Operation } from './sign-in/operations.ts'
import {
  type PrimaryBody,
  parse,
  primaryBody,
  type QueryFlags,
  queryFlags,
  recoveryBody,
  recoveryTokenBody,
  stateBody,
} from './sign-in/schemas.ts'
import type { RunStep } from './sign-in/step.ts'
import type { Steps } from './steps.ts'
import { inOneSpelling } from './transaction/offered-steps.ts'
import type { StepAnswer } from './transaction/step-result.ts'

export interface AuthnRoutesParts {
  readonly steps: Steps
  readonly runStep: RunStep
  readonly fetchOffered: FetchOffered
  readonly clientOf: (req: Request, res: Response) => Client
  /** The `Set-Cookie` header that opens a session in the browser. */
  readonly sessionCookie: (sessionId: string) => string
}

export function createAuthnRoutes({
  steps,
  runStep,
  fetchOffered,
  clientOf,
  sessionCookie,
}: AuthnRoutesParts): Route[] {
  const present = (res: Response, outcome: StepAnswer) => {
    if (outcome.sessionId !== undefined) res.append('Set-Cookie', sessionCookie(outcome.sessionId))
    if (outcome.errorCode !== undefined) contextOf(res.req).errorCode = outcome.errorCode
    sendJsonText(res.status(outcome.status).set(outcome.headers), outcome.body)
  }

  const stepRoute = (operation: Operation): Route => ({
    method: 'POST',
    path: operation.path,
    encoding: operation.encoding,
    async handle(req, res) {
      const client = clientOf(req, res)
      const body = parse(operation.body, req.body)
      const query = flagsOf(operation, req)
      present(
        res,
        await runStep(steps.operation({ operation, params: paramsOf(req), query, body }, client), client),
      )
    },
  })

  const recoveryRoute = (recoveryType: RecoveryType, path: string): Route => ({
    method: 'POST',
    path,
    async handle(req, res) {
      const client = clientOf(req, res)
      present(res, await runStep(steps.recover(recoveryType, parse(recoveryBody, req.body), client), client))
    },
  })

  return [
    {
      method: 'POST',
      path: '/api/v1/authn',
      async handle(req, res) {
        const client = clientOf(req, res)
        const body = parse(primaryBody, req.body)
        const step = hasState(body) ? steps.state(body, client) : steps.start(body, client)
        present(res, await runStep(step, client))
      },
    },
    {
      method: 'POST',
      path: '/api/v1/authn/introspect',
      async handle(req, res) {
        const client = clientOf(req, res)
        present(res, await runStep(steps.state(parse(stateBody, req.body), client), client))
      },
    },
    recoveryRoute('PASSWORD', '/api/v1/authn/recovery/password'),
    recoveryRoute('UNLOCK', '/api/v1/authn/recovery/unlock'),
    {
      method: 'POST',
      path: '/api/v1/authn/recovery/token',
      async handle(req, res) {
        const client = clientOf(req, res)
        present(res, await runStep(steps.redeem(parse(recoveryTokenBody, req.body), client), client))
      },
    },
    ...OPERATIONS.map(stepRoute),
    {
      method: 'GET',
      path: '/api/v1/users/:uid/factors/questions',
      async handle(req, res) {
        present(res, await fetchOffered.questions(inOneSpelling(req.path), clientOf(req, res)))
      },
    },
    {
      method: 'GET',
      path: '/api/v1/users/:uid/factors/:id/qr/:token',
      getFrom: 'same-site', // an <img> names no origin
      async handle(req, res) {
        const answer = await fetchOffered.picture(inOneSpelling(req.path), clientOf(req, res))
        if (answer.kind !== 'picture') return present(res, answer)
        res.set('Cross-Origin-Resource-Policy', 'same-site').type(answer.type).send(answer.bytes)
      },
    },
  ]
}

function hasState(body: PrimaryBody): body is PrimaryBody & { stateToken: string } {
  return body.stateToken !== undefined
}

/** Only the flags that this operation knows; another parameter is left out. */
function flagsOf(operation: Operation, req: Request): QueryFlags {
  return parse(queryFlags, Object.fromEntries(operation.query.map((name) => [name, req.query[name]])))
}

function paramsOf(req: Request): Record<string, string> {
  return Object.fromEntries(
    Object.entries(req.params).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )
}
