import { z } from 'zod'
import type { BodyEncoding } from '../http/body-parser.ts'
import type { Operation as ApiOperation, Operations } from '../http/route.ts'
import {
  activateBody,
  answerBody,
  changePasswordBody,
  duoCallbackBody,
  enrollBody,
  enrollResendBody,
  primaryBody,
  queryFlags,
  recoveryBody,
  recoveryCodeBody,
  recoveryTokenBody,
  resetPasswordBody,
  sendLinkBody,
  stateBody,
  verifyBody,
} from './schemas.ts'
import type { AttemptRule } from './throttling/attempts.ts'
import type { CredentialKind } from './transaction/credentials.ts'
import type { Transaction } from './transaction/transaction.ts'

/**
 * Whether the call to Okta carries the API token. With it, Okta takes the start of a recovery for
 * an administrator's reset, after which the user cannot sign in (R1); and it needs rights to read
 * questions and to send activation links, which public clients do not need (S17).
 * `not-in-recovery`: not in a transaction that a recovery began.
 */
export type ApiTokenUse = 'always' | 'never' | 'not-in-recovery'

/** An operation, and how Okta is called for it. */
interface OktaOperation extends ApiOperation {
  readonly apiToken: ApiTokenUse
}

export function carriesApiToken(
  { apiToken }: Pick<OktaOperation, 'apiToken'>,
  { isRecovery = false }: Pick<Transaction, 'isRecovery'> = {},
): boolean {
  return apiToken === 'always' || (apiToken === 'not-in-recovery' && !isRecovery)
}

/** A step in a transaction. Its path is Okta's, and its body has the handle. */
export interface Operation extends OktaOperation {
  /** In metrics and audit events. */
  readonly name: string
  readonly body: z.ZodType<{ stateToken: string } & Record<string, unknown>>
  /** The encoding of the request and of the call to Okta. */
  readonly encoding: BodyEncoding
  /** Parameters that are passed to Okta. */
  readonly query: z.ZodObject
  /** `offered`: allowed only if Okta offered it in this transaction. */
  readonly allowed: 'offered' | 'always'
  /** The credential that it sends, if any. */
  readonly credential: CredentialKind | undefined
  /** What an attempt counts as. */
  readonly attempt: AttemptRule
  /** If it is accepted, the user has another password. */
  readonly changesPassword: boolean
  /** If the body has only the handle, the request is a poll, for example of a push. */
  readonly polls: boolean
  /** How many requests of the transaction may run while this one runs, itself included. */
  readonly maxConcurrent?: number
}

const API = '/api/v1/authn'
const FACTOR = `${API}/factors/:id`
/**
 * Okta's other path for activating a push factor: links by email and text message, and a restart
 * after a timeout.
 */
const USER_FACTOR = '/api/v1/users/:uid/factors/:id'

/** Operations that begin a sign-in or get its state. */
export const ENTRY_OPERATIONS = {
  authenticate: { method: 'POST', path: API, apiToken: 'always', body: primaryBody },
  introspect: { method: 'POST', path: `${API}/introspect`, apiToken: 'always', body: stateBody },
  recoverPassword: {
    method: 'POST',
    path: `${API}/recovery/password`,
    apiToken: 'never',
    body: recoveryBody,
  },
  unlockAccount: { method: 'POST', path: `${API}/recovery/unlock`, apiToken: 'never', body: recoveryBody },
  redeemRecoveryToken: {
    method: 'POST',
    path: `${API}/recovery/token`,
    apiToken: 'never',
    body: recoveryTokenBody,
  },
} as const satisfies Operations & Readonly<Record<string, OktaOperation>>

/** GET requests for links that a response has offered. */
export const OFFERED_OPERATIONS = {
  listSecurityQuestions: { method: 'GET', path: '/api/v1/users/:uid/factors/questions', apiToken: 'never' },
  getEnrollmentPicture: {
    method: 'GET',
    path: `${USER_FACTOR}/qr/:token`,
    apiToken: 'never',
    kind: 'image', // an <img> names no origin
  },
} as const satisfies Operations & Readonly<Record<string, OktaOperation>>

const UPDATE_PHONE = queryFlags.pick({ updatePhone: true })
const VERIFY_FLAGS = queryFlags.pick({ rememberDevice: true, autoPush: true })

const ACTIVATE = { body: activateBody, query: UPDATE_PHONE, attempt: 'code-if-sent', polls: true } as const
const SEND_LINK = {
  body: sendLinkBody,
  query: UPDATE_PHONE,
  attempt: 'message',
  apiToken: 'never',
} as const

