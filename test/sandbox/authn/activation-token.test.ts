import { expect, test } from '@jest/globals'
import { AUTHENTICATION_FAILED, outcome, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const AUTHN = '/api/v1/authn'

/** docs/conformance.md A-10: the rows of POST /api/v1/authn with an activation token. */
const ROWS = [
  ['user has password, no MFA → SUCCESS', 'anna.activate', '200 SUCCESS'],
  ['user has password, MFA configured → MFA_ENROLL', 'arno.activate', '200 MFA_ENROLL'],
  ['user created without credentials → PASSWORD_RESET', 'aida.nopassword', '200 PASSWORD_RESET'],
] as const

test.each(ROWS)('activation token with or without an API token (A-12): %s', async (_row, login, leadsTo) => {
  for (const headers of [undefined, {}]) {
    const token = client.sandbox.activationToken(login)
    expect(outcome(await client.post(AUTHN, { token }, headers))).toBe(leadsTo)
    client.sandbox.reset()
  }
})

test.each<[string, (token: string) => unknown]>([
  ['invalid', () => client.sandbox.reset()],
  ['used', (token) => client.post(AUTHN, { token })],
  ['expired', () => client.advance(8 * 24 * 60 * 60_000)],
])('an activation token that is %s: 401 E0000004', async (_state, end) => {
  const token = client.sandbox.activationToken('anna.activate')
  await end(token)
  const answer = await client.post(AUTHN, { token })
  expect([answer.status, answer.body]).toEqual([401, AUTHENTICATION_FAILED])
})
