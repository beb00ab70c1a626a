import express, { type ErrorRequestHandler, type RequestHandler, Router } from 'express'
import { z } from 'zod'
import { SEND_LIMITS, type SendLimit } from './authn/authn-error.ts'
import type { Org } from './authn/org.ts'
import type { User } from './authn/user.ts'
import { LIFECYCLE_OPERATIONS, statusOf } from './authn/user-lifecycle.ts'
import { type AuthnControl, nextUserCode, UndeliveredEvent } from './control.ts'
import type { DeliveryFaults } from './delivery-faults.ts'
import type { EventHook } from './event-hook.ts'
import { InvalidFaultRule } from './fault-rules.ts'
import type { Faults } from './faults.ts'
import { refuseOtherSites } from './other-sites.ts'
import type { PamControl } from './pam/pam-control.ts'
import type { RequestLog } from './request-log.ts'
import { networkZone, PUSH_ANSWERS } from './sandbox-config.ts'

/** One value for each of the two APIs. */
export type PerApi<Value> = { authn: Value; pam: Value }
/** Of the requests to each API, and of the deliveries of events. */
export type AllFaults = PerApi<Faults> & { events: DeliveryFaults }

const api = z.enum(['authn', 'pam'])
const operation = z.enum(LIFECYCLE_OPERATIONS)
const pushBody = z.object({ answer: z.enum(PUSH_ANSWERS) })
const keyBody = z.object({
  challenge: z.string(),
  origin: z.string(),
  credentialId: z.string().optional(),
})
const stepUpBody = z.object({
  app: z.string(),
  login: z.string().optional(),
  signInPage: z.string().optional(),
})
const pamBody = z.object({ args: z.array(z.unknown()).default([]) })
const SEND_LIMIT_CODES = Object.keys(SEND_LIMITS) as SendLimit[] // of a literal
const settingsBody = z.object({
  factorListName: z.enum(['factors', 'factor']).optional(),
  resetPasswordName: z.enum(['resetPassword', 'password']).optional(),
  refusedCodes: z.enum(['factorResult', 'error']).optional(),
  recoveryLoggedAt: z.enum(['start', 'completion']).optional(),
  breachedSignIn: z.enum(['expired', 'continued', 'refused']).optional(),
  breachDetected: z.enum(['always', 'once']).optional(),
  wrongOldPassword: z.enum(['recorded', 'documented']).optional(),
  language: z.enum(['en', 'de']).optional(),
  wrongPassword: z.enum(['E0000004', 'E0000207']).optional(),
  passwordRules: z.enum(['all-rules', 'broken-rules', 'no-causes']).optional(),
  youngPassword: z.enum(['age', 'all-rules', 'allowed-if-expired']).optional(),
  directoryAgent: z.enum(['connected', 'slow', 'timed-out', 'disconnected']).optional(),
  blockedZones: z.array(networkZone).optional(),
  suspectedAddresses: z.array(z.string()).optional(),
  pipeline: z.enum(['v1', 'idx']).optional(),
  globalSessionPolicy: z.boolean().optional(),
  classicRecovery: z.boolean().optional(),
  redeemsSessionTokens: z.boolean().optional(),
  sessionTokenReplacesSession: z.boolean().optional(),
  tokenRecoveryResets: z.boolean().optional(),
  usedLink: z.enum(['E0000105', 'E0000110', 'E0000006']).optional(),
  federatedRecovery: z.enum(['E0000006', 'E0000017']).optional(),
  tokenManagesFactors: z.boolean().optional(),
  sendLimit: z.enum(SEND_LIMIT_CODES).nullable().optional(),
  forwardedForNeedsToken: z.boolean().optional(),
  remembersUnasked: z.boolean().optional(),
  verifyNeedsToken: z.boolean().optional(),
})
/** A fault rule may carry a response body that is larger than the broker accepts. */
const MAX_BODY = '4mb'
const faultsBody = z.object({
  api: z.enum(['authn', 'pam', 'events']).default('authn'),
  // `set` validates the rules themselves and names the wrong fields.
  rules: z.array(z.custom<never>((rule) => rule !== null && typeof rule === 'object')),
})

/**
 * The control API of a running sandbox, under /sandbox/ on the listener of the authentication API.
 */
