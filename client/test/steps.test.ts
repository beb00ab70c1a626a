import { expect, test } from '@jest/globals'
import { createGatehouse, type Factor } from 'gatehouse-client'
import { factorOf, stepAt } from 'gatehouse-test-support/node-client'
import { ORIGIN, scriptBroker, WAITING } from 'gatehouse-test-support/scripted-broker'

/**
 * Steps that no journey of the sandbox's users has: hidden factors, unknown statuses, and lists
 * with another name.
 */

function client(...bodies: readonly object[]) {
  const broker = scriptBroker()
  broker.answer(...bodies.map((body) => ({ body })))
  const gatehouse = createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch })
  return { broker, begin: () => gatehouse.signIn({ stateToken: 'an-example-handle' }) }
}
const link = (path: string, name?: string) => ({ href: ORIGIN + path, ...(name && { name }) })

test('an unknown status has only what its links offer', async () => {
  const { _links, stateToken } = WAITING
  const { broker, begin } = client({ status: 'TERMS_OF_USE', stateToken, _links }, {})
  const step = await begin()
  expect([step.status, Object.keys(step).sort()]).toEqual([
    'TERMS_OF_USE',
    ['answer', 'cancel', 'previous', 'stateToken', 'status'],
  ])
  await step.cancel()
  expect(broker.requests.at(-1)?.slice(1)).toEqual(['POST', '/api/v1/authn/cancel'])
})

test('white space around a username is not sent: a phone’s keyboard adds it to a suggestion', async () => {
  const { broker } = client()
  const gatehouse = createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch })
  broker.answer(...Array.from({ length: 3 }, () => ({ body: WAITING })))
  await gatehouse.signIn({ username: ' ada@example.test\t', password: ' kept as it is ' })
  await gatehouse.recoverPassword({ username: 'ada ', factorType: 'SMS' })
  await gatehouse.unlockAccount({ username: '\u00a0ada', factorType: 'SMS' })
  expect(broker.bodies.map((body) => Reflect.get(Object(body), 'username'))).toEqual([
    'ada@example.test',
    'ada',
    'ada',
  ])
  expect(broker.bodies[0]).toMatchObject({ password: ' kept as it is ' })
})

test.each(['constructor', 'toString', '__proto__'])('the status %s is an unknown one', async (status) => {
  const step = await client({ status, stateToken: 'an-example-handle' }).begin()
  expect(Object.keys(step).sort()).toEqual(['answer', 'cancel', 'stateToken', 'status'])
})

test('cancel sends nothing if there is nothing to end', async () => {
  const { broker, begin } = client({ status: 'SUCCESS' })
  await (await begin()).cancel()
  expect(broker.requests).toHaveLength(1)
})

test.each(['javascript:alert(1)', ' JavaScript:alert(1)', 'data:text/html,x', 'portal-app://x'])(
  'a link that is neither http nor https is not offered: %s',
  async (href) => {
    const to = (name: string) => ({ ...WAITING, _links: { next: { href, name }, cancel: { href } } })
    const factor = { _embedded: { activation: { _links: { qrcode: { href } } } } }
    const { broker, begin } = client({ ...to('original'), status: 'SUCCESS' }, to('redirect'), {
      ...to('activate'),
      status: 'MFA_ENROLL_ACTIVATE',
      _embedded: { factor },
    })
    for (let n = 0; n < 3; n++) {
      const step = await begin()
      expect(Object.values(step)).not.toContain(href) // redirectUrl, qrCode
      expect(step).not.toHaveProperty('next', expect.anything())
      await step.cancel()
    }
    expect(broker.requests).toHaveLength(3)
  },
)

/**
 * The links of the widget's CUSTOM_PASSWORD_EXPIRED.js and CUSTOM_PASSWORD_WARN.js, and one without
 * what tells them.
 */
