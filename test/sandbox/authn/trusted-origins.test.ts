import { expect, test } from '@jest/globals'
import { createVirtualAuthenticator } from '../../../src/sandbox/authn/factors/virtual-authenticator.ts'
import { loadSandboxConfig, parseSandboxConfig } from '../../../src/sandbox/sandbox-config.ts'
import { outcome, useSandbox } from './sandbox-client.ts'

/** WebAuthn level 2, 7.1 and 7.2: a security key's answer is accepted only from a trusted origin, for the id of that page. */

const PORTAL = 'https://portal.example.test'
const DESK = 'https://desk.example.test'
const key = createVirtualAuthenticator({ seed: 'a key that is enrolled here' })
const client = useSandbox((config) => {
  config.trustedOrigins = [PORTAL, DESK, 'http://localhost:*']
})
const linkTo = (name: 'verify' | 'enroll') => `_embedded.factors.webauthn._links.${name}`

test.each([
  [PORTAL, 'portal.example.test', '200 SUCCESS'],
  ['http://localhost:3000', 'localhost', '200 SUCCESS'],
  ['https://portal.example.test.evil.test', 'portal.example.test.evil.test', '403 E0000068'],
  ['http://portal.example.test', 'portal.example.test', '403 E0000068'],
  [`${PORTAL}:8443`, 'portal.example.test', '403 E0000068'],
  ['http://localhost:1@evil.test', 'evil.test', '403 E0000068'],
  [PORTAL, 'desk.example.test', '403 E0000068'],
])('a key that is verified and enrolled on %s for %s: %s', async (origin, rpId, leadsTo) => {
  const challenge = await client.follow(await client.signIn('wanda.key'), linkTo('verify'))
  const nonce = String(challenge.at('_embedded.factor._embedded.challenge.challenge'))
  const signed = client.sandbox.authenticator('wanda.key').signWebauthn(nonce, origin, rpId)
  expect(outcome(await client.follow(challenge, '_links.next', signed))).toBe(leadsTo)

  const activating = await enroll()
  const registered = key.registerWebauthn(challengeOf(activating), origin, rpId)
  expect(outcome(await client.follow(activating, '_links.next', registered))).toBe(leadsTo)
})

test('a key does not work on a trusted site other than that of its enrollment', async () => {
  const activating = await enroll()
  const registered = key.registerWebauthn(challengeOf(activating), PORTAL)
  expect(outcome(await client.follow(activating, '_links.next', registered))).toBe('200 SUCCESS')
  const asked = await client.follow(await client.signIn('erin.enroll'), linkTo('verify'))
  const challenge = String(asked.at('_embedded.factor._embedded.challenge.challenge'))
  const signOn = (origin: string) =>
    client.follow(asked, '_links.next', key.signWebauthn(challenge, origin)).then(outcome)
  expect([await signOn(DESK), await signOn(PORTAL)]).toEqual(['403 E0000068', '200 SUCCESS'])
})

test.each(['https://portal.example.test/', 'https://*.example.test', 'portal.example.test'])(
  'the configuration refuses %s: not an origin',
  (origin) => {
    const config = { ...loadSandboxConfig(), trustedOrigins: [origin] }
    expect(() => parseSandboxConfig(config)).toThrow(/trustedOrigins/)
  },
)

const enroll = async () =>
  client.follow(await client.signIn('erin.enroll'), linkTo('enroll'), {
    factorType: 'webauthn',
    provider: 'FIDO',
  })

const challengeOf = (activating: Awaited<ReturnType<typeof enroll>>) =>
  String(activating.at('_embedded.factor._embedded.activation.challenge'))
