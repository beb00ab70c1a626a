import { z } from 'zod'
import { json, RATE_LIMIT_HEADERS, type Refusals, type RouteDescription } from '../http/route-description.ts'
import {
  cancelAnswer,
  formAnswer,
  pathParams,
  questionsAnswer,
  recoveryAnswer,
  transactionAnswer,
} from './answer-schemas.ts'
import { OPERATIONS, type Operation } from './sign-in/operations.ts'
import { primaryBody, queryFlags, recoveryBody, recoveryTokenBody, stateBody } from './sign-in/schemas.ts'

/** What a step can be refused with, by us or by the upstream. */
const STEP_REFUSALS: Refusals = {
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
  answers: {
    200: json('Where the sign-in stands now', transactionAnswer, ['Set-Cookie', ...RATE_LIMIT_HEADERS]),
  },
  refusals: STEP_REFUSALS,
  passesErrorsOn: true,
} as const satisfies Partial<RouteDescription>

/** What begins a sign-in needs no device cookie: it sets one. */
const BEGINNING = { ...STEP, cookies: { device: 'used', session: 'used' } } as const

const RECOVERY_START = {
  ...BEGINNING,
  method: 'POST',
  group: 'Recovery',
  body: recoveryBody,
  answers: {
    200: json('The same for known and unknown people', recoveryAnswer, ['Set-Cookie', ...RATE_LIMIT_HEADERS]),
  },
} as const satisfies Partial<RouteDescription>

type Words = Pick<RouteDescription, 'id' | 'group' | 'summary' | 'details'>

/** What each step is called, by its path. */
const STEPS: Readonly<Record<string, Words>> = {
  '/api/v1/authn/cancel': { id: 'cancel', group: 'Sign-in', summary: 'Cancel the sign-in' },
  '/api/v1/authn/previous': { id: 'previous', group: 'Sign-in', summary: 'Go one step back' },
  '/api/v1/authn/skip': { id: 'skip', group: 'Sign-in', summary: 'Skip a step that need not be' },
  '/api/v1/authn/credentials/change_password': {
    id: 'changePassword',
    group: 'Sign-in',
    summary: 'Change an expired or expiring password',
    details: 'With `revokeSessions` every other session of the person ends, here and upstream.',
  },
  '/api/v1/authn/credentials/reset_password': {
    id: 'resetPassword',
    group: 'Recovery',
    summary: 'Choose a new password',
    details: 'With `revokeSessions` every other session of the person ends, here and upstream.',
  },
  '/api/v1/authn/recovery/answer': {
    id: 'answerRecoveryQuestion',
    group: 'Recovery',
    summary: 'Answer the recovery question',
  },
  '/api/v1/authn/recovery/factors/:type/verify': {
    id: 'verifyRecoveryFactor',
    group: 'Recovery',
    summary: 'Send the code that came by text message or call',
  },
  '/api/v1/authn/recovery/factors/:type/resend': {
    id: 'resendRecoveryFactor',
    group: 'Recovery',
    summary: 'Have the code sent again',
  },
  '/api/v1/authn/factors': { id: 'enrollFactor', group: 'Factors', summary: 'Enrol a factor' },
  '/api/v1/authn/factors/:id/verify': {
    id: 'verifyFactor',
    group: 'Factors',
    summary: 'Verify a factor: choose it, send its code or answer, ask how a push stands',
  },
  '/api/v1/authn/factors/:id/verify/resend': {
    id: 'resendChallenge',
    group: 'Factors',
    summary: 'Have the challenge sent again',
  },
  '/api/v1/authn/factors/:id/lifecycle/activate': {
    id: 'activateFactor',
    group: 'Factors',
    summary: 'Activate a factor that was enrolled',
  },
  '/api/v1/authn/factors/:id/lifecycle/activate/poll': {
    id: 'pollActivation',
    group: 'Factors',
    summary: 'Ask how the activation stands',
  },
  '/api/v1/authn/factors/:id/lifecycle/duoCallback': {
    id: 'completeDuo',
    group: 'Factors',
    summary: 'Hand in what the frame of Duo has signed',
    details:
      'A form, not JSON: the link `complete` of a Duo factor. The answer is empty; poll the link `next` afterwards.',
  },
  '/api/v1/authn/factors/:id/lifecycle/resend': {
    id: 'resendActivation',
    group: 'Factors',
    summary: 'Have the activation code sent again',
  },
  '/api/v1/authn/factors/:id/lifecycle/activate/email': {
    id: 'mailActivationLink',
    group: 'Factors',
    summary: 'Have the activation link sent by mail',
  },
  '/api/v1/authn/factors/:id/lifecycle/activate/sms': {
    id: 'textActivationLink',
    group: 'Factors',
    summary: 'Have the activation link sent by text message',
  },
  '/api/v1/users/:uid/factors/:id/lifecycle/activate': {
    id: 'activateUserFactor',
    group: 'Factors',
    summary: 'Activate a factor, at the other path that links may have',
  },
  '/api/v1/users/:uid/factors/:id/lifecycle/activate/email': {
    id: 'mailUserActivationLink',
    group: 'Factors',
    summary: 'Have the activation link sent by mail, at the other path that links may have',
  },
  '/api/v1/users/:uid/factors/:id/lifecycle/activate/sms': {
    id: 'textUserActivationLink',
    group: 'Factors',
    summary: 'Have the activation link sent by text message, at the other path that links may have',
  },
}

