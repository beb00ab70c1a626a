import { describe, expect, test } from '@jest/globals'
import { createVirtualAuthenticator } from '../../../src/sandbox/authn/factors/virtual-authenticator.ts'
import { loadSandboxConfig, parseSandboxConfig } from '../../../src/sandbox/sandbox-config.ts'
import { type Answer, type Client, outcome, useSandbox } from './sandbox-client.ts'

/**
 * WebAuthn level 2, 7.1 and 7.2: the org accepts a security key's answer only from a page with a trusted origin, for the
 * relying party id of that page. A key works only for the relying party id that it was enrolled for.
 */

const PORTAL = 'https://portal.example.test'
const REFUSED = '403 E0000068'
const key = createVirtualAuthenticator({ seed: 'a key that is enrolled here' })

const client = useSandbox((config) => {
  config.trustedOrigins = [PORTAL, 'https://desk.example.test', 'http://localhost:*']
})

const PAGES: [page: string, origin: string, rpId: string, accepted: boolean][] = [
  ['of a trusted origin', PORTAL, 'portal.example.test', true],
  ['of localhost, on any port', 'http://localhost:3000', 'localhost', true],
  ['of localhost, on the default port', 'http://localhost', 'localhost', true],
  ['of another site', 'https://portal.example.test.evil.test', 'portal.example.test.evil.test', false],
  ['of another host of the domain', 'https://other.example.test', 'other.example.test', false],
  ['of the same host without TLS', 'http://portal.example.test', 'portal.example.test', false],
  ['of the same host on another port', `${PORTAL}:8443`, 'portal.example.test', false],
  ['of a host whose name begins with localhost', 'http://localhost.evil.test', 'localhost.evil.test', false],
  ['with user info that looks like localhost', 'http://localhost:1@evil.test', 'evil.test', false],
  ['of a trusted origin, signed for another site', PORTAL, 'evil.test', false],
  ['of another site, signed for a trusted one', 'https://evil.test', 'portal.example.test', false],
  ['of a trusted origin, signed for another trusted one', PORTAL, 'desk.example.test', false],
]

test.each(PAGES)('webauthn, verified from a page %s', async (_page, origin, rpId, accepted) => {
  const { sandbox } = client
  const challenge = await client.follow(await client.signIn('wanda.key'), linkTo('webauthn'))
  const nonce = String(challenge.at('_embedded.factor._embedded.challenge.challenge'))
  const signed = sandbox.authenticator('wanda.key').signWebauthn(nonce, origin, rpId)
  expect(outcome(await client.follow(challenge, '_links.next', signed))).toBe(
    accepted ? '200 SUCCESS' : REFUSED,
  )
})

test.each(PAGES)('webauthn, enrolled from a page %s', async (_page, origin, rpId, accepted) => {
  const activating = await enroll('webauthn')
  const nonce = String(activating.at('_embedded.factor._embedded.activation.challenge'))
  const answer = key.registerWebauthn(nonce, origin, rpId)
  expect(outcome(await client.follow(activating, '_links.next', answer))).toBe(
    accepted ? '200 SUCCESS' : REFUSED,
  )
})

test.each([
  ['the site on which it was enrolled', PORTAL, '200 SUCCESS'],
  ['another trusted site', 'https://desk.example.test', REFUSED],
])('a key works on %s', async (_site, origin, leadsTo) => {
  const activating = await enroll('webauthn')
  const nonce = String(activating.at('_embedded.factor._embedded.activation.challenge'))
  await client.follow(activating, '_links.next', key.registerWebauthn(nonce, PORTAL))
  const asked = await client.follow(await client.signIn('erin.enroll'), linkTo('webauthn'))
  const challenge = String(asked.at('_embedded.factor._embedded.challenge.challenge'))
  const signed = key.signWebauthn(challenge, origin)
  expect(outcome(await client.follow(asked, '_links.next', signed))).toBe(leadsTo)
})

test.each([
  [PORTAL, PORTAL],
  ['https://evil.test', undefined],
  [undefined, undefined],
])(
  'u2f: for a request with the Origin %s, appId is %s, or else the org’s own origin',
  async (page, appId) => {
    const { body } = await client.signIn('erin.enroll')
    const answer = await postFrom(client, page, '/api/v1/authn/factors', {
      stateToken: body.stateToken,
      factorType: 'u2f',
      provider: 'FIDO',
    })
    expect(answer.at('_embedded.factor._embedded.activation.appId')).toBe(appId ?? client.url)
  },
)

