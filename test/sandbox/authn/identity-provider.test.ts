import { expect, test } from '@jest/globals'
import { type Answer, answerOf, outcome, useSandbox } from './sandbox-client.ts'

/** Refusals of the identity provider's page; journeys and the demo show its approvals and rejections. */
const client = useSandbox()

const challengeOf = async (login: string) =>
  client.follow(await client.signIn(login), '_embedded.factors.0._links.verify')

async function providerPage(challenge: Answer): Promise<string> {
  const { headers } = await client.get(String(challenge.at('_links.next.href')))
  return new URL(String(headers.get('location')), client.url).href
}

const press = async (page: string, answer: string) =>
  (await fetch(page, { method: 'POST', body: new URLSearchParams({ answer }), redirect: 'manual' })).status

test.each([
  ['an unknown identity provider', '/sso/idps/0oaunknown', '404 E0000007'],
  ['an unknown state token', '/sso/idps/0oasandboxidp000001?stateToken=00unknown', '401 E0000011'],
  ['an unknown key', '/policy/mfa-saml-idp-redirect?okta_key=unknown', '401 E0000011'],
  ['an unknown request', '/identity-provider/unknown', '401 E0000011'],
])('%s is refused', async (_request, path, leadsTo) => {
  await challengeOf('sam.saml')
  expect(outcome(await answerOf(await client.get(path)))).toBe(leadsTo)
})

test('the redirect works only for the factor of its transaction', async () => {
  const { stateToken } = (await client.signIn('tomas.berg')).body
  const path = `/sso/idps/0oasandboxidp000001?stateToken=${stateToken}`
  expect(outcome(await answerOf(await client.get(path)))).toBe('401 E0000011')
})

test('an answer other than the two buttons has no effect, and previous invalidates the page', async () => {
  const challenge = await challengeOf('odin.oidc')
  const page = await providerPage(challenge)
  expect(await press(page, 'perhaps')).toBe(400)
  const back = await client.follow(challenge, '_links.prev')
  expect(outcome(back)).toBe('200 MFA_REQUIRED')
  expect(await press(page, 'approve')).toBe(401)
})
