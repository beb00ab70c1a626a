import { type Request, type RequestHandler, type Response, Router } from 'express'
import type { z } from 'zod'
import { invalidToken, methodNotAllowed } from './authn-error.ts'
import {
  clientContextOf,
  requireAcceptsJson,
  requireFactorRights,
  requireTokenToVerify,
} from './authn-middleware.ts'
import { saveAutoPush } from './auto-push-cookie.ts'
import {
  activateFactor,
  applyIdentityProviderApproval,
  enrollFactor,
  pollActivation,
  resendEnrollment,
  sendActivationLink,
} from './enroll.ts'
import { cancel, goBack, skip } from './navigation.ts'
import type { Org } from './org.ts'
import { changePassword, resetPassword } from './passwords.ts'
import { present } from './present.ts'
import { authenticate } from './primary.ts'
import {
  answerQuestion,
  redeemRecoveryToken,
  resendRecovery,
  startRecovery,
  verifyRecovery,
} from './recovery.ts'
import {
  changePasswordBody,
  duoForm,
  enrollBody,
  factorBody,
  parseBody,
  primaryBody,
  recoveryAnswerBody,
  recoveryBody,
  recoveryCodeBody,
  recoveryTokenBody,
  resetPasswordBody,
  stateBody,
} from './schemas.ts'
import { type Operation, requireAllowed } from './statuses.ts'
import type { Transaction } from './transaction.ts'
import type { User } from './user.ts'
import { duoCallback, resendChallenge, verifyFactor } from './verify.ts'

type Dependencies = { org: Org; originOf: (req: Request) => string }
type Step<Body> = {
  org: Org
  transaction: Transaction
  body: Body
  req: Request
  res: Response
  origin: string
  pageOrigin: string | undefined
}
type StepWithUser<Body> = Step<Body> & { user: User }

const AUTHN = '/api/v1/authn'
const FACTOR = `${AUTHN}/factors/:factorId`
const FACTOR_OF_USER = '/api/v1/users/:userId/factors/:factorId'

/**
 * The operations of the authentication API: their paths, the state that each requires, and their
 * effect.
 */
