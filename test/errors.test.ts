import { expect, test } from '@jest/globals'
import * as errors from '../src/errors.ts'

const cause = new Error('what happened')
const limit = { limit: 5, resetAtSeconds: 1_800_000_000, retryAfterSeconds: 7 }

/** Status, code and the first cause or `Retry-After` of each error that the broker makes itself. */
test.each<[error: errors.BrokerError, wanted: string]>([
  [errors.invalidField('passCode: must be a string'), '400 E0000001 passCode: must be a string'],
  [errors.invalidField(), '400 E0000001'],
  [errors.bodyTooLarge(65536), '413 E0000001 body: larger than 65536 bytes'],
  [errors.notJson(), '400 E0000003 body: not a JSON object'],
  [
    errors.wrongContentType('application/json'),
    '415 E0000021 Content-Type: must be application/json in UTF-8',
  ],
  [errors.malformedRequest(cause), '400 E0000001 request: malformed'],
  [errors.headersTooLong(), '431 E0000001 headers: too long'],
  [errors.requestTooSlow(), '408 E0000001 request: not complete in time'],
  [errors.unmetExpectation(), '417 E0000001 Expect: only 100-continue is supported'],
  [errors.noSession(), '401 E0000005'],
  [errors.unknownHandle(), '401 E0000011'],
  [errors.unknownHandle(false), '401 E0000011 device cookie not returned'],
  [
    errors.wrongBearerToken('the OPS_TOKEN or one of OPS_TOKENS'),
    '401 E0000011 Authorization: must be Bearer and the OPS_TOKEN or one of OPS_TOKENS',
  ],
  [
    errors.wrongBearerToken('one of APP_TOKENS'),
    '401 E0000011 Authorization: must be Bearer and one of APP_TOKENS',
  ],
  [errors.notAllowed('Origin: not allowed'), '403 E0000006 Origin: not allowed'],
  [errors.addressBlocked(cause), '403 E0000006 address: the org refuses requests from this address'],
  [
    errors.otherUsersSession('stateToken'),
    '403 E0000006 stateToken: this sign-in belongs to a different user from the one signed in; sign out first',
  ],
  [errors.stepNotOffered(), '403 E0000079'],
  [errors.wrongCode(), "403 E0000068 Your token doesn't match our records. Please try again."],
  [errors.tooManyWrongCodes(), '403 E0000069 Maximum number of verification attempts exceeded.'],
  [errors.notFound('session'), '404 E0000007'],
  [errors.wrongMethod('GET, POST'), '405 E0000022'],
  [errors.sessionChanged(), '409 E0000006 X-Gatehouse-Session: another session is now open in this browser'],
  [errors.rateLimited(limit), '429 E0000047, after 7 s'],
  [errors.sentRecently('SMS', 30), '429 E0000109, after 30 s'],
  [errors.sentRecently('CALL', 12), '429 E0000133, after 12 s'],
  [errors.internalError(cause), '500 E0000009'],
  [errors.storeUnavailable(cause), '503 E0000009, after 2 s'],
  [errors.upstreamUnavailable(cause), '502 E0000009'],
  [errors.upstreamTimeout(cause), '504 E0000009'],
  [errors.overloaded(), '503 E0000009, after 2 s'],
  [errors.upstreamTemporarilyUnavailable(4, cause), '503 E0000009, after 4 s'],
  [errors.stepInProgress(), '503 E0000009, after 1 s'],
  [errors.pamError(503, 'pam_rate_limited', { retryAfterSeconds: 9 }), '503 pam_rate_limited, after 9 s'],
  [errors.pamError(404, 'pam_user_unknown'), '404 pam_user_unknown'],
])('%#: %s', ({ status, code, causes, headers }, wanted) => {
  const { 'Retry-After': seconds } = headers
  const shown = [status, code, ...causes].join(' ')
  expect(seconds === undefined ? shown : `${shown}, after ${seconds} s`).toBe(wanted)
})

test('the body of an error has its code twice and its causes, and never the logged cause', () => {
  const body = errors.toErrorObject(errors.malformedRequest(cause), 'request-1')
  expect(body).toEqual({
    errorCode: 'E0000001',
    errorSummary: 'Api validation failed: request',
    errorLink: 'E0000001',
    errorId: 'request-1',
    errorCauses: [{ errorSummary: 'request: malformed' }],
  })
})
