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
async function complete(asked: Answer, way: Way) {
  const stateToken = String(asked.body.stateToken)
  return fetch(String(asked.at(`_embedded.factor._embedded.${way}._links.complete.href`)), {
    method: 'POST',
    headers: { authorization: `SSWS ${client.sandbox.apiToken}` },
    body: new URLSearchParams({ stateToken, sig_response: client.sandbox.duoResponse(LOGINS[way]) }),
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
