import { expect, test } from '@jest/globals'
import type { SandboxConfig, SignOnPolicy } from '../../../src/sandbox/sandbox-config.ts'
import { DEVICE, outcome, PASSWORD, startSandbox, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

/** docs/conformance.md A-10: the rows of POST /api/v1/authn with username and password. */
const PRIMARY_ROWS: [row: string, login: string, more: object, leadsTo: string, links: string[]][] = [
  ['valid password, no further requirement → SUCCESS', 'amelia.stone@example.test', {}, '200 SUCCESS', []],
  [
    'password expired → PASSWORD_EXPIRED',
    'olga.expired@example.test',
    {},
    '200 PASSWORD_EXPIRED',
    ['next', 'cancel'],
  ],
  [
    'warnBeforePasswordExpired within warn period → PASSWORD_WARN',
    'walter.warn@example.test',
    { options: { warnBeforePasswordExpired: true } },
    '200 PASSWORD_WARN',
    ['next', 'skip', 'cancel'],
  ],
  ['warnBeforePasswordExpired omitted → SUCCESS', 'walter.warn@example.test', {}, '200 SUCCESS', []],
  [
    'warnBeforePasswordExpired null → SUCCESS',
    'walter.warn@example.test',
    { options: { warnBeforePasswordExpired: null } },
    '200 SUCCESS',
    [],
  ],
  [
    'an active factor is required before PASSWORD_EXPIRED',
    'ines.both@example.test',
    {},
    '200 MFA_REQUIRED',
    ['cancel'],
  ],
  [
    'policy requires verification → MFA_REQUIRED',
    'tomas.berg@example.test',
    {},
    '200 MFA_REQUIRED',
    ['cancel'],
  ],
  ['policy requires enrollment → MFA_ENROLL', 'erin.enroll@example.test', {}, '200 MFA_ENROLL', ['cancel']],
  ['locked out, lockout shown → LOCKED_OUT', 'luis.locked@example.test', {}, '200 LOCKED_OUT', ['next']],
  ['locked out, lockout hidden → 401', 'lena.locked@example.test', {}, '401 E0000004', []],
  ['invalid credentials → 401', 'amelia.stone@example.test', { password: 'Wrong-1' }, '401 E0000004', []],
  ['unknown username → 401', 'nobody@example.test', {}, '401 E0000004', []],
  ['sign-on policy denies → 401', 'dora.denied@example.test', {}, '401 E0000004', []],
  ['short name → SUCCESS', 'amelia.stone', {}, '200 SUCCESS', []],
]

test.each(PRIMARY_ROWS)('%s', async (_row, login, more, leadsTo, links) => {
  const answer = await client.signIn(login, { ...more })
  expect(outcome(answer)).toBe(leadsTo)
  expect(Object.keys(answer.body._links ?? {})).toEqual(links)
})

test('SUCCESS has a session token for 5 minutes and the user, but no state token', async () => {
  const { body } = await client.signIn('amelia.stone@example.test')
  expect(body).toEqual({
    expiresAt: '2026-06-01T10:05:00.000Z',
    status: 'SUCCESS',
    sessionToken: expect.stringMatching(/^00[\w-]{40}$/),
    _embedded: {
      user: {
        id: expect.stringMatching(/^00u\w{17}$/),
        passwordChanged: '2026-03-02T08:00:00.000Z',
        profile: {
          login: 'amelia.stone@example.test',
          firstName: 'Amelia',
          lastName: 'Stone',
          locale: 'en_US',
          timeZone: 'Europe/Berlin',
        },
      },
    },
  })
})

test('PASSWORD_EXPIRED has a state token, the user and the complexity; next is changePassword', async () => {
  const { body } = await client.signIn('olga.expired@example.test')
  expect(body).toMatchObject({
    stateToken: expect.stringMatching(/^00[\w-]{40}$/),
    _embedded: { user: { profile: { login: 'olga.expired@example.test' } } },
    _links: {
      next: {
        name: 'changePassword',
        href: `${client.url}/api/v1/authn/credentials/change_password`,
        hints: { allow: ['POST'] },
      },
      cancel: { href: `${client.url}/api/v1/authn/cancel`, hints: { allow: ['POST'] } },
    },
  })
  expect(body._embedded).toHaveProperty('policy', {
    complexity: {
      minLength: 8,
      minLowerCase: 1,
      minUpperCase: 1,
      minNumber: 1,
      minSymbol: 0,
      excludeUsername: true,
    },
  })
})

test('PASSWORD_WARN has expiration and complexity', async () => {
  const answer = await client.signIn('walter.warn', { options: { warnBeforePasswordExpired: true } })
  expect(answer.at('_embedded.policy.expiration')).toEqual({ passwordExpireDays: 5 })
  expect(answer.at('_embedded.policy.complexity.minLength')).toBe(8)
  expect(answer.at('_links.skip.name')).toBe('skip')
})

test('LOCKED_OUT has only the status and the unlock link', async () => {
  const { body } = await client.signIn('luis.locked')
  expect(body).toEqual({
    status: 'LOCKED_OUT',
    _links: {
      next: {
        name: 'unlock',
        href: `${client.url}/api/v1/authn/recovery/unlock`,
        hints: { allow: ['POST'] },
      },
    },
  })
})

test('MFA_REQUIRED lists factors with verify links, and the policy', async () => {
  const answer = await client.signIn('priya.nair')
  expect(answer.at('_embedded.factors.push')).toMatchObject({
    factorType: 'push',
    provider: 'OKTA',
    vendorName: 'OKTA',
    profile: {},
  })
  const id = String(answer.at('_embedded.factors.push.id'))
  expect(answer.at('_embedded.factors.push._links.verify')).toEqual({
    href: `${client.url}/api/v1/authn/factors/${id}/verify`,
    hints: { allow: ['POST'] },
  })
  expect(answer.at('_embedded.policy')).toEqual({
    allowRememberDevice: true,
    rememberDeviceLifetimeInMinutes: 1440,
    rememberDeviceByDefault: false,
    factorsPolicyInfo: { [id]: { autoPushEnabled: false } },
  })
})

/** docs/conformance.md A-8: each member comes from the sign-on policy. */
test.each<[member: string, policy: Partial<SignOnPolicy>]>([
  ['allowRememberDevice', { allowRememberDevice: true }],
  ['rememberDeviceLifetimeInMinutes', { rememberDeviceLifetimeInMinutes: 43200 }],
  ['rememberDeviceByDefault', { rememberDeviceByDefault: true }],
])('MFA_REQUIRED has the sign-on policy’s %s', async (_member, policy) => {
  const changed = await startSandbox((config) => {
    config.signOnPolicies.always = { ...alwaysIn(config), ...policy }
  })
  try {
    const none = {
      allowRememberDevice: false,
      rememberDeviceLifetimeInMinutes: 0,
      rememberDeviceByDefault: false,
      factorsPolicyInfo: {},
    }
    expect((await client.signIn('tomas.berg')).at('_embedded.policy')).toEqual(none)
    expect((await changed.signIn('tomas.berg')).at('_embedded.policy')).toEqual({ ...none, ...policy })
  } finally {
    await changed.close()
  }
})

test('with factorListName: factor, the list has the name in the specification', async () => {
  client.sandbox.settings.factorListName = 'factor'
  const answer = await client.signIn('tomas.berg')
  expect(answer.at('_embedded.factor.0.factorType')).toBe('token:software:totp')
  expect(answer.at('_embedded.factors')).toBeUndefined()
})

test('MFA_ENROLL offers factors with enroll links, and the question with a questions link', async () => {
  const answer = await client.signIn('erin.enroll')
  const userId = answer.at('_embedded.user.id')
  expect(answer.at('_embedded.factors.question')).toEqual({
    factorType: 'question',
    provider: 'OKTA',
    vendorName: 'OKTA',
    _links: {
      questions: {
        href: `${client.url}/api/v1/users/${userId}/factors/questions`,
        hints: { allow: ['GET'] },
      },
      enroll: { href: `${client.url}/api/v1/authn/factors`, hints: { allow: ['POST'] } },
    },
    status: 'NOT_SETUP',
    enrollment: 'OPTIONAL',
  })
})

test('every response has the relayState', async () => {
  const first = await client.signIn('tomas.berg', { relayState: '/deep/link' })
  expect(first.body.relayState).toBe('/deep/link')
  const id = first.at('_embedded.factors.0.id')
  const done = await client.post(`/api/v1/authn/factors/${id}/verify`, {
    stateToken: first.body.stateToken,
    passCode: client.sandbox.totpCode('tomas.berg'),
  })
  expect(done.body).toMatchObject({ status: 'SUCCESS', relayState: '/deep/link' })
})

/** docs/conformance.md A-12: either username with password, or token. */
test.each<[string, object, string]>([
  ['username alone', { username: 'amelia.stone' }, 'password: The field cannot be left blank'],
  ['password alone', { password: PASSWORD }, 'username: The field cannot be left blank'],
  ['username null', { username: null, password: PASSWORD }, 'username: The field cannot be left blank'],
])('%s is 400 E0000001 and names the missing field', async (_credentials, body, cause) => {
  const answer = await client.post('/api/v1/authn', body)
  expect(outcome(answer)).toBe('400 E0000001')
  expect(answer.body).toMatchObject({
    errorSummary: 'Api validation failed: authRequest',
    errorCauses: [{ errorSummary: cause }],
  })
})

test('a member with a wrong type is 400 E0000001 and named', async () => {
  const answer = await client.post('/api/v1/authn', { username: 7, password: PASSWORD })
  expect(outcome(answer)).toBe('400 E0000001')
  expect(answer.at('errorCauses.0.errorSummary')).toMatch(/^username: /)
})

/** docs/conformance.md A-10: lockout after wrong passwords. */
test('after too many wrong passwords, the correct one is refused with the same error', async () => {
  for (let attempt = 0; attempt < 10; attempt += 1) await client.signIn('amelia.stone', { password: 'No-1' })
  expect(outcome(await client.signIn('amelia.stone'))).toBe('401 E0000004')
})

test('with showLockout, the attempt that locks the account is LOCKED_OUT', async () => {
  const wrong = { password: 'No-1' }
  expect(outcome(await client.signIn('liv.lockable', wrong))).toBe('401 E0000004')
  expect(outcome(await client.signIn('liv.lockable', wrong))).toBe('401 E0000004')
  expect(outcome(await client.signIn('liv.lockable', wrong))).toBe('200 LOCKED_OUT')
  expect(outcome(await client.signIn('liv.lockable'))).toBe('200 LOCKED_OUT')
})

test('a correct password resets the count of wrong ones', async () => {
  for (const password of ['No-1', 'No-1', PASSWORD, 'No-1', 'No-1'])
    await client.signIn('liv.lockable', { password })
  expect(outcome(await client.signIn('liv.lockable'))).toBe('200 SUCCESS')
})

test('each sign-in is recorded with its client context', async () => {
  await client.signIn(
    'amelia.stone',
    { context: { deviceToken: DEVICE } },
    {
      authorization: `SSWS ${client.sandbox.apiToken}`,
      'user-agent': 'browser-of-amelia',
      'x-forwarded-for': '198.51.100.7',
    },
  )
  expect(client.sandbox.signIns).toEqual([
    {
      at: expect.any(Number),
      login: 'amelia.stone@example.test',
      outcome: 'SUCCESS',
      trusted: true,
      address: '198.51.100.7',
      deviceToken: DEVICE,
      fingerprint: undefined,
      userAgent: 'browser-of-amelia',
      requestId: expect.any(String),
    },
  ])
})

function alwaysIn({ signOnPolicies: { always } }: SandboxConfig): SignOnPolicy {
  if (always === undefined) throw new Error('there is no policy "always"')
  return always
}
