import { expect, test } from '@jest/globals'
import { AUTHENTICATION_FAILED, outcome, PASSWORD, useSandbox } from './sandbox-client.ts'

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
  ['locked out, lockout shown → LOCKED_OUT', 'luis.locked', {}, '200 LOCKED_OUT', ['next', 'cancel']],
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

test('with showLockout, the attempt that locks the account is LOCKED_OUT', async () => {
  const seen: string[] = []
  for (const password of ['No-1', 'No-1', 'No-1', PASSWORD])
    seen.push(outcome(await client.signIn('liv.lockable', { password })))
  expect(seen).toEqual(['401 E0000004', '401 E0000004', '200 LOCKED_OUT', '200 LOCKED_OUT'])
})
