import { randomBytes } from 'node:crypto'
import express, { type Express } from 'express'
import type { Faults } from '../faults.ts'
import type { RequestLog } from '../request-log.ts'
import { parsePamConfig } from './pam-config.ts'
import { createPamControl, type PamControl } from './pam-control.ts'
import {
  enforceRateLimit,
  errorHandler,
  injectFailures,
  rateLimitedResponse,
  readBody,
  rejectDeprecatedPaths,
  setDateHeader,
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
  requestLog,
}: {
  config: unknown
  now: () => number
  random?: (bytes: number) => Buffer
  faults: Faults
  requestLog: RequestLog
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

  app.use(requestLog.middleware())
  app.use(setDateHeader({ state, now }))
  app.use(readBody())
  app.use(enforceRateLimit({ state }))
  app.use(faults.middleware({ rateLimited: rateLimitedResponse({ state, now }) }))
  app.use(injectFailures({ state, now }))
  app.use(rejectDeprecatedPaths({ state }))
  app.use(createPamRoutes({ state }))
  app.use(errorHandler({ state }))

  const served = config.basePath === undefined ? app : express().use(config.basePath, app)
  return { app: served, control: createPamControl({ state, reset, now }) }
}
