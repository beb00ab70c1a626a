import { expect, test } from '@jest/globals'
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
// sandbox shows
test('every error is an Error object; errorLink equals the code, and errorCauses may be empty', async () => {
  expect((await client.signIn('nobody')).body).toEqual(AUTHENTICATION_FAILED)
})

const AUTHN = '/api/v1/authn'
const HUGE = `"${'x'.repeat(1_100_000)}"`
const REQUESTS: [what: string, method: string, path: string, body: string | undefined, leadsTo: string][] = [
  ['not JSON', 'POST', AUTHN, '{"username":', '400 E0000003'],
  ['JSON that is not an object', 'POST', AUTHN, '"text"', '400 E0000003'],
  ['an array', 'POST', AUTHN, '[]', '400 E0000001'],
  // sandbox shows
  ['a wrong method', 'GET', AUTHN, undefined, '405 E0000022'],
  ['a wrong method on a GET', 'POST', '/app/payroll/sso', '{}', '405 E0000022'],
  ['an unknown path', 'POST', '/api/v1/unknown', '{}', '404 E0000007'],
  // sandbox shows
  ['another version', 'POST', '/api/v2/authn', '{}', '404 E0000007'],
  ['a body that is too large', 'POST', AUTHN, HUGE, '400 E0000003'],
  // sandbox shows
  ['no body at all', 'POST', AUTHN, undefined, '400 E0000001'],
  ['invalid percent-encoding', 'GET', '/api/v1/users/%E0%A4%A/factors/questions', undefined, '404 E0000007'],
]
test.each(REQUESTS)('%s', async (_what, method, path, body, leadsTo) => {
  const answer = await raw(method, path, body)
  expect(outcome(answer)).toBe(leadsTo)
  if (answer.status === 405) expect(answer.headers.get('allow')).toBe(method === 'GET' ? 'POST' : 'GET')
})

// sandbox shows
test('a wrong content type', async () => {
  const answer = await raw('POST', AUTHN, 'a=b', 'application/x-www-form-urlencoded')
  expect(outcome(answer)).toBe('415 E0000021')
})

/** docs/conformance.md A-11: send Accept: application/json. */
test.each<[accept: string, leadsTo: string]>([
  ['application/json', '200 SUCCESS'],
  ['text/html, application/json;q=0.5', '200 SUCCESS'],
  ['*/*', '200 SUCCESS'],
  // sandbox shows
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

// sandbox shows, F-1.26
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

/** docs/conformance.md: public apps are strictly rate-limited. */
// sandbox shows
test('in the default configuration, the public limit is lower', async () => {
  const limit = async (headers?: Record<string, string>) =>
    Number((await client.signIn('amelia.stone', {}, headers)).headers.get('x-rate-limit-limit'))
  expect(await limit({})).toBeLessThan(await limit())
})
