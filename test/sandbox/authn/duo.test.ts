import { expect, test } from '@jest/globals'
import { type Answer, outcome, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const WAYS = {
  verification: async () =>
    client.follow(await client.signIn('dario.duo'), '_embedded.factors.web._links.verify'),
  activation: async () =>
    client.follow(await client.signIn('dina.duo'), '_embedded.factors.web._links.enroll', {
      factorType: 'web',
      provider: 'DUO',
    }),
} as const
const LOGINS = { verification: 'dario.duo', activation: 'dina.duo' } as const
type Way = keyof typeof WAYS

/** Posts the form that the page receives from Duo's frame. */
async function complete(asked: Answer, way: Way, form: Record<string, string> = {}, type?: string) {
  const fields = {
    stateToken: String(asked.body.stateToken),
    sig_response: client.sandbox.duoResponse(LOGINS[way]),
    ...form,
  }
  return fetch(String(asked.at(`_embedded.factor._embedded.${way}._links.complete.href`)), {
    method: 'POST',
    headers: {
      authorization: `SSWS ${client.sandbox.apiToken}`,
      'content-type': type ?? 'application/x-www-form-urlencoded',
    },
    body: type === 'application/json' ? JSON.stringify(fields) : new URLSearchParams(fields).toString(),
  })
}

/** Recordings of the reference page, "enroll Duo factor" and "verify Duo factor". */
test.each([
  ['verification', 'MFA_CHALLENGE', 'verify'],
  ['activation', 'MFA_ENROLL_ACTIVATE', 'lifecycle/activate/poll'],
] as const)('%s: host, signature and links; WAITING until the form comes', async (way, status, next) => {
  const asked = await WAYS[way]()
  const id = asked.at('_embedded.factor.id')
  const path = `${client.url}/api/v1/authn/factors/${id}`
  expect(asked.body).toMatchObject({ status, factorResult: 'WAITING' })
  expect(asked.at('_links.next')).toEqual({
    name: 'poll',
    href: `${path}/${next}`,
    hints: { allow: ['POST'] },
  })
  const { _embedded, ...factor } = Object(asked.at('_embedded.factor'))
  expect(factor).toEqual({
    id: expect.stringMatching(/^dsf/),
    factorType: 'web',
    provider: 'DUO',
    vendorName: 'DUO',
    profile: { credentialId: `${LOGINS[way]}@example.test` },
  })
  expect(_embedded).toEqual({
    [way]: {
      host: 'api-sandbox.duosecurity.example',
      signature: expect.stringMatching(/^TX\|[\w+/=]+\|[\w+/=]+:APP\|[\w+/=]+\|[\w+/=]+$/),
      factorResult: 'WAITING',
      _links: {
        complete: { href: `${path}/lifecycle/duoCallback`, hints: { allow: ['POST'] } },
        script: {
          href: `${client.url}/js/sections/duo/Duo-Web-v2.js`,
          type: 'text/javascript; charset=utf-8',
        },
      },
    },
  })
  expect((await client.follow(asked, '_links.next')).body.factorResult).toBe('WAITING')
  const completed = await complete(asked, way)
  expect([completed.status, await completed.text()]).toEqual([200, ''])
  expect(outcome(await client.follow(asked, '_links.next'))).toBe('200 SUCCESS')
})

test.each(['verification', 'activation'] as const)('%s: wrong forms', async (way) => {
  const asked = await WAYS[way]()
  const refused = async (...args: [form: Record<string, string>, type?: string]) => {
    const answer = await complete(asked, way, ...args)
    const { errorCode } = (await answer.json()) as { errorCode: string }
    return `${answer.status} ${errorCode}`
  }
  expect(await refused({ sig_response: 'AUTH|x|x:APP|x|x' })).toBe('403 E0000068')
  expect(await refused({ sig_response: '' })).toBe('400 E0000001')
  expect(await refused({ id: 'dsf-of-another-user' })).toBe('400 E0000001')
  const id = String(asked.at('_embedded.factor.id'))
  expect(await refused({ id, sig_response: 'AUTH|x|x:APP|x|x' })).toBe('403 E0000068')
  expect(await refused({ stateToken: '00unknown' })).toBe('401 E0000011')
  expect(await refused({}, 'application/json')).toBe('415 E0000021')
  expect((await client.follow(asked, '_links.next')).body.factorResult).toBe('WAITING')
})

test.each([
  ['reject', 'REJECTED'],
  ['cancel', 'CANCELLED'],
  ['error', 'ERROR'],
] as const)('%s in the frame: %s, and the next call asks again', async (answer, factorResult) => {
  const asked = await WAYS.verification()
  const signature = asked.at('_embedded.factor._embedded.verification.signature')
  client.sandbox.answerPush('dario.duo', answer)
  expect((await client.follow(asked, '_links.next')).body).toMatchObject({
    status: 'MFA_CHALLENGE',
    factorResult,
  })
  const again = await client.follow(asked, '_links.next')
  expect(again.body.factorResult).toBe('WAITING')
  expect(again.at('_embedded.factor._embedded.verification.signature')).not.toBe(signature)
})

test('other paths refuse forms, and the control API returns the response of the frame', async () => {
  const answer = await fetch(`${client.url}/api/v1/authn`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'username=amelia.stone&password=x',
  })
  expect(answer.status).toBe(415)
  const control = `${client.url}/sandbox/users/dario.duo/duo`
  expect((await fetch(control, { method: 'POST' })).status).toBe(400)
  await WAYS.verification()
  const told = await fetch(control, { method: 'POST' })
  expect(await told.json()).toEqual({ sig_response: client.sandbox.duoResponse('dario.duo') })
})