export const STEP_OPERATIONS = {
  cancel: step('cancel', `${API}/cancel`, { allowed: 'always' }),
  previous: step('previous', `${API}/previous`, { allowed: 'always' }),
  skip: step('skip', `${API}/skip`),
  changePassword: step('change_password', `${API}/credentials/change_password`, {
    body: changePasswordBody,
    credential: 'password',
    attempt: 'password-if-sent',
    changesPassword: true,
  }),
  resetPassword: step('reset_password', `${API}/credentials/reset_password`, {
    body: resetPasswordBody,
    credential: 'new-password',
    attempt: 'code-if-sent',
    changesPassword: true,
    apiToken: 'not-in-recovery',
  }),
  answerRecoveryQuestion: step('recovery_answer', `${API}/recovery/answer`, {
    body: answerBody,
    attempt: 'code-if-sent',
    apiToken: 'never',
  }),
  // deliberately delayed, and anyone can start a recovery: limit concurrent requests
  verifyRecoveryFactor: step('recovery_verify', `${API}/recovery/factors/:type/verify`, {
    body: recoveryCodeBody,
    attempt: 'code-if-sent',
    apiToken: 'never',
    maxConcurrent: 2,
  }),
  resendRecoveryFactor: step('recovery_resend', `${API}/recovery/factors/:type/resend`, {
    attempt: 'message',
    apiToken: 'never',
    maxConcurrent: 2,
  }),
  enrollFactor: step('enroll', `${API}/factors`, {
    body: enrollBody,
    query: UPDATE_PHONE,
    attempt: 'enrollment',
  }),
  verifyFactor: step('verify', `${FACTOR}/verify`, {
    body: verifyBody,
    query: VERIFY_FLAGS,
    credential: 'factor',
    attempt: 'verification',
    polls: true,
  }),
  resendChallenge: step('resend', `${FACTOR}/verify/resend`, { query: VERIFY_FLAGS, attempt: 'resend' }),
  activateFactor: step('activate', `${FACTOR}/lifecycle/activate`, ACTIVATE),
  pollActivation: step('activate_poll', `${FACTOR}/lifecycle/activate/poll`, {
    query: UPDATE_PHONE,
    polls: true,
  }),
  // the sign-in widget posts the response of Duo's frame, and then polls
  completeDuo: step('duo_callback', `${FACTOR}/lifecycle/duoCallback`, {
    body: duoCallbackBody,
    attempt: 'code',
    encoding: 'form',
  }),
  resendActivation: step('activate_resend', `${FACTOR}/lifecycle/resend`, {
    body: enrollResendBody,
    query: UPDATE_PHONE,
    attempt: 'message',
  }),
  mailActivationLink: step('activate_email', `${FACTOR}/lifecycle/activate/email`, SEND_LINK),
  textActivationLink: step('activate_sms', `${FACTOR}/lifecycle/activate/sms`, SEND_LINK),
  activateUserFactor: step('activate', `${USER_FACTOR}/lifecycle/activate`, {
    ...ACTIVATE,
    apiToken: 'never',
  }),
  mailUserActivationLink: step('activate_email', `${USER_FACTOR}/lifecycle/activate/email`, SEND_LINK),
  textUserActivationLink: step('activate_sms', `${USER_FACTOR}/lifecycle/activate/sms`, SEND_LINK),
} satisfies Operations

export type StepOperationId = keyof typeof STEP_OPERATIONS

/** Every step in a transaction, with its id. */
export const OPERATIONS: readonly (Operation & { readonly id: StepOperationId })[] = (
  Object.keys(STEP_OPERATIONS) as StepOperationId[]
).map((id) => ({ id, ...STEP_OPERATIONS[id] }))

function step(name: string, path: string, rest: Partial<Operation> = {}): Operation {
  return {
    method: 'POST',
    name,
    path,
    apiToken: 'always',
    query: z.object({}),
    body: stateBody,
    encoding: 'json',
    allowed: 'offered',
    credential: undefined,
    attempt: 'call',
    changesPassword: false,
    polls: false,
    ...rest,
  }
}

/**
 * Okta's path: the template with the ids of the request's path, each encoded as one segment. Okta
 * accepts the factor type of a recovery (`SMS`, `CALL`) in any letter case.
 */
export function upstreamPath(operation: Operation, params: Readonly<Record<string, string>>): string {
  return operation.path.replace(/:(\w+)/g, (_, name: string) => {
    const value = params[name] ?? ''
    return encodeURIComponent(name === 'type' ? value.toUpperCase() : value)
  })
}
