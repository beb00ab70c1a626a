import { z } from 'zod'
import {
  type ErrorsByStatus,
  json,
  type Operation,
  type Operations,
  RATE_LIMIT_HEADERS,
} from '../http/operation.ts'
import {
  cancelAnswer,
  formAnswer,
  pathParams,
  questionsAnswer,
  recoveryAnswer,
  transactionAnswer,
} from './answer-schemas.ts'
import { OPERATIONS, type Operation as StepOperation } from './sign-in/operations.ts'
import { primaryBody, queryFlags, recoveryBody, recoveryTokenBody, stateBody } from './sign-in/schemas.ts'

/** What a step can be refused with, by us or by the upstream. */
const STEP_ERRORS: ErrorsByStatus = {
  400: ['E0000001', 'E0000003'],
  401: ['E0000004', 'E0000011'],
  403: ['E0000014', 'E0000068', 'E0000069', 'E0000079', 'E0000087'],
  404: ['E0000007'],
  429: ['E0000047', 'E0000109', 'E0000133'],
  502: ['E0000009'],
  504: ['E0000009'],
}

const STEP = {
  cookies: { device: 'required', session: 'used' },
  headers: ['Accept-Language', 'X-Device-Fingerprint'],
  responses: {
    200: json('The state of the sign-in', transactionAnswer, ['Set-Cookie', ...RATE_LIMIT_HEADERS]),
  },
  errors: STEP_ERRORS,
  passesErrorsOn: true,
} as const satisfies Partial<Operation>

/** What begins a sign-in needs no device cookie: it sets one. */
const BEGINNING = { ...STEP, cookies: { device: 'used', session: 'used' } } as const

const RECOVERY_START = {
  ...BEGINNING,
  method: 'POST',
  tag: 'Recovery',
  body: recoveryBody,
  responses: {
    200: json('The same for known and unknown users', recoveryAnswer, ['Set-Cookie', ...RATE_LIMIT_HEADERS]),
  },
} as const satisfies Partial<Operation>

type Words = { readonly id: string } & Pick<Operation, 'tag' | 'summary' | 'description'>

/** What each step is called, by its path. */
const STEPS: Readonly<Record<string, Words>> = {
  '/api/v1/authn/cancel': { id: 'cancel', tag: 'Sign-in', summary: 'Cancel the sign-in' },
  '/api/v1/authn/previous': { id: 'previous', tag: 'Sign-in', summary: 'Go back one step' },
  '/api/v1/authn/skip': { id: 'skip', tag: 'Sign-in', summary: 'Skip an optional step' },
  '/api/v1/authn/credentials/change_password': {
    id: 'changePassword',
    tag: 'Sign-in',
    summary: 'Change an expired or expiring password',
    description: 'With `revokeSessions`, every other session of the user ends, here and at Okta.',
  },
  '/api/v1/authn/credentials/reset_password': {
    id: 'resetPassword',
    tag: 'Recovery',
    summary: 'Choose a new password',
    description: 'With `revokeSessions`, every other session of the user ends, here and at Okta.',
  },
  '/api/v1/authn/recovery/answer': {
    id: 'answerRecoveryQuestion',
    tag: 'Recovery',
    summary: 'Answer the recovery question',
  },
  '/api/v1/authn/recovery/factors/:type/verify': {
    id: 'verifyRecoveryFactor',
    tag: 'Recovery',
    summary: 'Verify the code that was sent by text message or call',
  },
  '/api/v1/authn/recovery/factors/:type/resend': {
    id: 'resendRecoveryFactor',
    tag: 'Recovery',
    summary: 'Resend the code',
  },
  '/api/v1/authn/factors': { id: 'enrollFactor', tag: 'Factors', summary: 'Enrol a factor' },
  '/api/v1/authn/factors/:id/verify': {
    id: 'verifyFactor',
    tag: 'Factors',
    summary: 'Verify a factor: choose it, send its code or answer, poll a push',
  },
  '/api/v1/authn/factors/:id/verify/resend': {
    id: 'resendChallenge',
    tag: 'Factors',
    summary: 'Resend the challenge',
  },
  '/api/v1/authn/factors/:id/lifecycle/activate': {
    id: 'activateFactor',
    tag: 'Factors',
    summary: 'Activate an enrolled factor',
  },
  '/api/v1/authn/factors/:id/lifecycle/activate/poll': {
    id: 'pollActivation',
    tag: 'Factors',
    summary: 'Poll the activation',
  },
  '/api/v1/authn/factors/:id/lifecycle/duoCallback': {
    id: 'completeDuo',
    tag: 'Factors',
    summary: 'Submit the signed response of the Duo frame',
    description:
      'A form, not JSON: the link `complete` of a Duo factor. The response is empty; poll the link `next` afterwards.',
  },
  '/api/v1/authn/factors/:id/lifecycle/resend': {
    id: 'resendActivation',
    tag: 'Factors',
    summary: 'Resend the activation code',
  },
  '/api/v1/authn/factors/:id/lifecycle/activate/email': {
    id: 'mailActivationLink',
    tag: 'Factors',
    summary: 'Send the activation link by email',
  },
  '/api/v1/authn/factors/:id/lifecycle/activate/sms': {
    id: 'textActivationLink',
    tag: 'Factors',
    summary: 'Send the activation link by text message',
  },
  '/api/v1/users/:uid/factors/:id/lifecycle/activate': {
    id: 'activateUserFactor',
    tag: 'Factors',
    summary: 'Activate a factor, at the other path that links may have',
  },
  '/api/v1/users/:uid/factors/:id/lifecycle/activate/email': {
    id: 'mailUserActivationLink',
    tag: 'Factors',
    summary: 'Send the activation link by email, at the other path that links may have',
  },
  '/api/v1/users/:uid/factors/:id/lifecycle/activate/sms': {
    id: 'textUserActivationLink',
    tag: 'Factors',
    summary: 'Send the activation link by text message, at the other path that links may have',
  },
}

