import { expect, test } from '@jest/globals'
import { type Answer, outcome, PASSWORD, startSandbox, useSandbox } from './authn/sandbox-client.ts'

/** Rows of the authentication API's specification that no other sandbox test covers (docs/conformance.md). */

const client = useSandbox()

const AUTHN = '/api/v1/authn'
const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const stepUp = (login?: string) =>
  client.post(AUTHN, { stateToken: client.sandbox.startStepUp('payroll', login).stateToken })

/** "Options object": both members may be null; missing, null and false are the same. */
test.each([undefined, null, false])(
  'Options object: both members may be %j, which means off',
  async (wish) => {
    const options = { warnBeforePasswordExpired: wish, multiOptionalFactorEnroll: wish }
    expect(outcome(await client.signIn('walter.warn', { options }))).toBe('200 SUCCESS')
    const start = await client.signIn('erin.enroll', { options })
    expect(outcome(await enrollQuestion(start))).toBe('200 SUCCESS')
  },
)

test('Options object: the object may be null', async () => {
  expect(outcome(await client.signIn('walter.warn', { options: null }))).toBe('200 SUCCESS')
})

/** "States and transitions", last row: for every kind of transaction. */
const BEGINNINGS: [row: string, begin: () => Promise<Answer>][] = [
  [
    'after an activation token',
    () => client.post(AUTHN, { token: client.sandbox.activationToken('arno.activate'), ...WISH }),
  ],
  [
    'in a step-up without a session',
    async () => {
      const { stateToken } = (await stepUp()).body
      return client.post(AUTHN, { stateToken, username: 'erin.enroll', password: PASSWORD, ...WISH })
    },
  ],
  [
    'in a step-up with a session',
    () => {
      const { stateToken } = client.sandbox.startStepUp('payroll', 'erin.enroll')
      return client.post(AUTHN, { stateToken, ...WISH })
    },
  ],
  [
    'sent in MFA_ENROLL',
    async () => {
      const { stateToken } = (await stepUp('erin.enroll')).body
      return client.post(AUTHN, { stateToken, ...WISH })
    },
  ],
  ['for an app', () => client.signIn('erin.enroll', { audience: 'travel', ...WISH })],
]
const WISH = { options: { multiOptionalFactorEnroll: true } }
test.each(BEGINNINGS)('multiOptionalFactorEnroll, %s: MFA_ENROLL again', async (_row, begin) => {
  const start = await begin()
  expect(outcome(start)).toBe('200 MFA_ENROLL')
  const again = await enrollQuestion(start)
  expect(outcome(again)).toBe('200 MFA_ENROLL')
  expect(outcome(await client.follow(again, '_links.skip'))).toBe('200 SUCCESS')
})

test('warnBeforePasswordExpired, step-up with a session: PASSWORD_WARN', async () => {
  const next = (wish: boolean | null | undefined) => {
    const { stateToken } = client.sandbox.startStepUp('payroll', 'walter.warn')
    return client.post(AUTHN, { stateToken, options: { warnBeforePasswordExpired: wish } })
  }
  expect(outcome(await next(true))).toBe('200 PASSWORD_WARN')
  for (const none of [false, null, undefined]) expect(outcome(await next(none))).toBe('200 SUCCESS')
})

test('options apply to later requests of the transaction that have none', async () => {
  const { stateToken } = client.sandbox.startStepUp('payroll')
  expect(outcome(await client.post(AUTHN, { stateToken, ...WISH }))).toBe('200 UNAUTHENTICATED')
  const start = await client.post(AUTHN, { stateToken, username: 'erin.enroll', password: PASSWORD })
  expect(outcome(await enrollQuestion(start))).toBe('200 MFA_ENROLL')
})

/** "Authentication Transaction object". */
const TRANSACTION_FIELDS: [row: string, answer: () => Promise<Answer>, at: string, value: unknown][] = [
  [
    'stateToken, in a status that is not terminal',
    () => client.signIn('tomas.berg'),
    'stateToken',
    expect.stringMatching(/^00/),
  ],
  ['expiresAt', () => client.signIn('tomas.berg'), 'expiresAt', expect.stringMatching(ISO_8601)],
  ['type, without a step-up', () => client.signIn('tomas.berg'), 'type', undefined],
  ['recoveryType, without a recovery', () => client.signIn('tomas.berg'), 'recoveryType', undefined],
  [
    '_embedded.user.passwordChanged',
    () => client.signIn('tomas.berg'),
    '_embedded.user.passwordChanged',
    expect.stringMatching(ISO_8601),
  ],
  [
    'sessionToken, after the sign-in to an app',
    () => client.signIn('amelia.stone', { audience: 'travel' }),
    'sessionToken',
    undefined,
  ],
]
test.each(TRANSACTION_FIELDS)('Authentication Transaction object: %s', async (_row, answer, at, value) => {
  expect((await answer()).at(at)).toEqual(value)
})

