import { expect, test } from '@jest/globals'
import type { StateRequest, StepRequest } from '../../src/authn/step/step-request.ts'
import { addressBlocked } from '../../src/errors.ts'
import { UpstreamFailure } from '../../src/upstream/upstream-failure.ts'
import { answer, HANDLE, type Okta, rejection, replicas, SIGN_IN, STATE, verify } from './step-replicas.ts'

const CREDENTIALS: StateRequest = {
  kind: 'state',
  handle: HANDLE,
  fields: { username: 'ada', password: 'a-test-password' },
}
const awaits: Okta = () => answer('state', { status: 'UNAUTHENTICATED' })
/** With the error of the API (S14). */
const refuses: Okta = () => rejection(403, 'E0000006')
/** With a 403 without one. */
const refusesAll: Okta = () => Promise.reject(addressBlocked(new UpstreamFailure('address_blocked')))

/** The call whose address the org refused is the one that is counted, and audited as a sign-in. */
test.each<[string, StepRequest, calls: Okta[], operation: string, audited: boolean]>([
  ['a sign-in', SIGN_IN, [refuses], 'primary', true],
  ['a sign-in, with any 403', SIGN_IN, [refusesAll], 'primary', true],
  ['the state', STATE, [refuses], 'state', false],
  ['a code, with any 403', verify('123456'), [refusesAll], 'verify', false],
  ['the state before a password', CREDENTIALS, [refuses], 'state', false],
  ['a password after the state', CREDENTIALS, [awaits, refuses], 'primary', true],
  ['a password after the state, with any 403', CREDENTIALS, [awaits, refusesAll], 'primary', true],
])('the org refuses the address of %s', async (_title, request, calls, operation, audited) => {
  const { replica, keep, start, sent, lines, metrics } = await replicas()
  if (request === CREDENTIALS)
    await keep({ ...start(), origin: 'imported', credentialAccepted: false, userProved: false })
  const okta: Okta = (call) => calls[sent.length - 1]?.(call) ?? answer('unexpected')
  await expect(replica().run(request, okta)).rejects.toMatchObject({ status: 403, code: 'E0000006' })
  const steps = (await metrics.signInSteps.get()).values.map(({ labels }) => labels)
  expect(steps).toContainEqual({ operation, status: 'address_blocked' })
  expect(steps.filter(({ status }) => status === 'address_blocked')).toHaveLength(1)
  const failed = lines().filter(({ event }) => event === 'sign_in_failed')
  expect(failed).toMatchObject(audited ? [{ operation: 'primary', reason: 'address_blocked' }] : [])
})
