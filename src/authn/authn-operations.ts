import { z } from 'zod'
import { jsonResponse, type Operation, type Operations, RATE_LIMIT_HEADERS } from '../http/operation.ts'
import { recoveryChallenge } from './sign-in/answer-schemas.ts'
import { STEP, STEP_ERRORS, STEP_OPERATIONS } from './sign-in/operations.ts'
import { paramsOf, questionsResponse } from './sign-in/response-schemas.ts'
import { primaryBody, recoveryBody, recoveryTokenBody, stateBody } from './sign-in/schemas.ts'

/** An operation that begins a sign-in does not need a device cookie: it sets one. */
const ENTRY = { ...STEP, method: 'POST', cookies: { device: 'used', session: 'used' } } as const

const RECOVERY = { ...ENTRY, tag: 'Recovery', loadKind: 'recovery' } as const

const RECOVERY_START = {
  ...RECOVERY,
  body: recoveryBody,
  responses: {
    200: jsonResponse('The same response for known and unknown users', recoveryChallenge, [
      'Set-Cookie',
      ...RATE_LIMIT_HEADERS,
    ]),
  },
} as const satisfies Partial<Operation>

const { 404: notFound, 429: rateLimited, 502: badGateway, 504: gatewayTimeout } = STEP_ERRORS
/** A GET request for a link of a response. */
const OFFERED = {
  ...STEP,
  method: 'GET',
  tag: 'Factors',
  description: 'Works only if a response has offered the link to this device.',
  errors: { 403: ['E0000079'], 404: notFound, 429: rateLimited, 502: badGateway, 504: gatewayTimeout },
} as const satisfies Partial<Operation>

const QUESTIONS = '/api/v1/users/:uid/factors/questions'
const QR_IMAGE = '/api/v1/users/:uid/factors/:id/qr/:token'
const IMAGES = Object.fromEntries(
  ['png', 'jpeg', 'gif', 'webp'].map((type) => [
    `image/${type}`,
    z.unknown().meta({ override: { contentMediaType: 'image/*' } }),
  ]),
)

/** Operations that begin a sign-in or get its state. */
export const ENTRY_OPERATIONS = {
  authenticate: {
    ...ENTRY,
    path: '/api/v1/authn',
    tag: 'Sign-in',
    summary: 'Begin a sign-in, get its state, or step up',
    description:
      'A user name and password, or an activation token, begin a sign-in. A handle alone gets the state of its sign-in. A handle with user name and password continues a step-up. `context` is accepted but ignored: the device token comes from the cookie.',
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
    summary: 'Recover a forgotten password',
  },
  unlockAccount: {
    ...RECOVERY_START,
    path: '/api/v1/authn/recovery/unlock',
    summary: 'Unlock a locked account',
  },
  redeemRecoveryToken: {
    ...RECOVERY,
    path: '/api/v1/authn/recovery/token',
    summary: 'Continue with the token of a recovery email',
    body: recoveryTokenBody,
  },
} as const satisfies Operations

/** GET requests for links that a response has offered. */
export const OFFERED_OPERATIONS = {
  listSecurityQuestions: {
    ...OFFERED,
    path: QUESTIONS,
    summary: 'Security questions to choose from',
    params: paramsOf(QUESTIONS),
    responses: { 200: jsonResponse('The questions', questionsResponse) },
  },
  getEnrollmentPicture: {
    ...OFFERED,
    path: QR_IMAGE,
    readableFrom: 'same-site', // an <img> names no origin
    summary: 'The QR image to scan when a factor is set up',
    params: paramsOf(QR_IMAGE),
    responses: { 200: { description: 'The image', content: IMAGES } },
  },
} as const satisfies Operations

export const AUTHN_OPERATIONS: Operations = {
  ...ENTRY_OPERATIONS,
  ...STEP_OPERATIONS,
  ...OFFERED_OPERATIONS,
}
