import { expect, test } from '@jest/globals'
import { outcome, startSandbox, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const FACTORS = '/api/v1/authn/factors'
const LOGIN = 'erin.enroll'

async function enroll(body: object, login = LOGIN, more: Record<string, unknown> = {}, query = '') {
  const start = await client.signIn(login, more)
  return client.post(FACTORS + query, { stateToken: start.body.stateToken, ...body })
}

const phone = { phoneNumber: '+1 555 010 7788' }
const push = { factorType: 'push', provider: 'OKTA' }

/** docs/conformance.md F-2.8: sending a push activation link, both paths. */
// sandbox shows: F-2.8
test.each([
  ['email', 'of the user', {}],
  ['sms', 'of the user', { profile: phone }],
  ['email', 'of the transaction', {}],
  ['sms', 'of the transaction', { profile: phone }],
])('activate/%s by the path %s: the link in the message enrolls the phone', async (by, path, body) => {
  const activating = await enroll(push)
  const link = `_embedded.factor._embedded.activation._links.send.${by === 'email' ? 0 : 1}`
  const own = `${FACTORS}/${activating.at('_embedded.factor.id')}/lifecycle/activate/${by}`
  const href = path === 'of the user' ? String(activating.at(`${link}.href`)) : own
  // without an API token, as public clients do (S17)
  const send = (more: object) => client.post(href, { stateToken: activating.body.stateToken, ...more }, {})
  if (by === 'sms') expect(outcome(await send({}))).toBe('400 E0000001')
  const answer = await send(body)
  expect(answer.body).toMatchObject({ status: 'MFA_ENROLL_ACTIVATE', factorResult: 'WAITING' })
  const sent = client.sandbox.outbox.latest('erin.enroll@example.test', 'push-activation')?.link
  expect(await client.get(String(sent))).toHaveProperty('status', 200)
  expect(outcome(await client.follow(activating, '_links.next'))).toBe('200 SUCCESS')
})

/** F6: whether Okta accepts another id than the page's host is unproven. */
test.each([
  ['by default, a security key must belong to the host of the page', [], '403 E0000068'],
  ['a security key may belong to one of relyingPartyIds', ['example.test'], '200 SUCCESS'],
])('%s', async (_row, relyingPartyIds, expected) => {
  const other = await startSandbox((config) => Object.assign(config, { relyingPartyIds }))
  try {
    const start = await other.signIn(LOGIN)
    const key = { stateToken: start.body.stateToken, factorType: 'webauthn', provider: 'FIDO' }
    const activating = await other.post(FACTORS, key)
    const nonce = String(activating.at('_embedded.factor._embedded.activation.challenge'))
    const page = 'https://portal.example.test'
    const proof = other.sandbox.authenticator(LOGIN).registerWebauthn(nonce, page, 'example.test')
    expect(outcome(await other.follow(activating, '_links.next', proof))).toBe(expected)
  } finally {
    await other.close()
  }
})

/** The sign-in widget sends `validatePhone: false` after E0000098. */
test.each(['sms', 'call'])(
  'enroll %s with a number that no carrier knows is 400 E0000098, unless validatePhone is false',
  async (factorType) => {
    const number = { phoneNumber: '+1 555 010 0000' }
    const send = (more: object) => enroll({ factorType, provider: 'OKTA', profile: { ...number, ...more } })
    for (const more of [{}, { validatePhone: true }]) expect(outcome(await send(more))).toBe('400 E0000098')
    expect(outcome(await send({ validatePhone: false }))).toBe('200 MFA_ENROLL_ACTIVATE')
  },
)
