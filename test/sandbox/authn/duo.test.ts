import { createHash } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { type Answer, answerOf, outcome, startSandbox, useSandbox } from './sandbox-client.ts'

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
    id: String(asked.at('_embedded.factor.id')),
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
  expect(await refused({ stateToken: '00unknown' })).toBe('401 E0000011')
  expect(await refused({}, 'application/json')).toBe('415 E0000021')
  expect((await client.follow(asked, '_links.next')).body.factorResult).toBe('WAITING')
})

test('a response that was signed for an earlier challenge does not complete a new one', async () => {
  const first = await WAYS.verification()
  const sig_response = client.sandbox.duoResponse('dario.duo')
  await client.follow(first, '_links.cancel')
  const second = await WAYS.verification()
  expect((await complete(second, 'verification', { sig_response })).status).toBe(403)
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

test('the callback is 403 E0000079 if no Duo request is pending', async () => {
  const required = await client.signIn('dario.duo')
  const id = required.at('_embedded.factors.web.id')
  const path = `/api/v1/authn/factors/${id}/lifecycle/duoCallback`
  const form = { id: String(id), stateToken: String(required.body.stateToken), sig_response: 'x' }
  const answer = await fetch(client.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
  })
  expect([answer.status, await answer.json()]).toMatchObject([403, { errorCode: 'E0000079' }])
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

/** Duo's frame, as version 2 of Duo's Web SDK opens it. */
describe('the frame', () => {
  const PARENT = 'http://localhost:8080/signin?from=mail#top'
  const txOf = (asked: Answer, way: Way) =>
    String(asked.at(`_embedded.factor._embedded.${way}.signature`)).split(':')[0] ?? ''

  function open(parameters: Record<string, string>): Promise<Response> {
    return client.get(`/frame/web/v1/auth?${new URLSearchParams(parameters)}`)
  }

  test.each(['verification', 'activation'] as const)(
    '%s: a page with two buttons, and the response that Duo signs if the user approves',
    async (way) => {
      const frame = await open({ tx: txOf(await WAYS[way](), way), parent: PARENT, v: '2.8' })
      expect([frame.status, frame.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      const page = await frame.text()
      expect([...page.matchAll(/<button [^>]*>(\w+)</g)].map(([, label]) => label)).toEqual([
        'Approve',
        'Deny',
      ])
      expect(page).toContain(`${LOGINS[way]}@example.test`)
      const [auth] = client.sandbox.duoResponse(LOGINS[way]).split(':')
      expect(page).toContain(`data-response="${auth}"`)
      expect(page).toContain('data-to="http://localhost:8080"')
    },
  )

  test('the policy allows only the page that opened the frame to embed it, and only its own script to run', async () => {
    const tx = txOf(await WAYS.verification(), 'verification')
    const frame = await open({ tx, parent: PARENT, v: '2.8' })
    const [, script = ''] = (await frame.text()).match(/<script[^>]*>(.*)<\/script>/s) ?? []
    const hash = createHash('sha256').update(script).digest('base64')
    const policy = frame.headers.get('content-security-policy')?.split('; ')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain(`script-src 'sha256-${hash}'`)
    expect(policy).toContain('frame-ancestors http://localhost:8080')
  })

  test.each<[field: string, what: string, parameters: Record<string, string>]>([
    ['tx', 'missing', { tx: '' }],
    ['tx', 'of an unknown request', { tx: 'TX|x|x' }],
    ['parent', 'missing', { parent: '' }],
    ['parent', 'not a URL', { parent: 'portal' }],
    ['parent', 'neither http nor https', { parent: 'javascript:alert(1)' }],
    ['parent', 'an invalid host', { parent: 'http://a;sandbox/' }],
    ['v', 'missing', { v: '' }],
    ['v', 'of another SDK version', { v: '4' }],
  ])('%s %s: 400, which names it', async (field, _what, parameters) => {
    const tx = txOf(await WAYS.verification(), 'verification')
    const refused = await answerOf(await open({ tx, parent: PARENT, v: '2.8', ...parameters }))
    expect(outcome(refused)).toBe('400 E0000001')
    expect(refused.at('errorCauses.0.errorSummary')).toMatch(new RegExp(`^${field}: `))
    expect(refused.at('errorCauses')).toHaveLength(1)
  })

  test('all parameters missing: 400 with one cause for each', async () => {
    const refused = await answerOf(await client.get('/frame/web/v1/auth'))
    expect(outcome(refused)).toBe('400 E0000001')
    expect(refused.body.errorCauses).toEqual(
      ['tx', 'parent', 'v'].map((field) => ({ errorSummary: `${field}: The field cannot be left blank` })),
    )
  })

  test('a completed request has no frame', async () => {
    const asked = await WAYS.verification()
    const tx = txOf(asked, 'verification')
    await client.follow(asked, '_links.cancel')
    expect((await open({ tx, parent: PARENT, v: '2.8' })).status).toBe(400)
  })

  test('the host is the configured one, or the sandbox itself if none is configured', async () => {
    const own = await startSandbox((config) => {
      config.duoHost = null
    })
    try {
      const asked = await own.follow(await own.signIn('dario.duo'), '_embedded.factors.web._links.verify')
      const host = asked.at('_embedded.factor._embedded.verification.host')
      expect(host).toBe(new URL(own.url).host)
    } finally {
      await own.close()
    }
  })
})
