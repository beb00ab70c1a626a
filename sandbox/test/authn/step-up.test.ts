import { expect, test } from '@jest/globals'
import type { SandboxConfig } from '../../src/sandbox-config.ts'
import { answerOf, outcome, PASSWORD, startSandbox, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const AUTHN = '/api/v1/authn'
const TARGET = {
  type: 'APP',
  name: 'payroll',
  label: 'Payroll',
  _links: { logo: { name: 'medium', href: expect.any(String), type: 'image/png' } },
}
const AUTHENTICATION = {
  protocol: 'SAML2.0',
  issuer: { id: '0oasandboxpayroll01', name: 'Payroll', uri: 'exksandboxpayroll01' },
}

async function begin(login?: string) {
  const { stateToken } = client.sandbox.startStepUp('payroll', login)
  return client.post(AUTHN, { stateToken })
}

function authenticate(stateToken: unknown, username: string, password = PASSWORD) {
  return client.post(AUTHN, { stateToken, username, password })
}

/** docs/conformance.md A-10: step-up, no session. */
// sandbox shows, F-1.11
test('step-up without a session → UNAUTHENTICATED, with the app and no user', async () => {
  const { body } = await begin()
  expect(body).toEqual({
    stateToken: expect.stringMatching(/^00[\w-]{40}$/),
    type: 'SESSION_STEP_UP',
    expiresAt: expect.any(String),
    status: 'UNAUTHENTICATED',
    _embedded: { target: TARGET, authentication: AUTHENTICATION },
    _links: {
      next: { name: 'authenticate', href: `${client.url}${AUTHN}`, hints: { allow: ['POST'] } },
    },
  })
})

// sandbox shows, F-2.2
test.each([
  ['no further requirement → SUCCESS', 'amelia.stone', '200 SUCCESS'],
  ['verification required → MFA_REQUIRED', 'tomas.berg', '200 MFA_REQUIRED'],
  ['enrollment required → MFA_ENROLL', 'erin.enroll', '200 MFA_ENROLL'],
  ['password expired → PASSWORD_EXPIRED', 'olga.expired', '200 PASSWORD_EXPIRED'],
  ['locked out → LOCKED_OUT', 'luis.locked', '200 LOCKED_OUT'],
  ['denied → 401', 'dora.denied', '401 E0000004'],
])('UNAUTHENTICATED with credentials: %s', async (_row, login, leadsTo) => {
  const { body } = await begin()
  const answer = await authenticate(body.stateToken, login)
  expect(outcome(answer)).toBe(leadsTo)
  if (answer.status === 200 && leadsTo !== '200 LOCKED_OUT')
    expect(answer.body).toMatchObject({ type: 'SESSION_STEP_UP', stateToken: body.stateToken })
})

/** docs/conformance.md A-10: step-up with an existing session. */
// sandbox shows
test.each([
  // sandbox shows
  ['policy requires enrollment → MFA_ENROLL', 'erin.enroll', '200 MFA_ENROLL'],
  // sandbox shows
  ['policy requires verification → MFA_REQUIRED', 'priya.nair', '200 MFA_REQUIRED'],
  // sandbox shows
  ['complete → SUCCESS', 'amelia.stone', '200 SUCCESS'],
])('step-up with an existing session: %s', async (_row, login, leadsTo) => {
  const answer = await begin(login)
  expect(outcome(answer)).toBe(leadsTo)
  expect(answer.body).toMatchObject({ type: 'SESSION_STEP_UP', _embedded: { target: TARGET } })
})

/** docs/conformance.md A-16: SP-initiated only for SAML apps with a custom sign-in page. */
// sandbox shows
test('an app with a custom sign-in page redirects there with a state token', async () => {
  const answer = await client.get('/app/payroll/sso')
  expect(answer.status).toBe(302)
  const location = new URL(String(answer.headers.get('location')))
  expect(location.origin + location.pathname).toBe('http://localhost:8080/signin/step-up')
  const state = await client.post(AUTHN, { stateToken: location.searchParams.get('stateToken') })
  expect(outcome(state)).toBe('200 UNAUTHENTICATED')
})

const notAllowed = (app: string) => ({
  errorCode: 'E0000001',
  errorSummary: 'Api validation failed: authRequest',
  errorCauses: [{ errorSummary: `Sign in not allowed for app '${app}'.` }],
})
const withCustomPage = (config: SandboxConfig) => {
  for (const app of config.apps) app.signInPage = 'https://portal.example.test/sign-in'
}
// sandbox shows
test.each([
  ['SAML without a custom sign-in page', 'travel', '0oasandboxtravel001', () => {}],
  ['WS-Federation with a custom sign-in page', 'intranet', '0oasandboxintranet1', withCustomPage],
  ['neither SAML nor WS-Federation', 'library', '0oasandboxlibrary01', withCustomPage],
] as const)('SP-initiated, %s is 400 E0000001', async (_app, app, named, change) => {
  const own = await startSandbox(change)
  const answer = await own.get(`/app/${app}/sso`).then(answerOf).finally(own.close)
  expect(answer.body).toMatchObject(notAllowed(named))
})

/** docs/conformance.md A-10: identity-provider-initiated step-up. */
// sandbox shows
test.each([
  // sandbox shows
  ['SAML with a custom sign-in page, no MFA → SUCCESS', 'payroll', 'amelia.stone', '200 SUCCESS'],
  ['SAML without a custom sign-in page', 'travel', 'amelia.stone', '200 SUCCESS'],
  // sandbox shows
  ['WS-Federation', 'intranet', 'amelia.stone', '200 SUCCESS'],
  // sandbox shows
  ['by the id of the app', '0oasandboxtravel001', 'amelia.stone', '200 SUCCESS'],
  // sandbox shows
  ['verification required → MFA_REQUIRED', 'travel', 'tomas.berg', '200 MFA_REQUIRED'],
  // sandbox shows
  ['enrollment required → MFA_ENROLL', 'travel', 'erin.enroll', '200 MFA_ENROLL'],
])('audience: %s', async (_row, audience, login, leadsTo) => {
  const answer = await client.signIn(login, { audience })
  expect(outcome(answer)).toBe(leadsTo)
  expect(answer.body.type).toBe('SESSION_STEP_UP')
  if (leadsTo === '200 SUCCESS') expect(answer.at('_links.next.name')).toBe('original')
  expect(answer.body).not.toHaveProperty('sessionToken')
})

test.each([
  // sandbox shows
  ['App not supported', 'library', '0oasandboxlibrary01'],
  ['App not known', 'no-such-app', 'no-such-app'],
])('audience: %s → 400 E0000001, naming the app', async (_row, audience, named) => {
  expect((await client.signIn('amelia.stone', { audience })).body).toMatchObject(notAllowed(named))
})
