import { expect, test } from '@jest/globals'
import { type Answer, answerOf, outcome, PASSWORD, useSandbox } from './sandbox-client.ts'

/** Factors that an external identity provider verifies, as recorded in the sign-in widget's tests. */

const client = useSandbox((config) => {
  config.signInPage = 'https://portal.example.test/sign-in'
})

const AUTHN = '/api/v1/authn'
const FACTORS: [
  factorType: string,
  login: string,
  factor: object,
  redirect: (answer: Answer) => RegExp | string,
][] = [
  [
    'claims_provider',
    'cleo.claims',
    { factorType: 'claims_provider', provider: 'CUSTOM', vendorName: 'Partner sign-in' },
    ({ body }) => `${client.url}/sso/idps/0oasandboxidp000001?stateToken=${body.stateToken}`,
  ],
  [
    'assertion:saml2',
    'sam.saml',
    {
      factorType: 'assertion:saml2',
      provider: 'GENERIC_SAML',
      vendorName: 'SAML sign-in',
      profile: { user: 'sam.saml@example.test' },
    },
    () => /\/policy\/mfa-saml-idp-redirect\?okta_key=[\w-]{20,}$/,
  ],
  [
    'assertion:oidc',
    'odin.oidc',
    {
      factorType: 'assertion:oidc',
      provider: 'GENERIC_OIDC',
      vendorName: 'OIDC sign-in',
      profile: { user: 'odin.oidc@example.test' },
    },
    () => /\/policy\/mfa-oidc-idp-redirect\?okta_key=[\w-]{20,}$/,
  ],
]

const state = ({ body: { stateToken } }: Answer) => client.post(AUTHN, { stateToken })
const asked = async (login: string) =>
  client.follow(await client.signIn(login), '_embedded.factors.0._links.verify')

/** Follows the link to the page of the identity provider. */
async function providerPage(challenge: Answer): Promise<string> {
  const sent = await client.get(String(challenge.at('_links.next.href')))
  expect(sent.status).toBe(302)
  return new URL(String(sent.headers.get('location')), client.url).href
}

async function press(page: string, answer: string): Promise<Response> {
  const body = new URLSearchParams({ answer })
  return fetch(page, { method: 'POST', body, redirect: 'manual' })
}

test.each(FACTORS)('%s: MFA_CHALLENGE with a redirect link', async (_type, login, factor, redirect) => {
  const required = await client.signIn(login)
  const id = required.at('_embedded.factors.0.id')
  const verify = { href: `${client.url}${AUTHN}/factors/${id}/verify`, hints: { allow: ['POST'] } }
  expect(required.at('_embedded.factors')).toEqual([{ id, ...factor, _links: { verify } }])

  const challenge = await client.follow(required, '_embedded.factors.0._links.verify')
  expect(outcome(challenge)).toBe('200 MFA_CHALLENGE')
  expect(challenge.body).not.toHaveProperty('factorResult')
  expect(challenge.at('_embedded.factor')).toEqual({ id, ...factor })
  expect(challenge.body._links).toEqual({
    next: { name: 'redirect', href: expect.any(String), hints: { allow: ['GET'] } },
    cancel: { href: `${client.url}${AUTHN}/cancel`, hints: { allow: ['POST'] } },
    prev: { href: `${client.url}${AUTHN}/previous`, hints: { allow: ['POST'] } },
  })
  const expected = redirect(challenge)
  const href = challenge.at('_links.next.href')
  if (typeof expected === 'string') expect(href).toBe(expected)
  else expect(href).toMatch(expected)
})

test.each(FACTORS)(
  '%s: after approval at the provider, the next request is SUCCESS',
  async (_type, login) => {
    const challenge = await asked(login)
    const page = await providerPage(challenge)
    expect(await (await client.get(page)).text()).toContain(`are you ${login}@example.test?`)
    expect(outcome(await state(challenge))).toBe('200 MFA_CHALLENGE') // not answered yet
    const back = await press(page, 'approve')
    expect([back.status, back.headers.get('location')]).toEqual([303, 'https://portal.example.test/sign-in'])
    const done = await state(challenge)
    expect(outcome(done)).toBe('200 SUCCESS')
    expect(done.body.sessionToken).toMatch(/^00/)
  },
)

/** As recorded in the widget's tests: `next` has the name `activate`, and is a redirect. */
test.each(FACTORS)('%s: is enrolled by the same redirect', async (factorType, _login, factor, redirect) => {
  const offered = await client.signIn('iris.provider')
  expect(outcome(offered)).toBe('200 MFA_ENROLL')
  const activating = await client.follow(offered, `_embedded.factors.${factorType}._links.enroll`, factor)
  expect(outcome(activating)).toBe('200 MFA_ENROLL_ACTIVATE')
  const user = 'profile' in factor ? { profile: { user: 'iris.provider@example.test' } } : {}
  expect(activating.at('_embedded.factor')).toEqual({ id: expect.any(String), ...factor, ...user })
  const next = { name: 'activate', href: expect.any(String), hints: { allow: ['GET'] } }
  expect(activating.at('_links.next')).toEqual(next)
  const expected = redirect(activating)
  if (typeof expected === 'string') expect(activating.at('_links.next.href')).toBe(expected)
  else expect(activating.at('_links.next.href')).toMatch(expected)

  const page = await providerPage(activating)
  expect(outcome(await state(activating))).toBe('200 MFA_ENROLL_ACTIVATE') // not answered yet
  await press(page, 'approve')
  expect(outcome(await state(activating))).toBe('200 SUCCESS')
  const types = client.sandbox.user('iris.provider').factors.map((enrolled) => enrolled.factorType)
  expect(types).toEqual([factorType])
})

