import { randomBytes } from 'node:crypto'
import express, { type Express } from 'express'
import type { Faults } from '../faults.ts'
import type { RequestLog } from '../request-log.ts'
import { parsePamConfig } from './pam-config.ts'
import { createPamControl, type PamControl } from './pam-control.ts'
import {
  bodyParsers,
  enforceRateLimit,
  errorHandler,
  injectFailures,
  rateLimitedResponse,
  rejectDeprecatedPaths,
  setDateHeader,
} from './pam-middleware.ts'
import { createPamRoutes } from './pam-routes.ts'
import { createPamState } from './pam-state.ts'

export type PamSandbox = { app: Express; control: PamControl }

/**
 * Simulates the PAM API: service user tokens, group lists, pagination, rate limits and all errors.
 *
 * @param config the "pam" key of sandbox/sandbox.json, validated here
 * @param now milliseconds; the clock for tokens, keys and rate limits
 * @param random returns random bytes for bearer tokens
 */
export function createPamSandbox({
  config: configInput,
  now,
  random = randomBytes,
  faults,
  requestLog,
}: {
  config: unknown
  now: () => number
  random?: (bytes: number) => Buffer
  faults: Faults
  requestLog: RequestLog
}): PamSandbox {
  const config = parsePamConfig(configInput)
  const createState = () => createPamState({ config, now, random })
  let current = createState()
  const state = () => current
  const reset = () => {
    current = createState()
  }

  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing')
  app.enable('strict routing')

  app.use(requestLog.middleware())
  app.use(setDateHeader({ state, now }))
  app.use(bodyParsers())
  app.use(enforceRateLimit({ state }))
  app.use(faults.middleware({ rateLimited: rateLimitedResponse({ state, now }) }))
  app.use(injectFailures({ state, now }))
  app.use(rejectDeprecatedPaths({ state }))
  app.use(createPamRoutes({ state }))
  app.use(errorHandler({ state }))

  const servedApp = config.basePath === undefined ? app : express().use(config.basePath, app)
  return { app: servedApp, control: createPamControl({ state, reset, now }) }
}
