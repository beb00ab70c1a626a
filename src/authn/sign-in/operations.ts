import { z } from 'zod'
import { listFactorTypes } from '../../factor-types.ts'
import {
  type Operation as ApiOperation,
  type ErrorsByStatus,
  jsonResponse,
  type Operations,
  RATE_LIMIT_HEADERS,
} from '../../http/operation.ts'
import type { BodyEncoding } from '../../http/request-body.ts'
import type { CredentialKind } from '../transaction/credentials.ts'
import { signInAnswer } from './answer-schemas.ts'
import { cancelResponse, emptyResponse, paramsOf } from './response-schemas.ts'
import {
  activateBody,
  answerBody,
  changePasswordBody,
  duoCallbackBody,
  enrollBody,
  enrollResendBody,
  queryFlags,
  recoveryCodeBody,
  resetPasswordBody,
  sendLinkBody,
  stateBody,
  verifyBody,
} from './schemas.ts'

/** A step in a transaction. Its path is Okta's, and its body has the handle. */
export interface Operation extends ApiOperation {
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
  /** If the body has only the handle, the request is a poll, for example of a push. */
  readonly polls: boolean
  /** How many requests of the transaction may run while this one runs, itself included. */
  readonly maxConcurrent?: number
}

/** Errors of a step, from the broker or from Okta. */
export const STEP_ERRORS = {
  400: ['E0000001', 'E0000003'],
  401: ['E0000004', 'E0000011'],
  403: ['E0000014', 'E0000068', 'E0000069', 'E0000079', 'E0000087'],
  404: ['E0000007'],
  429: ['E0000047', 'E0000109', 'E0000133'],
  502: ['E0000009'],
  504: ['E0000009'],
} as const satisfies ErrorsByStatus

export const STEP = {
  loadKind: 'sign_in',
  cookies: { device: 'required', session: 'used' },
  headers: ['Accept-Language', 'X-Device-Fingerprint'],
  responses: {
    200: jsonResponse('The state of the sign-in', signInAnswer, ['Set-Cookie', ...RATE_LIMIT_HEADERS]),
  },
  errors: STEP_ERRORS,
  forwardsUpstreamErrors: true,
} as const satisfies Partial<ApiOperation>

const API = '/api/v1/authn'
const FACTOR = `${API}/factors/:id`
/** Okta's other path for activating a push factor: links by email and text message, and a restart after a timeout. */
const USER_FACTOR = '/api/v1/users/:uid/factors/:id'

const RECOVERY = { tag: 'Recovery', loadKind: 'recovery' } as const
const REVOKES = 'With `revokeSessions`, every other session of the user ends, here and at Okta.'
const UPDATE_PHONE = queryFlags.pick({ updatePhone: true })
const VERIFY_FLAGS = queryFlags.pick({ rememberDevice: true, autoPush: true })

const ACTIVATE = { body: activateBody, query: UPDATE_PHONE, polls: true } as const
const SEND_LINK = { body: sendLinkBody, query: UPDATE_PHONE } as const

