import { expect, test } from '@jest/globals'
import { AUTHENTICATION_FAILED, outcome, PASSWORD, startSandbox, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const WARN = { options: { warnBeforePasswordExpired: true } }
const NO_WARNING = { options: { warnBeforePasswordExpired: null } }

/** docs/conformance.md A-10: the rows of POST /api/v1/authn with username and password. */
const PRIMARY_ROWS: [row: string, login: string, more: object, leadsTo: string, links: string[]][] = [
  ['valid password, no further requirement → SUCCESS', 'amelia.stone@example.test', {}, '200 SUCCESS', []],
  ['short name → SUCCESS', 'amelia.stone', {}, '200 SUCCESS', []],
  ['password expired → PASSWORD_EXPIRED', 'olga.expired', {}, '200 PASSWORD_EXPIRED', ['next', 'cancel']],
  ['warnBeforePasswordExpired within warn period → PASSWORD_WARN', ...warn(WARN, 'PASSWORD_WARN')],
  ['warnBeforePasswordExpired omitted → SUCCESS', ...warn({}, 'SUCCESS')],
  ['warnBeforePasswordExpired null → SUCCESS', ...warn(NO_WARNING, 'SUCCESS')],
  ['options null → SUCCESS', ...warn({ options: null }, 'SUCCESS')],
  ['an active factor is required before PASSWORD_EXPIRED', 'ines.both', {}, '200 MFA_REQUIRED', ['cancel']],
  ['policy requires verification → MFA_REQUIRED', 'tomas.berg', {}, '200 MFA_REQUIRED', ['cancel']],
  ['policy requires enrollment → MFA_ENROLL', 'erin.enroll', {}, '200 MFA_ENROLL', ['cancel']],
  ['locked out, lockout shown → LOCKED_OUT', 'luis.locked', {}, '200 LOCKED_OUT', ['next']],
  ['locked out, lockout hidden → 401', 'lena.locked', {}, '401 E0000004', []],
  ['invalid credentials → 401', 'amelia.stone', { password: 'Wrong-1' }, '401 E0000004', []],
  ['unknown username → 401', 'nobody', {}, '401 E0000004', []],
  ['sign-on policy denies → 401', 'dora.denied', {}, '401 E0000004', []],
]
function warn(more: object, status: string): [string, object, string, string[]] {
  return ['walter.warn', more, `200 ${status}`, status === 'SUCCESS' ? [] : ['next', 'skip', 'cancel']]
}

/** A response is JSON, each link has an href and hints, and a 401 does not show its reason. */
test.each(PRIMARY_ROWS)('primary authentication: %s', async (_row, login, more, leadsTo, names) => {
  const answer = await client.signIn(login, { ...more })
  expect(outcome(answer)).toBe(leadsTo)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/)
  const links = Object.entries(answer.body._links ?? {})
  expect(links.map(([name]) => name)).toEqual(names)
  for (const [name, link] of links) {
    expect(link.href).toMatch(new RegExp(`^${client.url}/api/v1/`))
    expect(link.hints).toEqual({ allow: [expect.stringMatching(/^(GET|POST)$/)] })
    if (name === 'next') expect(link.name).toEqual(expect.any(String))
  }
  if (answer.status === 401) expect(answer.body).toEqual(AUTHENTICATION_FAILED)
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
  const answer = await client.signIn('walter.warn', WARN)
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

/** docs/conformance.md A-8. */
test('MFA_REQUIRED has the members of the sign-on policy', async () => {
  const policy = {
    allowRememberDevice: true,
    rememberDeviceLifetimeInMinutes: 43200,
    rememberDeviceByDefault: true,
  }
  const changed = await startSandbox(({ signOnPolicies }) => {
    Object.assign(signOnPolicies.always ?? {}, policy)
  })
  const required = await changed.signIn('tomas.berg').finally(changed.close)
  expect(required.at('_embedded.policy')).toEqual({ ...policy, factorsPolicyInfo: {} })
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
  const passCode = client.sandbox.totpCode('tomas.berg')
  const done = await client.follow(first, '_embedded.factors.0._links.verify', { passCode })
  expect(done.body).toMatchObject({ status: 'SUCCESS', relayState: '/deep/link' })
})

/** docs/conformance.md A-12: either username with password, or token. */
test.each([
  ['username alone', { username: 'amelia.stone' }, 'password: The field cannot be left blank'],
  ['password alone', { password: PASSWORD }, 'username: The field cannot be left blank'],
  ['username null', { username: null, password: PASSWORD }, 'username: The field cannot be left blank'],
  ['a username that is a number', { username: 7, password: PASSWORD }, expect.stringMatching(/^username: /)],
])('%s is 400 E0000001 and names the field', async (_credentials, body, cause) => {
  expect((await client.post('/api/v1/authn', body)).body).toMatchObject({
    errorCode: 'E0000001',
    errorSummary: expect.stringMatching(/^Api validation failed: (authRequest|username)$/),
    errorCauses: [{ errorSummary: cause }],
  })
})

/** docs/conformance.md A-10: lockout after wrong passwords. */
test('after too many wrong passwords, the correct one is refused with the same error', async () => {
  for (let attempt = 0; attempt < 10; attempt += 1) await client.signIn('amelia.stone', { password: 'No-1' })
  expect(outcome(await client.signIn('amelia.stone'))).toBe('401 E0000004')
})

test('with showLockout, the attempt that locks the account is LOCKED_OUT', async () => {
  const seen: string[] = []
  for (const password of ['No-1', 'No-1', 'No-1', PASSWORD])
    seen.push(outcome(await client.signIn('liv.lockable', { password })))
  expect(seen).toEqual(['401 E0000004', '401 E0000004', '200 LOCKED_OUT', '200 LOCKED_OUT'])
})
