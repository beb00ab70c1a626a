import { describe, expect, test } from '@jest/globals'
import * as errors from '../src/errors.ts'

const cause = new Error('what happened')

/** The whole error in one line of a table. */
const shown = ({ status, code, message, causes, headers, cause: why, dependency }: errors.BrokerError) => ({
  status,
  code,
  message,
  causes,
  headers,
  cause: why,
  dependency,
})
const NONE = { causes: [], headers: {}, cause: undefined, dependency: undefined }
const retryAfter = (seconds: string) => ({ 'Retry-After': seconds })

/** Status, code and texts of each error that the broker makes itself. */
test.each<[name: string, error: errors.BrokerError, wanted: Partial<ReturnType<typeof shown>>]>([
  [
    'a wrong field',
    errors.invalidField('passCode: must be a string', 'answer: too long'),
    {
      status: 400,
      code: 'E0000001',
      message: 'Api validation failed: passCode',
      causes: ['passCode: must be a string', 'answer: too long'],
    },
  ],
  [
    'a wrong field without a cause',
    errors.invalidField(),
    { status: 400, code: 'E0000001', message: 'Api validation failed: request' },
  ],
  [
    'a body that is too large',
    errors.bodyTooLarge(65536),
    {
      status: 413,
      code: 'E0000001',
      message: 'Api validation failed: body',
      causes: ['body: larger than 65536 bytes'],
    },
  ],
  [
    'a body that is not JSON',
    errors.notJson(cause),
    {
      status: 400,
      code: 'E0000003',
      message: 'The request body was not well-formed.',
      causes: ['body: not a JSON object'],
      cause,
    },
  ],
  [
    'a wrong content type',
    errors.wrongContentType(),
    {
      status: 415,
      code: 'E0000021',
      message: 'Bad request. Accept and/or Content-Type headers likely do not match supported values.',
      causes: ['Content-Type: must be application/json in UTF-8'],
    },
  ],
  [
    'a content type other than a form',
    errors.wrongContentType('application/x-www-form-urlencoded'),
    {
      status: 415,
      code: 'E0000021',
      message: 'Bad request. Accept and/or Content-Type headers likely do not match supported values.',
      causes: ['Content-Type: must be application/x-www-form-urlencoded in UTF-8'],
    },
  ],
  [
    'a malformed request',
    errors.malformedRequest(cause),
    {
      status: 400,
      code: 'E0000001',
      message: 'Api validation failed: request',
      causes: ['request: malformed'],
      cause,
    },
  ],
  [
    'a URL that is too long',
    errors.tooLong('url', 414),
    { status: 414, code: 'E0000001', message: 'Api validation failed: url', causes: ['url: too long'] },
  ],
  [
    'headers that are too long',
    errors.tooLong('headers', 431),
    {
      status: 431,
      code: 'E0000001',
      message: 'Api validation failed: headers',
      causes: ['headers: too long'],
    },
  ],
  [
    'a request that does not arrive in time',
    errors.requestTooSlow(),
    {
      status: 408,
      code: 'E0000001',
      message: 'Api validation failed: request',
      causes: ['request: not complete in time'],
    },
  ],
  [
    'an expectation other than 100-continue',
    errors.unmetExpectation(),
    {
      status: 417,
      code: 'E0000001',
      message: 'Api validation failed: request',
      causes: ['Expect: only 100-continue is supported'],
    },
  ],
  ['no session', errors.noSession(), { status: 401, code: 'E0000005', message: 'Invalid session' }],
  [
    'an unknown handle',
    errors.unknownHandle(),
    { status: 401, code: 'E0000011', message: 'Invalid token provided' },
  ],
  [
    'an unknown handle without a device cookie',
    errors.unknownHandle(false),
    {
      status: 401,
      code: 'E0000011',
      message: 'Invalid token provided',
      causes: ['device cookie not returned'],
    },
  ],
  [
    'a wrong OPS_TOKEN',
    errors.wrongOpsToken(),
    {
      status: 401,
      code: 'E0000011',
      message: 'Invalid token provided',
      causes: ['Authorization: must be Bearer and the OPS_TOKEN'],
      headers: { 'WWW-Authenticate': 'Bearer realm="gatehouse"' },
    },
  ],
  [
    'what is not allowed',
    errors.notAllowed('Origin: not allowed'),
    {
      status: 403,
      code: 'E0000006',
      message: 'You do not have permission to perform the requested action',
      causes: ['Origin: not allowed'],
    },
  ],
  [
    'a sign-in of another user',
    errors.otherUsersSession('stateToken'),
    {
      status: 403,
      code: 'E0000006',
      message: 'You do not have permission to perform the requested action',
      causes: ['stateToken: this sign-in belongs to a different user from the one signed in; sign out first'],
    },
  ],
  [
    'a step that was not offered',
    errors.stepNotOffered(),
    {
      status: 403,
      code: 'E0000079',
      message: 'This operation is not allowed in the current authentication state.',
    },
  ],
  [
    'a wrong code',
    errors.wrongCode(),
    {
      status: 403,
      code: 'E0000068',
      message: 'Invalid Passcode/Answer',
      causes: ["Your token doesn't match our records. Please try again."],
    },
  ],
  [
    'too many wrong codes',
    errors.tooManyWrongCodes(),
    {
      status: 403,
      code: 'E0000069',
      message: 'User Locked',
      causes: ['Maximum number of verification attempts exceeded.'],
    },
  ],
  [
    'what is not found',
    errors.notFound('session'),
    { status: 404, code: 'E0000007', message: 'Not found: Resource not found: session' },
  ],
  [
    'a wrong method',
    errors.wrongMethod('GET, POST'),
    {
      status: 405,
      code: 'E0000022',
      message: 'The endpoint does not support the provided HTTP method',
      headers: { Allow: 'GET, POST' },
    },
  ],
  [
    'another session',
    errors.sessionChanged(),
    {
      status: 409,
      code: 'E0000006',
      message: 'The session of this browser has changed',
      causes: ['X-Gatehouse-Session: another session is now open in this browser'],
    },
  ],
  [
    'a limit',
    errors.rateLimited({ limit: 5, resetAtSeconds: 1_800_000_000, retryAfterSeconds: 7 }),
    {
      status: 429,
      code: 'E0000047',
      message: 'API call exceeded rate limit due to too many requests.',
      headers: {
        'Retry-After': '7',
        'X-Rate-Limit-Limit': '5',
        'X-Rate-Limit-Remaining': '0',
        'X-Rate-Limit-Reset': '1800000000',
      },
    },
  ],
  [
    'a text message sent moments ago',
    errors.sentRecently('SMS', 30),
    {
      status: 429,
      code: 'E0000109',
      message: 'An SMS message was recently sent. Please wait 30 seconds before trying again.',
      headers: retryAfter('30'),
    },
  ],
  [
    'a call made moments ago',
    errors.sentRecently('CALL', 12),
    {
      status: 429,
      code: 'E0000133',
      message: 'A voice call was recently made. Please wait 30 seconds before trying again.',
      headers: retryAfter('12'),
    },
  ],
  [
    'an internal error',
    errors.internalError(cause),
    { status: 500, code: 'E0000009', message: 'Internal Server Error', cause },
  ],
  [
    'a store out of reach',
    errors.storeUnavailable(cause),
    {
      status: 503,
      code: 'E0000009',
      message: 'The service is temporarily unavailable',
      headers: retryAfter('2'),
      cause,
      dependency: 'store',
    },
  ],
  [
    'an unusable response of Okta',
    errors.upstreamUnavailable(cause),
    {
      status: 502,
      code: 'E0000009',
      message: 'The sign-in service returned an invalid response',
      cause,
      dependency: 'authn',
    },
  ],
  [
    'no response of Okta in time',
    errors.upstreamTimeout(cause),
    {
      status: 504,
      code: 'E0000009',
      message: 'The sign-in service did not respond in time',
      cause,
      dependency: 'authn',
    },
  ],
  [
    'overload',
    errors.temporarilyUnavailable(3, cause),
    {
      status: 503,
      code: 'E0000009',
      message: 'The service is temporarily unavailable',
      headers: retryAfter('3'),
      cause,
    },
  ],
  [
    'Okta not called for now',
    errors.upstreamTemporarilyUnavailable(4, cause),
    {
      status: 503,
      code: 'E0000009',
      message: 'The service is temporarily unavailable',
      headers: retryAfter('4'),
      cause,
      dependency: 'authn',
    },
  ],
  [
    'another step in progress',
    errors.stepInProgress(),
    {
      status: 503,
      code: 'E0000009',
      message: 'Another step of this sign-in is still in progress',
      headers: retryAfter('1'),
    },
  ],
])('%s', (_name, error, wanted) => {
  expect(error.name).toBe('BrokerError')
  expect(shown(error)).toEqual({ ...NONE, ...wanted })
})

