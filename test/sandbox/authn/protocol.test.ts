import { expect, test } from '@jest/globals'
import { until } from '../../support/until.ts'
import {
  type Answer,
  AUTHENTICATION_FAILED,
  answerOf,
  outcome,
  START,
  startSandbox,
  useSandbox,
} from './sandbox-client.ts'

const client = useSandbox()

async function raw(method: string, path: string, body?: string, type = 'application/json') {
  const headers = body === undefined ? {} : { 'content-type': type }
  return answerOf(
    await fetch(client.url + path, { method, headers, ...(body === undefined ? {} : { body }) }),
  )
}

/** docs/conformance.md A-19: body shape. */
test('every error is an Error object; errorLink equals the code, and errorCauses may be empty', async () => {
  expect((await client.signIn('nobody')).body).toEqual(AUTHENTICATION_FAILED)
})

const AUTHN = '/api/v1/authn'
const HUGE = `"${'x'.repeat(1_100_000)}"`
const REQUESTS: [what: string, method: string, path: string, body: string | undefined, leadsTo: string][] = [
  ['not JSON', 'POST', AUTHN, '{"username":', '400 E0000003'],
  ['JSON that is not an object', 'POST', AUTHN, '"text"', '400 E0000003'],
  ['an array', 'POST', AUTHN, '[]', '400 E0000001'],
  ['a wrong method', 'GET', AUTHN, undefined, '405 E0000022'],
  ['a wrong method on a GET', 'POST', '/app/payroll/sso', '{}', '405 E0000022'],
  ['an unknown path', 'POST', '/api/v1/unknown', '{}', '404 E0000007'],
  ['another version', 'POST', '/api/v2/authn', '{}', '404 E0000007'],
  ['a body that is too large', 'POST', AUTHN, HUGE, '400 E0000003'],
  ['no body at all', 'POST', AUTHN, undefined, '400 E0000001'],
  ['invalid percent-encoding', 'GET', '/api/v1/users/%E0%A4%A/factors/questions', undefined, '404 E0000007'],
]
test.each(REQUESTS)('%s', async (_what, method, path, body, leadsTo) => {
  const answer = await raw(method, path, body)
  expect(outcome(answer)).toBe(leadsTo)
  if (answer.status === 405) expect(answer.headers.get('allow')).toBe(method === 'GET' ? 'POST' : 'GET')
})

test('a wrong content type', async () => {
  const answer = await raw('POST', AUTHN, 'a=b', 'application/x-www-form-urlencoded')
  expect(outcome(answer)).toBe('415 E0000021')
})

/** docs/conformance.md A-11: send Accept: application/json. */
test.each<[accept: string, leadsTo: string]>([
  ['application/json', '200 SUCCESS'],
  ['text/html, application/json;q=0.5', '200 SUCCESS'],
  ['*/*', '200 SUCCESS'],
  ['text/html', '406 E0000122'],
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

test('over the limit: 429 E0000047 with the headers, until the next window', async () => {
  const limited = await startSandbox((config) => {
    Object.assign(config.rateLimits, { windowSeconds: 60, trustedPerWindow: 2, publicPerWindow: 1 })
  })
  const send = async (headers?: Record<string, string>) => limited.signIn('amelia.stone', {}, headers)
  const other = { authorization: `SSWS ${limited.sandbox.apiToken}`, 'x-forwarded-for': '198.51.100.9' }
  const answers = [
    await send(),
    await send(),
    await send(),
    await send(other),
    await send({}),
    await send({}),
  ]
  limited.advance(60_000)
  answers.push(await send())
  await limited.close()
  const [ok, refused] = ['200 SUCCESS', '429 E0000047']
  expect(answers.map(outcome)).toEqual([ok, ok, refused, ok, ok, refused, ok])
  const { body, headers } = answers[2] as Answer
  expect(body.errorSummary).toBe('API call exceeded rate limit due to too many requests.')
  expect([headers.get('x-rate-limit-limit'), headers.get('x-rate-limit-remaining')]).toEqual(['2', '0'])
  expect(Number(headers.get('x-rate-limit-reset'))).toBeGreaterThan(START / 1000)
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
    for (const name of ['limit', 'remaining']) expect(refused.headers.get(`x-rate-limit-${name}`)).toBe('0')
    release()
    expect(outcome(await first)).toBe('200 SUCCESS')
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