test.each([
  ['PASSWORD_EXPIRED', { title: 'Twitter', href: 'https://www.twitter.com', hints: { allow: ['GET'] } }],
  ['PASSWORD_WARN', { title: 'Google', href: 'https://www.google.com', hints: { allow: ['POST'] } }],
  ['PASSWORD_WARN', { href: 'https://www.google.com' }],
  ['PASSWORD_EXPIRED', { title: 'Passwords', href: `${ORIGIN}/passwords` }],
] as const)('%s with the link %j: a site to go to, and nothing to send', async (status, next) => {
  const { cancel } = WAITING._links
  const _links = { next: { name: 'changePassword', ...next }, cancel, skip: link('/api/v1/authn/skip') }
  const { begin } = client({ status, stateToken: 'an-example-handle', _embedded: {}, _links })
  const step = stepAt(await begin(), status, 'redirect')
  expect(step).toMatchObject({ redirectUrl: next.href, site: 'title' in next ? next.title : undefined })
  expect(step).not.toHaveProperty('changePassword')
  expect(step).toHaveProperty('skip')
})

test('a list of factors with the name `factor` is the same list', async () => {
  const factor = { id: 'f1', factorType: 'push', provider: 'OKTA', _links: { verify: link('/verify') } }
  const required = {
    ...WAITING,
    status: 'MFA_REQUIRED',
    _embedded: { factor: [factor, { ...factor, id: 'f2' }] },
  }
  const { broker, begin } = client(required, WAITING)
  const { factors, verify } = stepAt(await begin(), 'MFA_REQUIRED')
  expect(factors.map(({ id }) => id)).toEqual(['f1', 'f2'])
  await verify(factorOf<Factor>(factors, 'push'))
  expect(broker.requests.at(-1)?.[2]).toBe('/verify')
})

test('options with a value, false included, are added to the query of a link', async () => {
  const factor = { id: 'f1', factorType: 'push', provider: 'OKTA', _links: { verify: link('/verify?a=b') } }
  const required = { ...WAITING, status: 'MFA_REQUIRED', _embedded: { factors: [factor] } }
  const { broker, begin } = client(required, WAITING)
  const { factors, verify } = stepAt(await begin(), 'MFA_REQUIRED')
  const options = { rememberDevice: false, autoPush: undefined } as object
  await verify(factorOf<Factor>(factors, 'push'), undefined, options)
  expect(broker.requests.at(-1)?.[2]).toBe('/verify?a=b&rememberDevice=false')
})

test('the options of a challenge apply to its proof, and not to the next challenge', async () => {
  const factor = { id: 'f1', factorType: 'sms', provider: 'OKTA', _links: { verify: link('/begin') } }
  const required = { ...WAITING, status: 'MFA_REQUIRED', _embedded: { factors: [factor] } }
  const challenge = { ...WAITING, _embedded: { factor }, _links: { next: link('/verify', 'verify') } }
  const { broker, begin } = client(required, challenge, required, challenge)
  const first = stepAt(await begin(), 'MFA_REQUIRED')
  const sms = factorOf<Factor>(first.factors, 'sms')
  const begun = await first.verify(sms, undefined, { rememberDevice: true })
  const second = stepAt(
    await stepAt(begun, 'MFA_CHALLENGE', 'verify').verify({ passCode: '1' }),
    'MFA_REQUIRED',
  )
  expect(broker.requests.at(-1)?.[2]).toBe('/verify?rememberDevice=true')
  const again = await second.verify(factorOf<Factor>(second.factors, 'sms'))
  await stepAt(again, 'MFA_CHALLENGE', 'verify').verify({ passCode: '1' })
  expect(broker.requests.slice(-2).map(([, , path]) => path)).toEqual(['/begin', '/verify'])
})

test('a factor that the operator hides leaves previous and cancel', async () => {
  const { next: _hidden, ...links } = WAITING._links
  const required = { ...WAITING, status: 'MFA_REQUIRED', _embedded: { factors: [] } }
  const { begin } = client({ ...WAITING, _embedded: {}, _links: links }, required)
  const step = stepAt(await begin(), 'MFA_CHALLENGE')
  expect([step.next, step.factor, 'verify' in step, 'poll' in step]).toEqual([
    undefined,
    undefined,
    false,
    false,
  ])
  expect((await step.previous?.())?.status).toBe('MFA_REQUIRED')
})