describe('an error of PAM', () => {
  test.each([
    ['pam_bad_request', 'The access service refused the request'],
    ['pam_credentials', 'The access service refused the credentials'],
    ['pam_not_permitted', 'The access service does not permit this lookup'],
    ['pam_unexpected', 'The access service returned an unexpected response'],
    ['pam_quota', 'The team has exceeded its quota at the access service'],
    ['pam_team_disabled', 'The team is disabled at the access service'],
    ['pam_user_unknown', 'The access service does not know this user'],
    ['pam_misconfigured', 'The access service is not configured correctly'],
    ['pam_deprecated', 'The access service no longer offers this resource'],
    ['pam_rate_limited', 'The access service is rate limiting requests'],
    ['pam_unavailable', 'The access service is not available'],
    ['pam_timeout', 'The access service did not respond in time'],
    ['pam_never_heard_of', 'The access service is not available'],
  ] as const)('%s says: %s', (code, message) => {
    expect(shown(errors.pamError(502, code, { cause }))).toEqual({
      ...NONE,
      status: 502,
      code,
      message,
      cause,
      dependency: 'pam',
    })
  })

  test('has Retry-After, if the time is known', () => {
    expect(errors.pamError(503, 'pam_rate_limited', { retryAfterSeconds: 9 })).toMatchObject({
      status: 503,
      headers: retryAfter('9'),
    })
    expect(errors.pamError(404, 'pam_user_unknown')).toMatchObject({ status: 404, headers: {} })
  })
})

test('the body of an error has its code twice and its causes, and never the logged cause', () => {
  const body = errors.toErrorObject(errors.notJson(cause), 'request-1')
  expect(body).toEqual({
    errorCode: 'E0000003',
    errorSummary: 'The request body was not well-formed.',
    errorLink: 'E0000003',
    errorId: 'request-1',
    errorCauses: [{ errorSummary: 'body: not a JSON object' }],
  })
})
