import type { Request, Response } from 'express'
import { routesOf } from '../http/operation.ts'
import { contextOf } from '../http/request-context.ts'
import { sendJsonText } from '../http/response.ts'
import type { Route } from '../http/routes.ts'
import { ENTRY_OPERATIONS, OFFERED_OPERATIONS } from './authn-operations.ts'
import type { Client } from './browser/client.ts'
import type { RecoveryType } from './recovery/recovery.ts'
import type { FetchOffered } from './sign-in/fetch-offered.ts'
import { OPERATIONS, type Operation } from './sign-in/operations.ts'
import {
  type PrimaryBody,
  parse,
  primaryBody,
  type QueryFlags,
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
    ...operation,
    async handle(req, res) {
      const client = clientOf(req, res)
      const body = parse(operation.body, req.body)
      const query: QueryFlags = parse(operation.query, req.query)
      present(
        res,
        await runStep(steps.operation({ operation, params: paramsOf(req), query, body }, client), client),
      )
    },
  })

  const recover =
    (recoveryType: RecoveryType): Route['handle'] =>
    async (req, res) => {
      const client = clientOf(req, res)
      present(res, await runStep(steps.recover(recoveryType, parse(recoveryBody, req.body), client), client))
    }

  const entryRoutes = routesOf(ENTRY_OPERATIONS, {
    async authenticate(req, res) {
      const client = clientOf(req, res)
      const body = parse(primaryBody, req.body)
      const step = hasState(body) ? steps.state(body, client) : steps.start(body, client)
      present(res, await runStep(step, client))
    },
    async introspect(req, res) {
      const client = clientOf(req, res)
      present(res, await runStep(steps.state(parse(stateBody, req.body), client), client))
    },
    recoverPassword: recover('PASSWORD'),
    unlockAccount: recover('UNLOCK'),
    async redeemRecoveryToken(req, res) {
      const client = clientOf(req, res)
      present(res, await runStep(steps.redeem(parse(recoveryTokenBody, req.body), client), client))
    },
  })
  const offeredRoutes = routesOf(OFFERED_OPERATIONS, {
    async listSecurityQuestions(req, res) {
      present(res, await fetchOffered.questions(inOneSpelling(req.path), clientOf(req, res)))
    },
    async getEnrolmentPicture(req, res) {
      const answer = await fetchOffered.picture(inOneSpelling(req.path), clientOf(req, res))
      if (answer.kind !== 'picture') return present(res, answer)
      res.set('Cross-Origin-Resource-Policy', 'same-site').type(answer.type).send(answer.bytes)
    },
  })
  return [...entryRoutes, ...OPERATIONS.map(stepRoute), ...offeredRoutes]
}

function hasState(body: PrimaryBody): body is PrimaryBody & { stateToken: string } {
  return body.stateToken !== undefined
}

function paramsOf(req: Request): Record<string, string> {
  return Object.fromEntries(
    Object.entries(req.params).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )
}