export const STEP_OPERATIONS = {
  cancel: step('cancel', `${API}/cancel`, {
    tag: 'Sign-in',
    summary: 'Cancel the sign-in',
    allowed: 'always',
    responses: {
      200: jsonResponse('The sign-in has been cancelled', cancelResponse, [
        'Set-Cookie',
        ...RATE_LIMIT_HEADERS,
      ]),
    },
  }),
  previous: step('previous', `${API}/previous`, {
    tag: 'Sign-in',
    summary: 'Go back one step',
    allowed: 'always',
  }),
  skip: step('skip', `${API}/skip`, { tag: 'Sign-in', summary: 'Skip an optional step' }),
  changePassword: step('change_password', `${API}/credentials/change_password`, {
    tag: 'Sign-in',
    summary: 'Change an expired or expiring password',
    description: REVOKES,
    body: changePasswordBody,
    credential: 'password',
  }),
  resetPassword: step('reset_password', `${API}/credentials/reset_password`, {
    tag: 'Recovery',
    summary: 'Choose a new password',
    description: REVOKES,
    body: resetPasswordBody,
    credential: 'new-password',
  }),
  answerRecoveryQuestion: step('recovery_answer', `${API}/recovery/answer`, {
    ...RECOVERY,
    summary: 'Answer the recovery question',
    body: answerBody,
  }),
  // deliberately delayed, and anyone can start a recovery: limit concurrent requests
  verifyRecoveryFactor: step('recovery_verify', `${API}/recovery/factors/:type/verify`, {
    ...RECOVERY,
    summary: 'Verify the code sent by text message or call',
    body: recoveryCodeBody,
    maxConcurrent: 2,
  }),
  resendRecoveryFactor: step('recovery_resend', `${API}/recovery/factors/:type/resend`, {
    ...RECOVERY,
    summary: 'Resend the code',
    maxConcurrent: 2,
  }),
  enrollFactor: step('enroll', `${API}/factors`, {
    summary: 'Enroll a factor',
    body: enrollBody,
    query: UPDATE_PHONE,
  }),
  verifyFactor: step('verify', `${FACTOR}/verify`, {
    summary: 'Verify a factor: request a challenge, submit the code or answer, or poll a push',
    description: `Without a field, the step starts the challenge. The user approves these elsewhere, so they have no field: ${listFactorTypes('challenge', 'approval')}. If the answer’s \`next\` allows GET, the page navigates to it. Okta refuses \`signed_nonce\` here.`,
    body: verifyBody,
    query: VERIFY_FLAGS,
    credential: 'factor',
    polls: true,
  }),
  resendChallenge: step('resend', `${FACTOR}/verify/resend`, {
    summary: 'Resend the challenge',
    query: VERIFY_FLAGS,
  }),
  activateFactor: step('activate', `${FACTOR}/lifecycle/activate`, {
    summary: 'Activate an enrolled factor',
    ...ACTIVATE,
  }),
  pollActivation: step('activate_poll', `${FACTOR}/lifecycle/activate/poll`, {
    summary: 'Poll the activation',
    query: UPDATE_PHONE,
    polls: true,
  }),
  // the sign-in widget posts the response of Duo's frame, and then polls
  completeDuo: step('duo_callback', `${FACTOR}/lifecycle/duoCallback`, {
    summary: 'Submit the signed response of the Duo frame',
    description:
      'The target of the link `complete` of a Duo factor. The body is a form, not JSON. The response is empty; poll the link `next` afterwards.',
    body: duoCallbackBody,
    encoding: 'form',
    responses: { 200: jsonResponse('Accepted', emptyResponse, RATE_LIMIT_HEADERS) },
  }),
  resendActivation: step('activate_resend', `${FACTOR}/lifecycle/resend`, {
    summary: 'Resend the activation code',
    body: enrollResendBody,
    query: UPDATE_PHONE,
  }),
  mailActivationLink: step('activate_email', `${FACTOR}/lifecycle/activate/email`, {
    summary: 'Send the activation link by email',
    ...SEND_LINK,
  }),
  textActivationLink: step('activate_sms', `${FACTOR}/lifecycle/activate/sms`, {
    summary: 'Send the activation link by text message',
    ...SEND_LINK,
  }),
  activateUserFactor: step('activate', `${USER_FACTOR}/lifecycle/activate`, {
    summary: 'Activate a factor (alternative path that Okta’s links may use)',
    ...ACTIVATE,
  }),
  mailUserActivationLink: step('activate_email', `${USER_FACTOR}/lifecycle/activate/email`, {
    summary: 'Send the activation link by email (alternative path that Okta’s links may use)',
    ...SEND_LINK,
  }),
  textUserActivationLink: step('activate_sms', `${USER_FACTOR}/lifecycle/activate/sms`, {
    summary: 'Send the activation link by text message (alternative path that Okta’s links may use)',
    ...SEND_LINK,
  }),
} satisfies Operations

export const OPERATIONS: readonly Operation[] = Object.values(STEP_OPERATIONS)

function step(name: string, path: string, rest: Partial<Operation> & { summary: string }): Operation {
  return {
    ...STEP,
    method: 'POST',
    tag: 'Factors',
    name,
    path,
    params: paramsOf(path),
    query: z.object({}),
    body: stateBody,
    encoding: 'json',
    allowed: 'offered',
    credential: undefined,
    polls: false,
    ...rest,
  }
}

/** Okta's path: the template with the ids of the request's path, each encoded as one segment. */
export function upstreamPath(operation: Operation, params: Readonly<Record<string, string>>): string {
  return operation.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
}
