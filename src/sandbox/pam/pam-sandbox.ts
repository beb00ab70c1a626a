import { randomBytes } from 'node:crypto'
import express, { type Express } from 'express'
import type { CallLog } from '../call-log.ts'
import type { Faults } from '../faults.ts'
import { parsePamConfig } from './pam-config.ts'
import { createPamControl, type PamControl } from './pam-control.ts'
import {
  answerErrors,
  failOnRequest,
  keepAllowance,
  rateLimitedAnswer,
  readBody,
  refuseDeprecated,
  stampDate,
} from './pam-middleware.ts'
import { createPamRoutes } from './pam-routes.ts'
import { createPamState } from './pam-state.ts'

export type PamSandbox = { app: Express; control: PamControl }

/**
 * A stand-in for the privileged access management API: service-user tokens, group lists, pages, rate
 * limits and all of its errors.
 *
 * @param config the "pam" key of config/sandbox.json, checked here
 * @param now milliseconds; tokens, keys and rate limits run on it
 * @param random that many random bytes, for bearer tokens
 */
export function createPamSandbox({
  config: configInput,
  now,
  random = randomBytes,
  faults,
  calls,
}: {
  config: unknown
  now: () => number
  random?: (bytes: number) => Buffer
  faults: Faults
  calls: CallLog
}): PamSandbox {
  const config = parsePamConfig(configInput)
  const fresh = () => createPamState({ config, now, random })
  let current = fresh()
  const state = () => current
  const reset = () => {
    current = fresh()
  }

  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing')
  app.enable('strict routing')

  app.use(calls.middleware())
  app.use(stampDate({ state, now }))
  app.use(readBody())
  app.use(keepAllowance({ state }))
  app.use(faults.middleware({ rateLimited: rateLimitedAnswer({ state, now }) }))
  app.use(failOnRequest({ state, now }))
  app.use(refuseDeprecated({ state }))
  app.use(createPamRoutes({ state }))
  app.use(answerErrors({ state }))

  const served = config.basePath === undefined ? app : express().use(config.basePath, app)
  return { app: served, control: createPamControl({ state, reset, now }) }
}
