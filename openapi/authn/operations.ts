import { z } from 'zod'
import { ENTRY_OPERATIONS, OFFERED_OPERATIONS, STEP_OPERATIONS } from '../../src/authn/operations.ts'
import {
  type Description,
  describe,
  type ErrorsByStatus,
  jsonResponse,
  RATE_LIMIT_HEADERS,
} from '../description.ts'
import { recoveryChallenge, signInAnswer } from './answer-schemas.ts'
import { activateBody, enrollBody, enrollResendBody, listFactorTypes, verifyBody } from './request-schemas.ts'
import { cancelResponse, emptyResponse, questionsResponse } from './response-schemas.ts'

/** Errors of a step, from the broker or from Okta. */
const STEP_ERRORS = {
  400: ['E0000001', 'E0000003'],
  401: ['E0000004', 'E0000011', 'E0000207'],
  403: ['E0000014', 'E0000068', 'E0000069', 'E0000079', 'E0000087', 'E0000105', 'E0000119'],
  404: ['E0000007'],
  409: ['E0000113'],
  429: ['E0000047', 'E0000109', 'E0000133'],
  502: ['E0000009', 'E0000240'],
  504: ['E0000009', 'E0000241'],
} as const satisfies ErrorsByStatus

const STEP = {
  cookies: { device: 'required', session: 'used' },
  headers: ['Accept-Language', 'X-Device-Fingerprint'],
  responses: {
    200: jsonResponse('The state of the sign-in', signInAnswer, ['Set-Cookie', ...RATE_LIMIT_HEADERS]),
  },
  errors: STEP_ERRORS,
  forwardsUpstreamErrors: true,
} as const satisfies Partial<Description>

/** An operation that begins a sign-in does not need a device cookie: it sets one. */
const ENTRY = { ...STEP, cookies: { device: 'used', session: 'used' } } as const

const RECOVERY_START = {
  ...ENTRY,
  tag: 'Recovery',
  description: '`relayState` is returned with every answer of this transaction, and not sent to Okta.',
  responses: {
    200: jsonResponse('The same response for known and unknown users', recoveryChallenge, [
      'Set-Cookie',
      ...RATE_LIMIT_HEADERS,
    ]),
  },
} as const satisfies Partial<Description>

const { 404: notFound, 429: rateLimited, 502: badGateway, 504: gatewayTimeout } = STEP_ERRORS
/** A GET request for a link of a response. */
const OFFERED = {
  ...STEP,
  tag: 'Factors',
  description: 'Works only if a response has offered the link to this device.',
  errors: { 403: ['E0000079'], 404: notFound, 429: rateLimited, 502: badGateway, 504: gatewayTimeout },
} as const satisfies Partial<Description>

const SIGN_IN_STEP = { ...STEP, tag: 'Sign-in' } as const
const RECOVERY_STEP = { ...STEP, tag: 'Recovery' } as const
const FACTOR_STEP = { ...STEP, tag: 'Factors' } as const

const REVOKES = 'With `revokeSessions`, every other session of the user ends, here and at Okta.'
const IMAGES = Object.fromEntries(
  ['png', 'jpeg', 'gif', 'webp'].map((type) => [
    `image/${type}`,
    z.unknown().meta({ override: { contentMediaType: 'image/*' } }),
  ]),
)

const ENTRIES = describe(ENTRY_OPERATIONS, {
  authenticate: {
    ...ENTRY,
    tag: 'Sign-in',
    summary: 'Begin a sign-in, get its state, or step up',
    description:
      'A user name and password, or an activation token, begin a sign-in. A handle alone gets the state of its sign-in. A handle with user name and password continues a step-up. `context` is accepted but ignored: the device token comes from the cookie.',
  },
  introspect: { ...SIGN_IN_STEP, summary: 'Get the state of a sign-in' },
  recoverPassword: { ...RECOVERY_START, summary: 'Recover a forgotten password' },
  unlockAccount: { ...RECOVERY_START, summary: 'Unlock a locked account' },
  redeemRecoveryToken: {
    ...ENTRY,
    tag: 'Recovery',
    summary: 'Continue with the token of a recovery email',
  },
})