/** What the OpenAPI document says of this room's routes. */
export const AUTHN_API: readonly RouteDescription[] = [
  {
    ...BEGINNING,
    method: 'POST',
    path: '/api/v1/authn',
    id: 'authenticate',
    group: 'Sign-in',
    summary: 'Begin a sign-in, ask where one stands, or step up',
    details:
      'Username and password, or an activation token, begin a sign-in; a handle alone asks where it stands; a handle with both credentials steps up. `context` is accepted and not used: the device token comes from the cookie.',
    body: primaryBody,
  },
  {
    ...STEP,
    method: 'POST',
    path: '/api/v1/authn/introspect',
    id: 'introspect',
    group: 'Sign-in',
    summary: 'Ask where a sign-in stands',
    body: stateBody,
  },
  {
    ...RECOVERY_START,
    path: '/api/v1/authn/recovery/password',
    id: 'recoverPassword',
    summary: 'Forgotten password',
  },
  {
    ...RECOVERY_START,
    path: '/api/v1/authn/recovery/unlock',
    id: 'unlockAccount',
    summary: 'Unlock a locked account',
  },
  {
    ...BEGINNING,
    method: 'POST',
    path: '/api/v1/authn/recovery/token',
    id: 'redeemRecoveryToken',
    group: 'Recovery',
    summary: 'Go on with the token of a recovery mail',
    body: recoveryTokenBody,
  },
  ...OPERATIONS.map(describeStep),
  {
    ...STEP,
    method: 'GET',
    path: '/api/v1/users/:uid/factors/questions',
    id: 'listSecurityQuestions',
    group: 'Factors',
    summary: 'Security questions to choose from',
    details: 'Only where this device was offered the link.',
    params: paramsOf('/api/v1/users/:uid/factors/questions'),
    answers: { 200: json('The questions', questionsAnswer) },
    refusals: offered(STEP_REFUSALS),
  },
  {
    ...STEP,
    method: 'GET',
    path: '/api/v1/users/:uid/factors/:id/qr/:token',
    id: 'getEnrolmentPicture',
    group: 'Factors',
    summary: 'The picture to scan when a factor is set up',
    details: 'Only where this device was offered the link.',
    params: paramsOf('/api/v1/users/:uid/factors/:id/qr/:token'),
    answers: {
      200: {
        says: 'The picture',
        content: Object.fromEntries(
          ['png', 'jpeg', 'gif', 'webp'].map((type) => [`image/${type}`, picture()]),
        ),
      },
    },
    refusals: offered(STEP_REFUSALS),
  },
]

function describeStep({ path, body, query, encoding }: Operation): RouteDescription {
  const words = STEPS[path]
  if (words === undefined) throw new Error(`${path} has no description`)
  return {
    ...STEP,
    ...words,
    method: 'POST',
    path,
    ...(path.includes(':') ? { params: paramsOf(path) } : {}),
    ...(query.length === 0
      ? {}
      : { query: z.object(Object.fromEntries(query.map((name) => [name, queryFlags.shape[name]]))) }),
    body,
    encoding,
    ...(encoding === 'form' ? { answers: { 200: json('Handed in', formAnswer, RATE_LIMIT_HEADERS) } } : {}),
    ...(path === '/api/v1/authn/cancel'
      ? { answers: { 200: json('It is over', cancelAnswer, ['Set-Cookie', ...RATE_LIMIT_HEADERS]) } }
      : {}),
  }
}

function paramsOf(path: string): z.ZodObject {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name)
  return z.object(Object.fromEntries(Object.entries(pathParams).filter(([name]) => names.includes(name))))
}

function picture(): z.ZodType {
  return z.unknown().meta({ override: { contentMediaType: 'image/*' } })
}

/** A GET of a link has no body and proves nothing. */
function offered({ 404: gone, 429: limited, 502: bad, 504: late }: Refusals): Refusals {
  return { 403: ['E0000079'], 404: gone ?? [], 429: limited ?? [], 502: bad ?? [], 504: late ?? [] }
}
