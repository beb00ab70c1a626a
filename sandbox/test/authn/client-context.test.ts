import { expect, test } from '@jest/globals'
import { DEVICE, OTHER_DEVICE, outcome, PASSWORD, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const CONTEXT = { context: { deviceToken: DEVICE } }
const lastSeen = () => client.sandbox.signIns.at(-1)

// sandbox shows, F-2.1
test('an activation token needs no API token', async () => {
  const token = client.sandbox.activationToken('anna.activate')
  expect(outcome(await client.post('/api/v1/authn', { token }, {}))).toBe('200 SUCCESS')
})

/** docs/conformance.md A-17. */
test.each([
  // sandbox shows
  ['no token: public app', {}, false],
  // sandbox shows
  ['a valid token: trusted app', { authorization: 'SSWS sandbox-api-token-1-not-a-secret' }, true],
  ['the second valid token', { authorization: 'SSWS sandbox-api-token-2-not-a-secret' }, true],
])('%s', async (_client, headers, isTrusted) => {
  expect(outcome(await client.signIn('amelia.stone', {}, { ...headers }))).toBe('200 SUCCESS')
  expect(lastSeen()).toHaveProperty('trusted', isTrusted)
})

const PRIMARY = ['/api/v1/authn', { username: 'amelia.stone', password: PASSWORD }] as const
const RECOVERY = [
  '/api/v1/authn/recovery/password',
  { username: 'amelia.stone', factorType: 'EMAIL' },
] as const
const REVOKED = 'sandbox-api-token-1-not-a-secret'
// sandbox shows
test.each([
  ['primary', ...PRIMARY],
  ['state', '/api/v1/authn', { stateToken: 'x' }],
  ['recovery', ...RECOVERY],
  ['an unknown path', '/api/v1/unknown', {}],
])('an invalid API token is 401 E0000011 on %s', async (_endpoint, path, body) => {
  client.sandbox.apiTokens.delete(REVOKED)
  for (const authorization of ['SSWS wrong', `SSWS ${REVOKED}`, `Bearer ${REVOKED}`, 'SSWS ']) {
    const answer = await client.post(path, body, { authorization })
    expect(outcome(answer)).toBe('401 E0000011')
    expect(answer.body.errorSummary).toBe('Invalid token provided')
  }
})

/**
 * docs/conformance.md F-1.26, error code 6: the token is valid, but its administrator lacks
 * permission.
 */
test.each([
  ['primary authentication', ...PRIMARY],
  ['recovery', ...RECOVERY],
])('an API token without permission is 403 E0000006 on %s', async (_endpoint, path, body) => {
  const answer = await client.post(path, body, { authorization: 'SSWS sandbox-api-token-3-no-rights' })
  expect(outcome(answer)).toBe('403 E0000006')
  expect(answer.body.errorSummary).toBe('You do not have permission to perform the requested action')
  expect(client.sandbox.signIns).toEqual([])
  expect(client.sandbox.outbox.messages).toEqual([])
})

/** docs/conformance.md. */
// sandbox shows
test('without an API token deviceToken and X-Device-Fingerprint are ignored', async () => {
  await client.signIn('amelia.stone', CONTEXT, { 'x-device-fingerprint': 'print-1' })
  expect(lastSeen()).toMatchObject({ trusted: false, deviceToken: undefined, fingerprint: undefined })
  expect(client.sandbox.outbox.messages).toEqual([])
})

/** docs/conformance.md: context.deviceToken has at most 32 characters. */
// sandbox shows
test('a deviceToken of 33 characters is 400 E0000001 and named; a public app’s is ignored', async () => {
  const long = { context: { deviceToken: `${DEVICE}x` } }
  const refused = await client.signIn('amelia.stone', long)
  expect(outcome(refused)).toBe('400 E0000001')
  expect(refused.at('errorCauses.0.errorSummary')).toMatch(/^context\.deviceToken: /)
  expect(outcome(await client.signIn('amelia.stone', long, {}))).toBe('200 SUCCESS')
})

// sandbox shows
test('context and deviceToken may be null', async () => {
  expect(outcome(await client.signIn('amelia.stone', { context: null }))).toBe('200 SUCCESS')
  const none = { context: { deviceToken: null } }
  expect(outcome(await client.signIn('amelia.stone', none))).toBe('200 SUCCESS')
})

/** docs/conformance.md: the three policies. */
const withCode = async (login: string, deviceToken: string | undefined, query = '') => {
  const required = await client.signIn(login, { context: { deviceToken } })
  if (required.body.status !== 'MFA_REQUIRED') return String(required.body.status)
  const passCode = client.sandbox.totpCode(login)
  await client.follow(required, '_embedded.factors.0._links.verify', { passCode }, query)
  return 'MFA_REQUIRED'
}

/** The devices of successive sign-ins (- without a deviceToken); + where a factor is required. */
const REMEMBER = ['dev.device', '?rememberDevice=true'] as const
const REMEMBER_SESSION = ['sven.session', '?rememberDevice=true'] as const
test.each([
  // sandbox shows, F-2.21, F-6.2
  ['per device, rememberDevice=true: no factor on the same device', ...REMEMBER, 'A+ A B+ -+'],
  // sandbox shows
  ['per device, remembered: a factor again after a sign-in on another device', ...REMEMBER, 'A+ A B+ A+ A'],
  ['per device, remembered: a factor again after a sign-in without a device', ...REMEMBER, 'A+ -+ A+ A'],
  ['per device, without rememberDevice: a factor every time', 'dev.device', '', 'A+ A+'],
  // the user opts in per session too (S9, seen by Okta's product managers)
  // sandbox shows
  ['per session, rememberDevice=true: no factor on the same device', ...REMEMBER_SESSION, 'A+ A B+ A+'],
  ['per session, no rememberDevice: a factor every time', 'sven.session', '', 'A+ A+ A+'],
  // sandbox shows, F-6.1
  ['per session, no deviceToken: a factor every time', ...REMEMBER_SESSION, '-+ -+'],
  // sandbox shows
  [
    'new device: a factor only if the deviceToken is absent or unknown',
    'bea.newdevice',
    '',
    'A+ A B+ B A -+',
  ],
])('%s', async (_row, login, query, steps) => {
  const devices: Record<string, string> = { A: DEVICE, B: OTHER_DEVICE }
  const seen: string[] = []
  for (const [device = ''] of steps.split(' ')) {
    const status = await withCode(login, devices[device], query)
    seen.push(device + (status === 'MFA_REQUIRED' ? '+' : ''))
    client.advance(30_000)
  }
  expect(seen.join(' ')).toBe(steps)
})

test.each([
  // sandbox shows
  ['a remembered device is forgotten after rememberDeviceLifetimeInMinutes', ...REMEMBER, 1440],
  // sandbox shows
  ['a session requires a factor again after two hours', ...REMEMBER_SESSION, 120],
])('%s', async (_row, login, query, minutes) => {
  await withCode(login, DEVICE, query)
  client.advance((minutes - 1) * 60_000)
  expect(await withCode(login, DEVICE)).toBe('SUCCESS')
  client.advance(2 * 60_000)
  expect(await withCode(login, DEVICE)).toBe('MFA_REQUIRED')
})