export const AUTHN_OPERATIONS: Operations = {
  authenticate: {
    ...BEGINNING,
    method: 'POST',
    path: '/api/v1/authn',
    tag: 'Sign-in',
    summary: 'Begin a sign-in, get its state, or step up',
    description:
      'Username and password, or an activation token, begin a sign-in. A handle alone gets its state. A handle with both credentials steps up. `context` is accepted and not used: the device token comes from the cookie.',
    body: primaryBody,
  },
  introspect: {
    ...STEP,
    method: 'POST',
    path: '/api/v1/authn/introspect',
    tag: 'Sign-in',
    summary: 'Get the state of a sign-in',
    body: stateBody,
  },
  recoverPassword: {
    ...RECOVERY_START,
    path: '/api/v1/authn/recovery/password',
    summary: 'Forgotten password',
  },
  unlockAccount: {
    ...RECOVERY_START,
    path: '/api/v1/authn/recovery/unlock',
    summary: 'Unlock a locked account',
  },
  redeemRecoveryToken: {
    ...BEGINNING,
    method: 'POST',
    path: '/api/v1/authn/recovery/token',
    tag: 'Recovery',
    summary: 'Continue with the token of a recovery email',
    body: recoveryTokenBody,
  },
  ...Object.fromEntries(OPERATIONS.map(describeStep)),
  listSecurityQuestions: {
    ...STEP,
    method: 'GET',
    path: '/api/v1/users/:uid/factors/questions',
    tag: 'Factors',
    summary: 'Security questions to choose from',
    description: 'Only where this device was offered the link.',
    params: paramsOf('/api/v1/users/:uid/factors/questions'),
    responses: { 200: json('The questions', questionsAnswer) },
    errors: offered(STEP_ERRORS),
  },
  getEnrolmentPicture: {
    ...STEP,
    method: 'GET',
    path: '/api/v1/users/:uid/factors/:id/qr/:token',
    tag: 'Factors',
    summary: 'The QR image to scan when a factor is set up',
    description: 'Only where this device was offered the link.',
    params: paramsOf('/api/v1/users/:uid/factors/:id/qr/:token'),
    responses: {
      200: {
        description: 'The image',
        content: Object.fromEntries(
          ['png', 'jpeg', 'gif', 'webp'].map((type) => [`image/${type}`, picture()]),
        ),
      },
    },
    errors: offered(STEP_ERRORS),
  },
}

function describeStep({ path, body, query, encoding }: StepOperation): [string, Operation] {
  const words = STEPS[path]
  if (words === undefined) throw new Error(`${path} has no description`)
  const { id, ...rest } = words
  const operation: Operation = {
    ...STEP,
    ...rest,
    method: 'POST',
    path,
    ...(path.includes(':') ? { params: paramsOf(path) } : {}),
    ...(query.length === 0
      ? {}
      : { query: z.object(Object.fromEntries(query.map((name) => [name, queryFlags.shape[name]]))) }),
    body,
    encoding,
    ...(encoding === 'form' ? { responses: { 200: json('Accepted', formAnswer, RATE_LIMIT_HEADERS) } } : {}),
    ...(path === '/api/v1/authn/cancel'
      ? {
          responses: {
            200: json('The sign-in is cancelled', cancelAnswer, ['Set-Cookie', ...RATE_LIMIT_HEADERS]),
          },
        }
      : {}),
  }
  return [id, operation]
}

function paramsOf(path: string): z.ZodObject {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name)
  return z.object(Object.fromEntries(Object.entries(pathParams).filter(([name]) => names.includes(name))))
}

function picture(): z.ZodType {
  return z.unknown().meta({ override: { contentMediaType: 'image/*' } })
}

/** A GET of a link has no body and proves nothing. */
function offered({ 404: gone, 429: limited, 502: bad, 504: late }: ErrorsByStatus): ErrorsByStatus {
  return { 403: ['E0000079'], 404: gone ?? [], 429: limited ?? [], 502: bad ?? [], 504: late ?? [] }
}