describe('if the org requires a trusted Origin header', () => {
  const strict = useSandbox((config) => {
    config.trustedOrigins = [PORTAL]
    config.requiresOriginHeader = true
  })

  test.each([
    ['a trusted origin', PORTAL, '200 SUCCESS'],
    ['another origin', 'https://evil.test', REFUSED],
    ['no origin', undefined, REFUSED],
  ])('a request with %s: verifying and enrolling a key', async (_name, page, leadsTo) => {
    const asked = await strict.follow(await strict.signIn('wanda.key'), linkTo('webauthn'))
    const nonce = String(asked.at('_embedded.factor._embedded.challenge.challenge'))
    const signed = strict.sandbox.authenticator('wanda.key').signWebauthn(nonce, PORTAL)
    expect(outcome(await followFrom(page, asked, signed))).toBe(leadsTo)

    const activating = await enroll('webauthn', strict)
    const challenge = String(activating.at('_embedded.factor._embedded.activation.challenge'))
    expect(outcome(await followFrom(page, activating, key.registerWebauthn(challenge, PORTAL)))).toBe(leadsTo)
  })

  test('a trusted Origin header does not make the origin in the client data trusted', async () => {
    const asked = await strict.follow(await strict.signIn('wanda.key'), linkTo('webauthn'))
    const nonce = String(asked.at('_embedded.factor._embedded.challenge.challenge'))
    const signed = strict.sandbox.authenticator('wanda.key').signWebauthn(nonce, 'https://evil.test')
    expect(outcome(await followFrom(PORTAL, asked, signed))).toBe(REFUSED)
  })

  const followFrom = (page: string | undefined, asked: Answer, fields: object) =>
    postFrom(strict, page, String(asked.at('_links.next.href')), {
      stateToken: asked.body.stateToken,
      ...fields,
    })
})

test('the org’s own origin is always trusted', async () => {
  const challenge = await client.follow(await client.signIn('wanda.key'), linkTo('webauthn'))
  const nonce = String(challenge.at('_embedded.factor._embedded.challenge.challenge'))
  const signed = client.sandbox.authenticator('wanda.key').signWebauthn(nonce, client.url)
  expect(outcome(await client.follow(challenge, '_links.next', signed))).toBe('200 SUCCESS')
})

test.each([
  [PORTAL, '200 SUCCESS'],
  ['https://evil.test', REFUSED],
])('u2f, verified and enrolled from a page of %s', async (origin, leadsTo) => {
  const challenge = await client.follow(await client.signIn('uwe.key'), linkTo('u2f'))
  const nonce = String(challenge.at('_embedded.factor._embedded.challenge.nonce'))
  const signed = client.sandbox.authenticator('uwe.key').signU2f(nonce, origin)
  expect(outcome(await client.follow(challenge, '_links.next', signed))).toBe(leadsTo)

  const activating = await enroll('u2f')
  const enrollNonce = String(activating.at('_embedded.factor._embedded.activation.nonce'))
  const registered = key.registerU2f(enrollNonce, origin)
  expect(outcome(await client.follow(activating, '_links.next', registered))).toBe(leadsTo)
})

test.each(['https://portal.example.test/', 'https://*.example.test', 'portal.example.test', 'http://a:*0'])(
  'the configuration refuses %s: not an origin',
  (origin) => {
    expect(() => parseSandboxConfig({ ...loadSandboxConfig(), trustedOrigins: [origin] })).toThrow(
      /trustedOrigins/,
    )
  },
)

/** As a trusted app that forwards the page's `Origin` header. */
function postFrom(to: Client, page: string | undefined, path: string, body: object): Promise<Answer> {
  const authorization = `SSWS ${to.sandbox.apiToken}`
  return to.post(path, body, { authorization, ...(page === undefined ? {} : { origin: page }) })
}

function enroll(factorType: string, to = client): Promise<Answer> {
  return to.signIn('erin.enroll').then((start) =>
    to.follow(start, `_embedded.factors.${factorType}._links.enroll`, {
      factorType,
      provider: 'FIDO',
    }),
  )
}

function linkTo(factorType: string): string {
  return `_embedded.factors.${factorType}._links.verify`
}
