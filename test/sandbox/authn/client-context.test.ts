import { expect, test } from '@jest/globals'
import { DEVICE, OTHER_DEVICE, outcome, PASSWORD, startSandbox, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const CONTEXT = { context: { deviceToken: DEVICE } }
const trusted = (more: Record<string, string> = {}) => ({
  authorization: `SSWS ${client.sandbox.apiToken}`,
  ...more,
})
const lastSeen = () => client.sandbox.signIns.at(-1)

/** docs/conformance.md A-17. */
test.each([
  ['no token: public app', {}, '200 SUCCESS', false],
  [
    'a valid token: trusted app',
    { authorization: 'SSWS sandbox-api-token-1-not-a-secret' },
    '200 SUCCESS',
    true,
  ],
  ['the second valid token', { authorization: 'SSWS sandbox-api-token-2-not-a-secret' }, '200 SUCCESS', true],
])('%s', async (_client, headers, leadsTo, isTrusted) => {
  expect(outcome(await client.signIn('amelia.stone', {}, { ...headers }))).toBe(leadsTo)
  expect(lastSeen()).toHaveProperty('trusted', isTrusted)
})

test.each([
  ['primary', '/api/v1/authn', { username: 'amelia.stone', password: 'Demo-Password-1' }],
  ['state', '/api/v1/authn', { stateToken: 'x' }],
  ['recovery', '/api/v1/authn/recovery/password', { username: 'amelia.stone', factorType: 'EMAIL' }],
  ['an unknown path', '/api/v1/unknown', {}],
])('an invalid API token is 401 E0000011 on %s', async (_endpoint, path, body) => {
  for (const authorization of ['SSWS wrong', 'Bearer sandbox-api-token-1-not-a-secret', 'SSWS ']) {
    const answer = await client.post(path, body, { authorization })
    expect(outcome(answer)).toBe('401 E0000011')
    expect(answer.body.errorSummary).toBe('Invalid token provided')
  }
})

/** docs/conformance.md F-1.26, error code 6: the token is valid, but its administrator lacks permission. */
test.each([
  ['primary authentication', '/api/v1/authn', { username: 'amelia.stone', password: PASSWORD }],
  ['recovery', '/api/v1/authn/recovery/password', { username: 'amelia.stone', factorType: 'EMAIL' }],
])('an API token without permission is 403 E0000006 on %s', async (_endpoint, path, body) => {
  const answer = await client.post(path, body, { authorization: 'SSWS sandbox-api-token-3-no-rights' })
  expect(outcome(answer)).toBe('403 E0000006')
  expect(answer.body.errorSummary).toBe('You do not have permission to perform the requested action')
  expect(client.sandbox.signIns).toEqual([])
  expect(client.sandbox.outbox.messages).toEqual([])
})

test('a revoked API token is not valid', async () => {
  client.sandbox.apiTokens.delete(client.sandbox.apiToken)
  expect(outcome(await client.signIn('amelia.stone'))).toBe('401 E0000011')
})

/** docs/conformance.md. */
test('without an API token deviceToken, X-Forwarded-For and X-Device-Fingerprint are ignored', async () => {
  const headers = { 'x-forwarded-for': '198.51.100.7', 'x-device-fingerprint': 'print-1' }
  await client.signIn('amelia.stone', CONTEXT, headers)
  expect(lastSeen()).toMatchObject({
    trusted: false,
    address: '127.0.0.1',
    deviceToken: undefined,
    fingerprint: undefined,
  })
  expect(client.sandbox.outbox.messages).toEqual([])
})

test('X-Forwarded-For is used from a trusted app at a gateway address', async () => {
  await client.signIn('amelia.stone', {}, trusted({ 'x-forwarded-for': '198.51.100.7' }))
  expect(lastSeen()).toHaveProperty('address', '198.51.100.7')
})

test('of several forwarded addresses, the last one that is not a gateway is used', async () => {
  const chain = '203.0.113.1, 198.51.100.7, 127.0.0.1'
  await client.signIn('amelia.stone', {}, trusted({ 'x-forwarded-for': chain }))
  expect(lastSeen()).toHaveProperty('address', '198.51.100.7')
})

test('X-Forwarded-For is ignored if the client’s address is not a gateway', async () => {
  const elsewhere = await startSandbox((config) => {
    config.gatewayAddresses = ['192.0.2.1']
  })
  try {
    const headers = {
      authorization: `SSWS ${elsewhere.sandbox.apiToken}`,
      'x-forwarded-for': '198.51.100.7',
    }
    await elsewhere.signIn('amelia.stone', {}, headers)
    expect(elsewhere.sandbox.signIns.at(-1)).toHaveProperty('address', '127.0.0.1')
  } finally {
    await elsewhere.close()
  }
})

/** docs/conformance.md: policy evaluation depends on the client's address. */
test('a sign-on policy denies an address, with 401 E0000004', async () => {
  const from = (address: string) => client.signIn('oscar.office', {}, trusted({ 'x-forwarded-for': address }))
  expect(outcome(await from('203.0.113.66'))).toBe('401 E0000004')
  expect(outcome(await from('198.51.100.7'))).toBe('200 SUCCESS')
})

/** docs/conformance.md: context.deviceToken has at most 32 characters. */
test('a deviceToken of 33 characters is 400 E0000001 and named; a public app’s is ignored', async () => {
  const long = { context: { deviceToken: `${DEVICE}x` } }
  const refused = await client.signIn('amelia.stone', long)
  expect(outcome(refused)).toBe('400 E0000001')
  expect(refused.at('errorCauses.0.errorSummary')).toMatch(/^context\.deviceToken: /)
  expect(outcome(await client.signIn('amelia.stone', long, {}))).toBe('200 SUCCESS')
})

test('a deviceToken that is not a string is 400 E0000001 and named; a public app’s is ignored', async () => {
  const odd = { context: { deviceToken: 7 } }
  const refused = await client.signIn('amelia.stone', odd)
  expect(outcome(refused)).toBe('400 E0000001')
  expect(refused.at('errorCauses.0.errorSummary')).toMatch(/^context\.deviceToken: /)
  expect(outcome(await client.signIn('amelia.stone', odd, {}))).toBe('200 SUCCESS')
})

test('context and deviceToken may be null', async () => {
  expect(outcome(await client.signIn('amelia.stone', { context: null }))).toBe('200 SUCCESS')
  const none = { context: { deviceToken: null } }
  expect(outcome(await client.signIn('amelia.stone', none))).toBe('200 SUCCESS')
})

/** docs/conformance.md. */
test('an unknown fingerprint from a trusted app sends one email after a successful sign-in', async () => {
  const headers = trusted({ 'x-device-fingerprint': 'print-1' })
  const mails = () => client.sandbox.outbox.messages.filter((one) => one.purpose === 'new-device').length
  await client.signIn('amelia.stone', { password: 'wrong' }, headers)
  expect(mails()).toBe(0)
  await client.signIn('amelia.stone', {}, headers)
  expect(mails()).toBe(1)
  await client.signIn('amelia.stone', {}, headers)
  expect(mails()).toBe(1)
  await client.signIn('amelia.stone', {}, trusted({ 'x-device-fingerprint': 'print-2' }))
  expect(mails()).toBe(2)
})

test('no new-device email is sent if the notification is off', async () => {
  const quiet = await startSandbox((config) => {
    config.newDeviceMail = false
  })
  try {
    const headers = { authorization: `SSWS ${quiet.sandbox.apiToken}`, 'x-device-fingerprint': 'print-1' }
    await quiet.signIn('amelia.stone', {}, headers)
    expect(quiet.sandbox.outbox.messages).toEqual([])
  } finally {
    await quiet.close()
  }
})

/** docs/conformance.md: the three policies. */
const withCode = async (login: string, deviceToken: string | undefined, query = '') => {
  const required = await client.signIn(login, { context: { deviceToken } })
  if (required.body.status !== 'MFA_REQUIRED') return String(required.body.status)
  const passCode = client.sandbox.totpCode(login)
  await client.follow(required, '_embedded.factors.0._links.verify', { passCode }, query)
  return 'MFA_REQUIRED'
}

test.each<[row: string, login: string, query: string, steps: [string | undefined, string][]]>([
  [
    'per device, rememberDevice=true: no factor on the same device',
    'dev.device',
    '?rememberDevice=true',
    [
      [DEVICE, 'MFA_REQUIRED'],
      [DEVICE, 'SUCCESS'],
      [OTHER_DEVICE, 'MFA_REQUIRED'],
      [undefined, 'MFA_REQUIRED'],
    ],
  ],
  [
    'per device, remembered: a factor again after a sign-in on another device',
    'dev.device',
    '?rememberDevice=true',
    [
      [DEVICE, 'MFA_REQUIRED'],
      [DEVICE, 'SUCCESS'],
      [OTHER_DEVICE, 'MFA_REQUIRED'],
      [DEVICE, 'MFA_REQUIRED'],
      [DEVICE, 'SUCCESS'],
    ],
  ],
  [
    'per device, remembered: a factor again after a sign-in without a deviceToken',
    'dev.device',
    '?rememberDevice=true',
    [
      [DEVICE, 'MFA_REQUIRED'],
      [undefined, 'MFA_REQUIRED'],
      [DEVICE, 'MFA_REQUIRED'],
      [DEVICE, 'SUCCESS'],
    ],
  ],
  [
    'per device, without rememberDevice: a factor every time',
    'dev.device',
    '',
    [
      [DEVICE, 'MFA_REQUIRED'],
      [DEVICE, 'MFA_REQUIRED'],
    ],
  ],
  [
    'per session: no factor on the same device',
    'sven.session',
    '',
    [
      [DEVICE, 'MFA_REQUIRED'],
      [DEVICE, 'SUCCESS'],
      [OTHER_DEVICE, 'MFA_REQUIRED'],
      [DEVICE, 'MFA_REQUIRED'],
    ],
  ],
  [
    'per session, no deviceToken: a factor every time',
    'sven.session',
    '',
    [
      [undefined, 'MFA_REQUIRED'],
      [undefined, 'MFA_REQUIRED'],
    ],
  ],
  [
    'new device: a factor only if the deviceToken is absent or unknown',
    'bea.newdevice',
    '',
    [
      [DEVICE, 'MFA_REQUIRED'],
      [DEVICE, 'SUCCESS'],
      [OTHER_DEVICE, 'MFA_REQUIRED'],
      [OTHER_DEVICE, 'SUCCESS'],
      [DEVICE, 'SUCCESS'],
      [undefined, 'MFA_REQUIRED'],
    ],
  ],
])('%s', async (_row, login, query, steps) => {
  const seen: string[] = []
  for (const [deviceToken] of steps) {
    seen.push(await withCode(login, deviceToken, query))
    client.advance(30_000)
  }
  expect(seen).toEqual(steps.map(([, status]) => status))
})

test('an unfinished sign-in on another device does not affect the remembered device', async () => {
  await withCode('dev.device', DEVICE, '?rememberDevice=true')
  expect(outcome(await client.signIn('dev.device', { context: { deviceToken: OTHER_DEVICE } }))).toBe(
    '200 MFA_REQUIRED',
  )
  expect(await withCode('dev.device', DEVICE)).toBe('SUCCESS')
})

test('a remembered device is forgotten after rememberDeviceLifetimeInMinutes', async () => {
  await withCode('dev.device', DEVICE, '?rememberDevice=true')
  client.advance(1439 * 60_000)
  expect(await withCode('dev.device', DEVICE)).toBe('SUCCESS')
  client.advance(2 * 60_000)
  expect(await withCode('dev.device', DEVICE)).toBe('MFA_REQUIRED')
})

test('a session requires a factor again after two hours', async () => {
  await withCode('sven.session', DEVICE)
  client.advance(119 * 60_000)
  expect(await withCode('sven.session', DEVICE)).toBe('SUCCESS')
  client.advance(2 * 60_000)
  expect(await withCode('sven.session', DEVICE)).toBe('MFA_REQUIRED')
})

test('the fingerprint does not affect whether a factor is required', async () => {
  await withCode('bea.newdevice', undefined)
  const headers = trusted({ 'x-device-fingerprint': 'print-1' })
  await client.signIn('bea.newdevice', {}, headers)
  expect(outcome(await client.signIn('bea.newdevice', {}, headers))).toBe('200 MFA_REQUIRED')
})