test('an enrollment that the provider rejects can be repeated', async () => {
  const offered = await client.signIn('iris.provider')
  const enroll = '_embedded.factors.assertion:oidc._links.enroll'
  const chosen = { factorType: 'assertion:oidc', provider: 'GENERIC_OIDC' }
  const activating = await client.follow(offered, enroll, chosen)
  await press(await providerPage(activating), 'reject')
  const failed = await state(activating)
  expect(failed.body).toMatchObject({ status: 'MFA_ENROLL_ACTIVATE', factorResult: 'FAILED' })
  const back = await client.follow(failed, '_links.prev')
  const again = await client.follow(back, enroll, chosen)
  await press(await providerPage(again), 'approve')
  expect(outcome(await state(again))).toBe('200 SUCCESS')
})

test.each([
  ['token:hotp', 'CUSTOM', '400 E0000001'],
  ['signed_nonce', 'OKTA', '403 E0000079'],
])('%s is offered, but cannot be enrolled through this API', async (factorType, provider, leadsTo) => {
  const offered = await client.signIn('iris.provider')
  const chosen = { factorType, provider }
  const refused = await client.follow(offered, `_embedded.factors.${factorType}._links.enroll`, chosen)
  expect(outcome(refused)).toBe(leadsTo)
  expect(outcome(await state(offered))).toBe('200 MFA_ENROLL')
})

test.each(['introspect', 'verify'])(
  'after approval at the provider, %s is SUCCESS too',
  async (operation) => {
    const challenge = await asked('sam.saml')
    const { stateToken } = challenge.body
    await press(await providerPage(challenge), 'approve')
    const paths = {
      introspect: `${AUTHN}/introspect`,
      verify: `${AUTHN}/factors/${challenge.at('_embedded.factor.id')}/verify`,
    }
    expect(outcome(await client.post(paths[operation as 'verify'], { stateToken }))).toBe('200 SUCCESS')
  },
)

test('rejected at the provider: FAILED with a message, and the user can try again', async () => {
  const challenge = await asked('cleo.claims')
  const page = await providerPage(challenge)
  await press(page, 'reject')
  const failed = await state(challenge)
  expect(failed.body).toMatchObject({
    status: 'MFA_CHALLENGE',
    factorResult: 'FAILED',
    factorResultMessage: 'The identity provider did not verify you.',
  })
  expect((await press(page, 'approve')).status).toBe(401) // already answered
  expect((await state(challenge)).body.factorResult).toBe('FAILED')

  const verify = `${AUTHN}/factors/${challenge.at('_embedded.factor.id')}/verify`
  const again = await client.post(verify, { stateToken: challenge.body.stateToken })
  expect(again.body).not.toHaveProperty('factorResult')
  await press(await providerPage(again), 'approve')
  expect(outcome(await state(again))).toBe('200 SUCCESS')
})

test.each([
  ['an unknown identity provider', '/sso/idps/0oaunknown', '404 E0000007'],
  ['an unknown state token', '/sso/idps/0oasandboxidp000001?stateToken=00unknown', '401 E0000011'],
  ['an unknown key', '/policy/mfa-saml-idp-redirect?okta_key=unknown', '401 E0000011'],
  ['no key', '/policy/mfa-oidc-idp-redirect', '401 E0000011'],
  ['an unknown request', '/identity-provider/unknown', '401 E0000011'],
])('%s is refused', async (_request, path, leadsTo) => {
  await asked('sam.saml')
  expect(outcome(await answerOf(await client.get(path)))).toBe(leadsTo)
})

test('the redirect works only for the factor of its transaction', async () => {
  const { stateToken } = (await client.signIn('tomas.berg')).body
  const path = `/sso/idps/0oasandboxidp000001?stateToken=${stateToken}`
  expect(outcome(await answerOf(await client.get(path)))).toBe('401 E0000011')
})

test('an answer other than the two buttons is refused and has no effect', async () => {
  const challenge = await asked('odin.oidc')
  const page = await providerPage(challenge)
  expect(outcome(await answerOf(await press(page, 'perhaps')))).toBe('400 E0000001')
  expect(outcome(await state(challenge))).toBe('200 MFA_CHALLENGE')
})

test('previous invalidates the redirect', async () => {
  const challenge = await asked('odin.oidc')
  const page = await providerPage(challenge)
  const back = await client.follow(challenge, '_links.prev')
  expect(outcome(back)).toBe('200 MFA_REQUIRED')
  expect((await press(page, 'approve')).status).toBe(401)
  expect(outcome(await state(back))).toBe('200 MFA_REQUIRED')
})

test('a step-up may use the redirect too, after the password', async () => {
  const { stateToken } = client.sandbox.startStepUp('payroll')
  const required = await client.post(AUTHN, { stateToken, username: 'sam.saml', password: PASSWORD })
  const challenge = await client.follow(required, '_embedded.factors.0._links.verify')
  await press(await providerPage(challenge), 'approve')
  const done = await state(challenge)
  expect(outcome(done)).toBe('200 SUCCESS')
  expect(done.at('_links.next.name')).toBe('original')
})