export function createAuthnRoutes({ org, originOf }: Dependencies): Router {
  const router = Router({ caseSensitive: true, strict: true })

  post([AUTHN], (req) =>
    respond(req, authenticate(org, parseBody(primaryBody, req.body), clientContextOf(org, req))),
  )
  transactionRoute([`${AUTHN}/introspect`], 'state', stateBody, ({ transaction }) =>
    applyIdentityProviderApproval(org, transaction),
  )
  post([`${AUTHN}/cancel`], (req) => {
    const transaction = org.transactions.find(parseBody(stateBody, req.body).stateToken)
    requireAllowed(transaction.status, 'cancel')
    return cancel(org, transaction)
  })
  transactionRoute([`${AUTHN}/previous`], 'previous', stateBody, ({ transaction }) => goBack(transaction))
  userRoute([`${AUTHN}/skip`], 'skip', stateBody, ({ transaction, user }) => skip(org, transaction, user))

  userRoute([`${AUTHN}/credentials/change_password`], 'change-password', changePasswordBody, (step) =>
    changePassword(org, step.transaction, step.user, step.body),
  )
  userRoute([`${AUTHN}/credentials/reset_password`], 'reset-password', resetPasswordBody, (step) =>
    resetPassword(org, step.transaction, step.user, step.body),
  )

  userRoute([`${AUTHN}/factors`], 'enroll', enrollBody, (step) =>
    enrollFactor({ ...step, updatePhone: isTrue(step.req.query.updatePhone) }),
  )
  userRoute([`${FACTOR}/verify`], 'verify', factorBody, (step) => {
    requireTokenToVerify(org, step.req)
    const { rememberDevice, autoPush } = step.req.query
    const saved = verifyFactor(factorCall(step), {
      rememberDevice: isTrue(rememberDevice),
      autoPush: autoPush === undefined ? undefined : isTrue(autoPush),
    })
    if (saved !== undefined) saveAutoPush(step.res, step.user, saved)
  })
  userRoute([`${FACTOR}/verify/resend`], 'resend-challenge', factorBody, (step) =>
    resendChallenge(factorCall(step)),
  )
  for (const factor of [FACTOR, FACTOR_OF_USER]) {
    const lifecycle = `${factor}/lifecycle`
    userRoute([`${lifecycle}/activate`], 'activate', factorBody, (step) => {
      if (factor === FACTOR_OF_USER) requireFactorRights(org, step.req)
      activateFactor(factorCall(step))
    })
    userRoute([`${lifecycle}/activate/poll`], 'activation-poll', factorBody, (step) =>
      pollActivation(factorCall(step)),
    )
    for (const by of ['email', 'sms'] as const)
      userRoute([`${lifecycle}/activate/${by}`], 'send-activation', factorBody, (step) => {
        requireFactorRights(org, step.req)
        sendActivationLink(factorCall(step), by)
      })
  }
  duoCallbackRoute([`${FACTOR}/lifecycle/duoCallback`])
  userRoute([`${FACTOR}/lifecycle/resend`], 'resend-enrollment', factorBody, (step) =>
    resendEnrollment(factorCall(step)),
  )

  post([`${AUTHN}/recovery/password`], (req) => recover(req, 'PASSWORD'))
  post([`${AUTHN}/recovery/unlock`], (req) => recover(req, 'UNLOCK'))
  post([`${AUTHN}/recovery/token`], (req) =>
    respond(req, redeemRecoveryToken(org, parseBody(recoveryTokenBody, req.body), clientContextOf(org, req))),
  )
  transactionRoute([`${AUTHN}/recovery/factors/:type/verify`], 'verify-recovery', recoveryCodeBody, (step) =>
    verifyRecovery(org, requireRecoveryFactor(step), step.body.passCode),
  )
  transactionRoute([`${AUTHN}/recovery/factors/:type/resend`], 'resend-recovery', stateBody, (step) =>
    resendRecovery(org, requireRecoveryFactor(step)),
  )
  userRoute([`${AUTHN}/recovery/answer`], 'answer', recoveryAnswerBody, (step) =>
    answerQuestion(org, step.transaction, step.user, step.body.answer),
  )
  return router

  function post(paths: string[], handle: (req: Request, res: Response) => Record<string, unknown>): void {
    router.post(paths, requireAcceptsJson, (req, res) => {
      res.json(handle(req, res))
    })
    router.all(paths, rejectOtherMethods('POST'))
  }

  /** An operation on an open transaction whose status allows it. */
  function transactionRoute<S extends z.ZodType<{ stateToken: string }>>(
    paths: string[],
    operation: Operation,
    schema: S,
    handle: (step: Step<z.output<S>>) => void,
  ): void {
    post(paths, (req, res) => {
      const body = parseBody(schema, req.body)
      const transaction = org.transactions.find(body.stateToken)
      requireAllowed(transaction.status, operation)
      const { userId } = req.params
      if (userId !== undefined && userId !== transaction.user?.id) throw invalidToken()
      handle({ org, transaction, body, req, res, origin: originOf(req), pageOrigin: req.headers.origin })
      return respond(req, transaction)
    })
  }

  /** As `transactionRoute`, for a transaction with a user. */
  function userRoute<S extends z.ZodType<{ stateToken: string }>>(
    paths: string[],
    operation: Operation,
    schema: S,
    handle: (step: StepWithUser<z.output<S>>) => void,
  ): void {
    transactionRoute(paths, operation, schema, (step) => {
      const { user } = step.transaction
      if (user === undefined) throw invalidToken()
      handle({ ...step, user })
    })
  }

  /** The response has no body: the page learns the result from its next poll. */
  function duoCallbackRoute(paths: string[]): void {
    router.post(paths, (req, res) => {
      const form = parseBody(duoForm, req.body)
      const transaction = org.transactions.find(form.stateToken)
      requireAllowed(transaction.status, 'duo-callback')
      const { user } = transaction
      if (user === undefined) throw invalidToken()
      const factorId = String(req.params.factorId)
      const call = { org, transaction, user, factorId, origin: originOf(req), pageOrigin: req.headers.origin }
      duoCallback(call, form)
      res.status(200).end()
    })
    router.all(paths, rejectOtherMethods('POST'))
  }

  function recover(req: Request, recoveryType: 'PASSWORD' | 'UNLOCK') {
    const body = parseBody(recoveryBody, req.body)
    return startRecovery({
      org,
      body,
      client: clientContextOf(org, req),
      origin: originOf(req),
      recoveryType,
    })
  }

  function respond(req: Request, transaction: Transaction) {
    return present({ org, transaction, origin: originOf(req) })
  }
}

export function rejectOtherMethods(allowed: string): RequestHandler {
  return function rejectMethod() {
    throw methodNotAllowed(allowed)
  }
}

function factorCall(step: StepWithUser<z.output<typeof factorBody>>) {
  return { ...step, factorId: String(step.req.params.factorId) }
}

/** The factor type in the path (SMS or CALL) must be the transaction's. */
function requireRecoveryFactor({ transaction, req }: Step<unknown>): Transaction {
  if (String(req.params.type).toUpperCase() !== transaction.recoveryFactor) throw invalidToken()
  return transaction
}

function isTrue(value: unknown): boolean {
  return value === 'true'
}
