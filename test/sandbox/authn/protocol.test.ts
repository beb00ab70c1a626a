import { expect, test } from '@jest/globals'
import { until } from '../../support/until.ts'
import { answerOf, outcome, startSandbox, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

async function raw(method: string, path: string, body?: string, type = 'application/json') {
  const headers = body === undefined ? {} : { 'content-type': type }
  return answerOf(
    await fetch(client.url + path, { method, headers, ...(body === undefined ? {} : { body }) }),
  )
}

/** docs/conformance.md A-19: body shape. */
test('every error is an Error object; errorLink equals the code, and errorCauses may be empty', async () => {
  const { body } = await client.signIn('nobody')
  expect(body).toEqual({
    errorCode: 'E0000004',
    errorSummary: 'Authentication failed',
    errorLink: 'E0000004',
    errorId: expect.stringMatching(/^oae[\w-]{22}$/),
    errorCauses: [],
  })
})

test.each<[string, string, string, string | undefined, string | undefined, string]>([
  ['not JSON', 'POST', '/api/v1/authn', '{"username":', undefined, '400 E0000003'],
  ['JSON that is not an object', 'POST', '/api/v1/authn', '"text"', undefined, '400 E0000003'],
  ['an array', 'POST', '/api/v1/authn', '[]', undefined, '400 E0000001'],
  [
    'a wrong content type',
    'POST',
    '/api/v1/authn',
    'a=b',
    'application/x-www-form-urlencoded',
    '415 E0000021',
  ],
  ['a wrong method', 'GET', '/api/v1/authn', undefined, undefined, '405 E0000022'],
  ['a wrong method on a GET', 'POST', '/app/payroll/sso', '{}', undefined, '405 E0000022'],
  ['an unknown path', 'POST', '/api/v1/unknown', '{}', undefined, '404 E0000007'],
  [
    'a body that is too large',
    'POST',
    '/api/v1/authn',
    `"${'x'.repeat(1_100_000)}"`,
    undefined,
    '400 E0000003',
  ],
  ['no body at all', 'POST', '/api/v1/authn', undefined, undefined, '400 E0000001'],
  [
    'a path with invalid percent-encoding',
    'GET',
    '/api/v1/users/%E0%A4%A/factors/questions',
    undefined,
    undefined,
    '404 E0000007',
  ],
])('%s', async (_request, method, path, body, type, leadsTo) => {
  expect(outcome(await raw(method, path, body, type))).toBe(leadsTo)
})

/** docs/conformance.md A-11: send Accept: application/json. */
test.each<[accept: string, leadsTo: string]>([
  ['application/json', '200 SUCCESS'],
  ['text/html, application/json;q=0.5', '200 SUCCESS'],
  ['application/*', '200 SUCCESS'],
  ['*/*', '200 SUCCESS'],
  ['text/html', '406 E0000122'],
  ['application/xml', '406 E0000122'],
  ['application/json;q=0', '406 E0000122'],
])('Accept: %s', async (accept, leadsTo) => {
  const authorization = `SSWS ${client.sandbox.apiToken}`
  const answer = await client.signIn('amelia.stone', {}, { accept, authorization })
  expect(outcome(answer)).toBe(leadsTo)
  if (answer.status === 406)
    expect(answer.body.errorSummary).toBe(
      "Accept Header did not contain supported media type 'application/json'",
    )
})

test('405 has the allowed method', async () => {
  const answer = await raw('PUT', '/api/v1/authn/skip', '{}')
  expect(answer.headers.get('allow')).toBe('POST')
})

/** docs/conformance.md: rate limits. */
test('every response has rate limit headers', async () => {
  for (const answer of [
    await client.signIn('amelia.stone'),
    await client.signIn('nobody'),
    await raw('GET', '/x'),
  ]) {
    expect(Number(answer.headers.get('x-rate-limit-limit'))).toBeGreaterThan(0)
    expect(answer.headers.get('x-rate-limit-remaining')).not.toBeNull()
    expect(Number(answer.headers.get('x-rate-limit-reset'))).toBeGreaterThan(client.now() / 1000)
  }
})

test('over the limit: 429 E0000047 with the headers, until the next window', async () => {
  const limited = await startSandbox((config) => {
    Object.assign(config.rateLimits, { windowSeconds: 60, trustedPerWindow: 3, publicPerWindow: 1 })
  })
  try {
    const trusted = () => limited.signIn('amelia.stone')
    const other = { authorization: `SSWS ${limited.sandbox.apiToken}`, 'x-forwarded-for': '198.51.100.9' }
    for (let call = 0; call < 3; call += 1) expect(outcome(await trusted())).toBe('200 SUCCESS')
    const refused = await trusted()
    expect(outcome(refused)).toBe('429 E0000047')
    expect(refused.body.errorSummary).toBe('API call exceeded rate limit due to too many requests.')
    expect(refused.headers.get('x-rate-limit-limit')).toBe('3')
    expect(refused.headers.get('x-rate-limit-remaining')).toBe('0')
    const reset = Number(refused.headers.get('x-rate-limit-reset'))
    expect(reset).toBeGreaterThan(limited.now() / 1000)
    // Each client has its own limit; a public app's is lower.
    expect(outcome(await limited.signIn('amelia.stone', {}, other))).toBe('200 SUCCESS')
    expect(outcome(await limited.signIn('amelia.stone', {}, {}))).toBe('200 SUCCESS')
    expect(outcome(await limited.signIn('amelia.stone', {}, {}))).toBe('429 E0000047')
    limited.advance(60_000)
    expect(outcome(await trusted())).toBe('200 SUCCESS')
  } finally {
    await limited.close()
  }
})

test('over the limit of concurrent requests: 429 E0000047 with 0 in two headers, until a request ends', async () => {
  const limited = await startSandbox((config) => {
    config.rateLimits.concurrent = 1
  })
  try {
    const release = limited.sandbox.faults.authn.hold({ times: 1 })
    const first = limited.signIn('amelia.stone')
    await until(() => limited.sandbox.requestLog.authn.entries.length === 1, { what: 'a request in flight' })
    const refused = await limited.signIn('tomas.berg')
    expect(outcome(refused)).toBe('429 E0000047')
    expect(refused.headers.get('x-rate-limit-limit')).toBe('0')
    expect(refused.headers.get('x-rate-limit-remaining')).toBe('0')
    expect(Number(refused.headers.get('x-rate-limit-reset'))).toBeGreaterThan(limited.now() / 1000)
    expect(limited.sandbox.signIns).toEqual([])
    release()
    expect(outcome(await first)).toBe('200 SUCCESS')
    expect(limited.sandbox.signIns).toHaveLength(1)
    await until(async () => outcome(await limited.signIn('amelia.stone')) === '200 SUCCESS', {
      what: 'a free place after the first request has ended',
    })
  } finally {
    await limited.close()
  }
})

/** docs/conformance.md: public apps are strictly rate-limited. */
test('in the default configuration, the public limit is lower', async () => {
  const limit = async (headers?: Record<string, string>) =>
    Number((await client.signIn('amelia.stone', {}, headers)).headers.get('x-rate-limit-limit'))
  expect(await limit({})).toBeLessThan(await limit())
})

test('links begin with linkOrigin, or with the sandbox’s own address if it is not set', async () => {
  const { body } = await client.signIn('olga.expired')
  expect(JSON.stringify(body._links)).toContain(client.url)
})

/** For any body, the response is a 4xx Error object or the operation's own response. */
test.each<unknown>([7, true, null, [], {}, '', '\u0000', 'x'.repeat(20_000), { toString: 1 }, ['a']])(
  'a member %j never causes a 500',
  async (odd) => {
    const READ = {
      '': ['username', 'password', 'token', 'options', 'context', 'audience'],
      '/factors': ['profile', 'factorType', 'provider'],
      '/factors/x/verify': ['passCode'],
      '/factors/x/lifecycle/activate': ['passCode'],
      '/factors/x/lifecycle/activate/sms': ['profile'],
      '/credentials/change_password': ['oldPassword', 'newPassword'],
      '/recovery/password': ['username', 'factorType'],
      '/recovery/token': ['recoveryToken'],
      '/recovery/answer': ['answer'],
      '/recovery/factors/SMS/verify': ['passCode'],
      '/skip': [],
    }
    const everyMember = [...new Set(Object.values(READ).flat())]
    const { stateToken } = (await client.signIn('erin.enroll')).body
    for (const [path, members] of Object.entries(READ))
      for (const names of [...members.map((name) => [name]), ['stateToken'], everyMember]) {
        const body = Object.fromEntries(names.map((name) => [name, odd]))
        const answer = await client.post(`/api/v1/authn${path}`, {
          stateToken,
          username: 'amelia.stone',
          ...body,
        })
        expect(answer.status).toBeLessThan(500)
      }
  },
)
