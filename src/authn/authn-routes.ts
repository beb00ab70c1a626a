import type { Request, Response } from 'express'
import type { Route } from '../http/routes.ts'
import type { Broker } from './broker.ts'
import type { Client } from './client.ts'
import { OPERATIONS, type Operation } from './operations.ts'
import { type PrimaryBody, parse, primaryBody, type QueryFlags, queryFlags, stateBody } from './schemas.ts'
import type { StepOutcome } from './step-outcome.ts'

export interface AuthnRoutesParts {
  readonly broker: Broker
  readonly clientOf: (req: Request, res: Response) => Client
  /** The `Set-Cookie` header that opens a session in the browser. */
  readonly sessionCookie: (sessionId: string) => string
}

export function createAuthnRoutes({ broker, clientOf, sessionCookie }: AuthnRoutesParts): Route[] {
  const present = (res: Response, outcome: StepOutcome) => {
    if (outcome.kind === 'refusal') throw new Error('a refusal is thrown, not presented')
    if (outcome.sessionId !== undefined) res.append('Set-Cookie', sessionCookie(outcome.sessionId))
    if (outcome.errorCode !== undefined) res.locals.errorCode = outcome.errorCode
    res.status(outcome.status).set(outcome.headers).type('application/json').send(outcome.body)
  }

  const stepRoute = (operation: Operation): Route => ({
    method: 'POST',
    path: operation.path,
    async handle(req, res) {
      const client = clientOf(req, res)
      const body = parse(operation.body, req.body)
      const query = flagsOf(operation, req)
      present(res, await broker.take({ operation, params: paramsOf(req), query, body }, client))
    },
  })

  return [
    {
      method: 'POST',
      path: '/api/v1/authn',
      async handle(req, res) {
        const client = clientOf(req, res)
        const body = parse(primaryBody, req.body)
        present(res, hasState(body) ? await broker.state(body, client) : await broker.start(body, client))
      },
    },
    {
      method: 'POST',
      path: '/api/v1/authn/introspect',
      async handle(req, res) {
        const client = clientOf(req, res)
        present(res, await broker.state(parse(stateBody, req.body), client))
      },
    },
    ...OPERATIONS.map(stepRoute),
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