export function createControlRoutes({
  org,
  control,
  requestLog,
  faults,
  eventHook,
  pamControl,
  reset,
}: {
  org: Org
  control: AuthnControl
  requestLog: PerApi<RequestLog>
  faults: AllFaults
  eventHook: EventHook
  pamControl: PamControl
  reset: () => void | Promise<void>
}): Router {
  const router = Router()
  router.use(refuseOtherSites(org.config.hosts), allowLocalPages)
  router.use(express.json({ limit: MAX_BODY }))

  router.get('/users', (_req, res) => {
    res.json(control.users().map(presentUser))
  })
  router.get('/users/:login', (req, res) => {
    res.json(presentUser(control.user(req.params.login)))
  })
  router.post('/users/:login/push', (req, res) => {
    control.answerPush(req.params.login, pushBody.parse(req.body).answer)
    res.status(204).end()
  })
  router.post('/users/:login/duo', (req, res) => {
    res.json({ sig_response: control.duoResponse(req.params.login) })
  })
  router.get('/users/:login/key', (req, res) => {
    const { credentialId, privateKey } = control.authenticator(req.params.login)
    res.json({ credentialId, privateKey: privateKey() })
  })
  router.post('/users/:login/key', (req, res) => {
    const { challenge, origin, credentialId } = keyBody.parse(req.body)
    res.json(control.authenticator(req.params.login, credentialId).signWebauthn(challenge, origin))
  })
  router.post('/users/:login/activation-token', (req, res) => {
    res.json({ token: control.activationToken(req.params.login) })
  })
  router.post('/users/:login/recovery-token', (req, res) => {
    res.json({ token: control.recoveryToken(req.params.login) })
  })
  router.post('/users/:login/lifecycle/:operation', async (req, res) => {
    await control.changeLifecycle(req.params.login, operation.parse(req.params.operation))
    res.status(204).end()
  })
  router.get('/tokens/:credentialId', (req, res) => {
    res.json({ code: control.tokenCode(req.params.credentialId) })
  })
  router.post('/step-up', (req, res) => {
    const { app, login, signInPage } = stepUpBody.parse(req.body)
    res.json(control.startStepUp(app, login, signInPage))
  })

  router.get('/outbox', (_req, res) => {
    res.json(control.outbox.messages)
  })
  router.get('/sign-ins', (_req, res) => {
    res.json(control.signIns)
  })
  router.get('/requests', (req, res) => {
    res.json(requestLog[api.parse(req.query.api ?? 'authn')].entries)
  })
  router.get('/deliveries', (_req, res) => {
    res.json(eventHook.calls)
  })
  router.post('/faults', (req, res) => {
    const body = faultsBody.parse(req.body)
    faults[body.api].set(body.rules)
    res.status(204).end()
  })
  router.delete('/faults', (_req, res) => {
    for (const each of Object.values(faults)) each.clear()
    res.status(204).end()
  })
  /** Calls the method of PamControl with this name; `args` are its arguments in order. */
  router.post('/pam/:operation', (req, res) => {
    const { operation } = req.params
    const method: unknown = Object.hasOwn(pamControl, operation)
      ? Reflect.get(pamControl, operation)
      : undefined
    if (typeof method !== 'function') throw new Error(`the PAM control has no operation ${operation}`)
    const result: unknown = Reflect.apply(method, pamControl, pamBody.parse(req.body ?? {}).args)
    if (result === undefined) res.status(204).end()
    else res.json(result)
  })
  router.post('/settings', (req, res) => {
    Object.assign(control.settings, settingsBody.parse(req.body))
    res.status(204).end()
  })
  router.post('/expire', (_req, res) => {
    control.expireTransactions()
    res.status(204).end()
  })
  router.post('/reset', async (_req, res) => {
    await reset()
    res.status(204).end()
  })

  router.use((req, res) => {
    res.status(404).json({ error: `no control route ${req.method} ${req.originalUrl}` })
  })
  router.use(sendControlError)
  return router

  function presentUser(user: User) {
    const { login, config, id } = user
    return {
      id,
      login,
      status: statusOf(user),
      password: user.password,
      code: nextUserCode(org, user),
      description: config.description,
    }
  }
}

/**
 * Pages on this machine (the demo, a portal under development) may call the control API from
 * another port.
 */
const allowLocalPages: RequestHandler = (req, res, next) => {
  const { origin } = req.headers
  if (origin === undefined) return next()
  res.set({
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Headers': 'content-type',
    'Access-Control-Allow-Methods': 'GET, POST, DELETE',
    Vary: 'Origin',
  })
  if (req.method === 'OPTIONS') res.status(204).end()
  else next()
}

/**
 * Control requests fail because of their input (400), or because the receiver of an event did not
 * take it (502).
 */
const sendControlError: ErrorRequestHandler = (error: unknown, _req, res, _next) => {
  if (error instanceof z.ZodError) res.status(400).json({ error: z.prettifyError(error) })
  else if (error instanceof InvalidFaultRule)
    res.status(400).json({ error: error.message, fields: error.fields })
  else if (error instanceof UndeliveredEvent) res.status(502).json({ error: error.message })
  else res.status(400).json({ error: error instanceof Error ? error.message : 'invalid request' })
}
