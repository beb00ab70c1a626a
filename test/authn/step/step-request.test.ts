import { expect, test } from '@jest/globals'
import {
  identityOf,
  type OperationRequest,
  pollPathOf,
  type StepRequest,
} from '../../../src/authn/step/step-request.ts'

const AUTHN = '/api/v1/authn'
const handle = '00handle'
const operation = (
  id: OperationRequest['operation'],
  fields: OperationRequest['fields'] = {},
  search = '',
): StepRequest => ({
  kind: 'operation',
  handle,
  operation: id,
  params: { id: 'f1', type: 'sms' },
  query: {},
  search,
  fields,
})

const CREDENTIALS = { username: 'ada', password: 'plainly-fake' }
const CODE = { passCode: '1' }
const VERIFY = `${AUTHN}/factors/f1/verify`

/**
 * What identical requests have in common besides the device and the handle, and the path of a poll.
 */
test.each<
  [StepRequest, content: readonly unknown[] | undefined, poll: string | undefined, maxConcurrent?: number]
>([
  [{ kind: 'sign-in', body: CREDENTIALS }, [AUTHN, CREDENTIALS], undefined],
  [
    { kind: 'recovery', recoveryType: 'UNLOCK', body: { username: 'ada', factorType: 'SMS' } },
    ['UNLOCK', { username: 'ada', factorType: 'SMS' }],
    undefined,
  ],
  [
    { kind: 'recovery-token', body: { recoveryToken: 'r' } },
    [`${AUTHN}/recovery/token`, { recoveryToken: 'r' }],
    undefined,
  ],
  [{ kind: 'state', handle, fields: CREDENTIALS }, [AUTHN, CREDENTIALS], undefined],
  // the link works once
  [{ kind: 'redirect', handle, path: '/login/step-up/redirect' }, undefined, undefined],
  [operation('verifyFactor', CODE, '?a=1'), [VERIFY, '?a=1', CODE], undefined],
  [operation('verifyFactor', {}, '?a=1'), [VERIFY], VERIFY],
  [operation('verifyFactor', { passCode: '' }), [VERIFY], VERIFY],
  [operation('skip'), [`${AUTHN}/skip`, '', {}], undefined],
  [operation('verifyRecoveryFactor', CODE), [`${AUTHN}/recovery/factors/SMS/verify`, '', CODE], undefined, 2],
])('%j is identical by %j, and polls %j', (request, content, poll, maxConcurrent = undefined) => {
  expect(identityOf(request)).toEqual({ content, maxConcurrent })
  expect(pollPathOf(request)).toBe(poll)
})