const STEPS = describe(STEP_OPERATIONS, {
  cancel: {
    ...SIGN_IN_STEP,
    summary: 'Cancel the sign-in',
    responses: {
      200: jsonResponse('The sign-in has been cancelled', cancelResponse, [
        'Set-Cookie',
        ...RATE_LIMIT_HEADERS,
      ]),
    },
  },
  previous: { ...SIGN_IN_STEP, summary: 'Go back one step' },
  skip: { ...SIGN_IN_STEP, summary: 'Skip an optional step' },
  changePassword: {
    ...SIGN_IN_STEP,
    summary: 'Change an expired or expiring password',
    description: REVOKES,
  },
  resetPassword: {
    ...RECOVERY_STEP,
    summary: 'Choose a new password',
    description: `${REVOKES} After a recovery, that is the default.`,
  },
  answerRecoveryQuestion: { ...RECOVERY_STEP, summary: 'Answer the recovery question' },
  verifyRecoveryFactor: { ...RECOVERY_STEP, summary: 'Verify the code sent by text message or call' },
  resendRecoveryFactor: { ...RECOVERY_STEP, summary: 'Resend the code' },
  enrollFactor: { ...FACTOR_STEP, summary: 'Enroll a factor', body: enrollBody },
  verifyFactor: {
    ...FACTOR_STEP,
    summary: 'Verify a factor: request a challenge, submit the code or answer, or poll a push',
    description: `Without a field, the step starts the challenge. The user approves these elsewhere, so they have no field: ${listFactorTypes('challenge', 'approval')}. If the answer’s \`next\` allows GET, the page navigates to it. Okta refuses \`signed_nonce\` here.`,
    body: verifyBody,
  },
  resendChallenge: { ...FACTOR_STEP, summary: 'Resend the challenge' },
  activateFactor: { ...FACTOR_STEP, summary: 'Activate an enrolled factor', body: activateBody },
  pollActivation: { ...FACTOR_STEP, summary: 'Poll the activation' },
  completeDuo: {
    ...FACTOR_STEP,
    summary: 'Submit the signed response of the Duo frame',
    description:
      'The target of the link `complete` of a Duo factor. The body is a form, not JSON. The response is empty; poll the link `next` afterwards.',
    responses: { 200: jsonResponse('Accepted', emptyResponse, RATE_LIMIT_HEADERS) },
  },
  resendActivation: { ...FACTOR_STEP, summary: 'Resend the activation code', body: enrollResendBody },
  mailActivationLink: { ...FACTOR_STEP, summary: 'Send the activation link by email' },
  textActivationLink: { ...FACTOR_STEP, summary: 'Send the activation link by text message' },
  activateUserFactor: {
    ...FACTOR_STEP,
    summary: 'Activate a factor (alternative path that Okta’s links may use)',
    body: activateBody,
  },
  mailUserActivationLink: {
    ...FACTOR_STEP,
    summary: 'Send the activation link by email (alternative path that Okta’s links may use)',
  },
  textUserActivationLink: {
    ...FACTOR_STEP,
    summary: 'Send the activation link by text message (alternative path that Okta’s links may use)',
  },
})

const LINKS = describe(OFFERED_OPERATIONS, {
  listSecurityQuestions: {
    ...OFFERED,
    summary: 'Security questions to choose from',
    responses: { 200: jsonResponse('The questions', questionsResponse) },
  },
  getEnrollmentPicture: {
    ...OFFERED,
    summary: 'The QR image to scan when a factor is set up',
    responses: { 200: { description: 'The image', content: IMAGES } },
  },
})

export const AUTHN = { ...ENTRIES, ...STEPS, ...LINKS }
