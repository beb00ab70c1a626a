import { type Request, type RequestHandler, Router } from 'express'
import type { z } from 'zod'
import { invalidToken, methodNotAllowed } from './authn-error.ts'
import { clientContextOf, requireAcceptsJson } from './authn-middleware.ts'
import {
  activateFactor,
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
import { applyIdentityProviderApproval, duoCallback, resendChallenge, verifyFactor } from './verify.ts'

type Parts = { org: Org; originOf: (req: Request) => string }
type Step<Body> = {
  org: Org
  transaction: Transaction
  body: Body
  req: Request
  origin: string
}
type StepWithUser<Body> = Step<Body> & { user: User }

const AUTHN = '/api/v1/authn'
const FACTOR = `${AUTHN}/factors/:factorId`
const FACTOR_OF_USER = '/api/v1/users/:userId/factors/:factorId'

/** Every operation of the sign-in API: path by path, the state it needs, and what it does. */
export function createAuthnRoutes({ org, originOf }: Parts): Router {
  const router = Router({ caseSensitive: true, strict: true })

  post([AUTHN], (req) =>
    show(req, authenticate(org, parseBody(primaryBody, req.body), clientContextOf(org, req))),
  )
  step([`${AUTHN}/introspect`], 'state', stateBody, ({ transaction }) =>
    applyIdentityProviderApproval(org, transaction),
  )
  post([`${AUTHN}/cancel`], (req) => {
    const transaction = org.transactions.find(parseBody(stateBody, req.body).stateToken)
    requireAllowed(transaction.status, 'cancel')
    return cancel(org, transaction)
  })
  step([`${AUTHN}/previous`], 'previous', stateBody, ({ transaction }) => goBack(transaction))
  personal([`${AUTHN}/skip`], 'skip', stateBody, ({ transaction, user }) => skip(org, transaction, user))

  personal([`${AUTHN}/credentials/change_password`], 'change-password', changePasswordBody, (one) =>
    changePassword(org, one.transaction, one.user, one.body),
  )
  personal([`${AUTHN}/credentials/reset_password`], 'reset-password', resetPasswordBody, (one) =>
    resetPassword(org, one.transaction, one.user, one.body),
  )

  personal([`${AUTHN}/factors`], 'enroll', enrollBody, (one) =>
    enrollFactor({ ...one, updatePhone: isTrue(one.req.query.updatePhone) }),
  )
  personal([`${FACTOR}/verify`], 'verify', factorBody, (one) =>
    verifyFactor(factorCall(one), {
      rememberDevice: isTrue(one.req.query.rememberDevice),
      autoPush: isTrue(one.req.query.autoPush),
    }),
  )
  personal([`${FACTOR}/verify/resend`], 'resend-challenge', factorBody, (one) =>
    resendChallenge(factorCall(one)),
  )
  for (const factor of [FACTOR, FACTOR_OF_USER]) {
    const lifecycle = `${factor}/lifecycle`
    personal([`${lifecycle}/activate`], 'activate', factorBody, (one) => activateFactor(factorCall(one)))
    personal([`${lifecycle}/activate/poll`], 'activation-poll', factorBody, (one) =>
      pollActivation(factorCall(one)),
    )
    personal([`${lifecycle}/activate/email`], 'send-activation', factorBody, (one) =>
      sendActivationLink(factorCall(one), 'email'),
    )
    personal([`${lifecycle}/activate/sms`], 'send-activation', factorBody, (one) =>
      sendActivationLink(factorCall(one), 'sms'),
    )
  }
  duo([`${FACTOR}/lifecycle/duoCallback`])
  personal([`${FACTOR}/lifecycle/resend`], 'resend-enrollment', factorBody, (one) =>
    resendEnrollment(factorCall(one)),
  )

  post([`${AUTHN}/recovery/password`], (req) => recover(req, 'PASSWORD'))
  post([`${AUTHN}/recovery/unlock`], (req) => recover(req, 'UNLOCK'))
  post([`${AUTHN}/recovery/token`], (req) =>
    show(req, redeemRecoveryToken(org, parseBody(recoveryTokenBody, req.body), clientContextOf(org, req))),
  )
  step([`${AUTHN}/recovery/factors/:type/verify`], 'verify-recovery', recoveryCodeBody, (one) =>
    verifyRecovery(org, ofType(one), one.body.passCode),
  )
  step([`${AUTHN}/recovery/factors/:type/resend`], 'resend-recovery', stateBody, (one) =>
    resendRecovery(org, ofType(one)),
  )
  personal([`${AUTHN}/recovery/answer`], 'answer', recoveryAnswerBody, (one) =>
    answerQuestion(org, one.transaction, one.user, one.body.answer),
  )
  return router

  function post(paths: string[], answer: (req: Request) => Record<string, unknown>): void {
    router.post(paths, requireAcceptsJson, (req, res) => {
      res.json(answer(req))
    })
    router.all(paths, rejectOtherMethods('POST'))
  }

  /** An operation on a transaction that exists, in a state that takes it. */
  function step<S extends z.ZodType<{ stateToken: string }>>(
    paths: string[],
    operation: Operation,
    schema: S,
    take: (one: Step<z.output<S>>) => void,
  ): void {
    post(paths, (req) => {
      const body = parseBody(schema, req.body)
      const transaction = org.transactions.find(body.stateToken)
      requireAllowed(transaction.status, operation)
      const { userId } = req.params
      if (userId !== undefined && userId !== transaction.user?.id) throw invalidToken()
      take({ org, transaction, body, req, origin: originOf(req) })
      return show(req, transaction)
    })
  }

  function personal<S extends z.ZodType<{ stateToken: string }>>(
    paths: string[],
    operation: Operation,
    schema: S,
    take: (one: StepWithUser<z.output<S>>) => void,
  ): void {
    step(paths, operation, schema, (one) => {
      const { user } = one.transaction
      if (user === undefined) throw invalidToken()
      take({ ...one, user })
    })
  }

  /** No body in the answer: the page asks with its next poll where it stands. */
  function duo(paths: string[]): void {
    router.post(paths, (req, res) => {
      const form = parseBody(duoForm, req.body)
      const transaction = org.transactions.find(form.stateToken)
      requireAllowed(transaction.status, 'duo-callback')
      const { user } = transaction
      if (user === undefined) throw invalidToken()
      const factorId = String(req.params.factorId)
      duoCallback({ org, transaction, user, factorId, origin: originOf(req) }, form)
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

  function show(req: Request, transaction: Transaction) {
    return present({ org, transaction, origin: originOf(req) })
  }
}

export function rejectOtherMethods(allowed: string): RequestHandler {
  return function rejectMethod() {
    throw methodNotAllowed(allowed)
  }
}

function factorCall(one: StepWithUser<z.output<typeof factorBody>>) {
  return { ...one, factorId: String(one.req.params.factorId) }
}

/** SMS or CALL in the path must be the transaction's own. */
function ofType({ transaction, req }: Step<unknown>): Transaction {
  if (String(req.params.type).toUpperCase() !== transaction.recoveryFactor) throw invalidToken()
  return transaction
}

function isTrue(value: unknown): boolean {
  return value === 'true'
}