/** "Authentication Transaction object", _links: each { href, hints.allow }, and for next also name. */
const LINKED: [status: string, answer: () => Promise<Answer>, links: string[]][] = [
  ['PASSWORD_EXPIRED', () => client.signIn('olga.expired'), ['next', 'cancel']],
  [
    'PASSWORD_WARN',
    () => client.signIn('walter.warn', { options: { warnBeforePasswordExpired: true } }),
    ['next', 'skip', 'cancel'],
  ],
  ['MFA_REQUIRED', () => client.signIn('tomas.berg'), ['cancel']],
  ['MFA_ENROLL', () => client.signIn('erin.enroll'), ['cancel']],
  ['LOCKED_OUT', () => client.signIn('luis.locked'), ['next']],
  ['UNAUTHENTICATED', () => stepUp(), ['next']],
]
test.each(LINKED)('_links in %s: href, hints.allow, and a name on next', async (_status, answer, names) => {
  const links = (await answer()).body._links as Record<string, { name?: string; href: string; hints: object }>
  expect(Object.keys(links)).toEqual(names)
  for (const [name, link] of Object.entries(links)) {
    expect(new URL(link.href)).toHaveProperty('origin', client.url)
    expect(new URL(link.href).pathname).toMatch(/^\/api\/v1\//)
    expect(link.hints).toEqual({ allow: [expect.stringMatching(/^(GET|POST)$/)] })
    if (name === 'next') expect(link.name).toEqual(expect.any(String))
  }
})

/** "Factor object", factorType and provider: every value. */
const FACTORS: [factorType: string, login: string, provider: string][] = [
  ['token', 'rosa.enterprise', 'RSA'],
  ['token:software:totp', 'tomas.berg', 'GOOGLE'],
  ['sms', 'sana.sms', 'OKTA'],
  ['call', 'carl.call', 'OKTA'],
  ['push', 'penny.patient', 'OKTA'],
  ['question', 'quentin.query', 'OKTA'],
  ['token:hardware', 'yuki.hardware', 'YUBICO'],
]
test.each(FACTORS)('Factor object: an enrolled %s', async (factorType, login, provider) => {
  const answer = await client.signIn(login)
  expect(answer.at('_embedded.factors.0')).toEqual({
    id: expect.stringMatching(/^\w{20}$/),
    factorType,
    provider,
    vendorName: provider,
    profile: expect.any(Object),
    _links: { verify: { href: expect.any(String), hints: { allow: ['POST'] } } },
  })
})

test('Factor object: a factor offered for enrollment has no id and no profile', async () => {
  const factors = (await client.signIn('erin.enroll')).at('_embedded.factors') as Record<string, unknown>[]
  expect(factors.length).toBeGreaterThan(7)
  for (const factor of factors) {
    expect(factor).not.toHaveProperty('id')
    expect(factor).not.toHaveProperty('profile')
    expect(factor).toMatchObject({ status: 'NOT_SETUP', enrollment: 'OPTIONAL' })
    const isQuestion = factor.factorType === 'question'
    expect(Object.keys(factor._links as object)).toEqual(isQuestion ? ['questions', 'enroll'] : ['enroll'])
  }
})

/** "Factor object", profile: each member. */
const PROFILE_MEMBERS: [member: string, answer: () => Promise<Answer>, type: string, value: unknown][] = [
  ['credentialId', () => client.signIn('yuki.hardware'), 'token:hardware', 'HW-0001'],
  ['phoneNumber', () => client.signIn('sana.sms'), 'sms', '+1 XXX-XXX-0003'],
  ['deviceType', () => stepUp('priya.nair'), 'push', 'SmartPhone_IPhone'],
  ['name', () => stepUp('priya.nair'), 'push', 'Sandbox phone'],
  ['platform', () => stepUp('priya.nair'), 'push', 'IOS'],
  ['version', () => stepUp('priya.nair'), 'push', '18.0'],
  [
    'keys',
    () => stepUp('priya.nair'),
    'push',
    [{ kty: 'PKIX', use: 'sig', kid: 'default', x5c: [expect.any(String)] }],
  ],
]
test.each(PROFILE_MEMBERS)('Factor object, profile: %s', async (member, answer, type, value) => {
  expect((await answer()).at(`_embedded.factors.${type}.profile.${member}`)).toEqual(value)
})

/** "States and transitions", step-up with an existing session: factor list and policy. */
test('step-up that requires verification lists factors and the policy', async () => {
  const { body } = await stepUp('priya.nair')
  expect(body).toMatchObject({
    type: 'SESSION_STEP_UP',
    status: 'MFA_REQUIRED',
    _embedded: {
      factors: [{ factorType: 'push' }, { factorType: 'token:software:totp' }],
      policy: { allowRememberDevice: true, rememberDeviceLifetimeInMinutes: 1440 },
    },
  })
})

/** "Step-up notes": an SP-initiated step-up requires SAML. */
test.each(['intranet', 'library'])(
  'SP-initiated, a protocol other than SAML is refused even with a custom sign-in page: %s',
  async (name) => {
    const other = await startSandbox(({ apps }) => {
      for (const app of apps) if (app.name === name) app.signInPage = 'https://portal.example.test/sign-in'
    })
    try {
      expect((await other.get(`/app/payroll/sso`)).status).toBe(302)
      expect((await other.get(`/app/${name}/sso`)).status).toBe(400)
    } finally {
      await other.close()
    }
  },
)

/** "Error object". */
const ERROR_FIELDS: [field: string, value: unknown][] = [
  ['errorCode', 'E0000001'],
  ['errorSummary', 'Api validation failed: authRequest'],
  ['errorLink', 'E0000001'],
  ['errorId', expect.stringMatching(/^oae/)],
  ['errorCauses', [{ errorSummary: 'password: The field cannot be left blank' }]],
]
test.each(ERROR_FIELDS)('Error object: %s', async (field, value) => {
  const { body } = await client.post(AUTHN, { username: 'amelia.stone' })
  expect(body[field]).toEqual(value)
})

/** "Errors", 401 E0000004: the response does not show which condition caused it. */
const FAILURES: [condition: string, body: () => object][] = [
  ['invalid credentials', () => ({ username: 'amelia.stone', password: 'wrong' })],
  ['locked-out account, hidden', () => ({ username: 'lena.locked', password: PASSWORD })],
  ['sign-on policy denial', () => ({ username: 'dora.denied', password: PASSWORD })],
  ['invalid activation token', () => ({ token: 'no-such-activation-tok' })],
]
test.each(FAILURES)('401 E0000004 has the same body for every condition: %s', async (_condition, body) => {
  const answer = await client.post(AUTHN, body())
  expect(answer.status).toBe(401)
  expect(answer.body).toEqual({
    errorCode: 'E0000004',
    errorSummary: 'Authentication failed',
    errorLink: 'E0000004',
    errorId: expect.any(String),
    errorCauses: [],
  })
})

/** "What the service does": combined with a sessions API. */
test('a session token is exchanged for a session cookie once', async () => {
  const { body } = await client.signIn('amelia.stone')
  const exchange = () => client.get(`/login/sessionCookieRedirect?token=${body.sessionToken}`)
  expect((await exchange()).headers.get('set-cookie')).toMatch(/^sid=00[\w-]+; .*HttpOnly/)
  expect((await exchange()).headers.get('set-cookie')).toBeNull()
})

/** "Endpoints": all request and response bodies are JSON. */
test('responses and errors are JSON', async () => {
  for (const answer of [await client.signIn('amelia.stone'), await client.signIn('nobody')])
    expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/)
})

/** "Versioning". */
test('the version is in the path: another version does not exist', async () => {
  const answer = await client.post('/api/v2/authn', { username: 'amelia.stone', password: PASSWORD })
  expect(outcome(answer)).toBe('404 E0000007')
})

function enrollQuestion(start: Answer): Promise<Answer> {
  const profile = { question: 'favorite_toy', answer: 'a kite' }
  return client.follow(start, '_embedded.factors.question._links.enroll', {
    factorType: 'question',
    provider: 'OKTA',
    profile,
  })
}
