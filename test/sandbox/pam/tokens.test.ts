import { expect, test } from '@jest/globals'
import { KEY, TEAM, usePamServer } from './pam-server.ts'

const server = usePamServer()

const mint = (body: unknown, headers: Record<string, string> = {}) =>
  server.send('POST', `${TEAM}/service_token`, { body, headers })
const list = async (token: string) => (await server.send('GET', `${TEAM}/groups`, { token })).status

const JSON_TYPE = 'application/json'
const [UNSUPPORTED, INVALID, UNKNOWN] = [
  [415, 'unsupported_content_type'],
  [400, 'invalid_request'],
  [401, 'authentication_error'],
] as const
const EXPIRED = { key_id: 'sandbox-key-expired', key_secret: 'sandbox-secret-3-Jd4KfN8z' }
test.each([
  ['text/plain', KEY, 'text/plain', UNSUPPORTED],
  ['a form', 'key_id=a&key_secret=b', 'application/x-www-form-urlencoded', UNSUPPORTED],
  ['a list', [KEY], JSON_TYPE, UNSUPPORTED],
  ['null', 'null', JSON_TYPE, UNSUPPORTED],
  ['broken JSON', '{"key_id":', JSON_TYPE, UNSUPPORTED],
  ['an unknown charset', KEY, `${JSON_TYPE}; charset=klingon`, UNSUPPORTED],
  ['no fields', {}, JSON_TYPE, INVALID],
  ['a number for a field', { ...KEY, key_secret: 7 }, JSON_TYPE, INVALID],
  ['an empty field', { ...KEY, key_id: '' }, JSON_TYPE, INVALID],
  ['a huge body', { ...KEY, padding: 'x'.repeat(300_000) }, JSON_TYPE, INVALID],
  ['an expired key', EXPIRED, JSON_TYPE, UNKNOWN],
  ["another key's secret", { ...KEY, key_id: 'sandbox-key-2' }, JSON_TYPE, UNKNOWN],
])('no token for %s', async (_request, body, contentType, [status, error]) => {
  const answer = await mint(body, { 'Content-Type': contentType })
  expect([answer.status, answer.body.error]).toEqual([status, error])
  expect(answer.headers.get('x-ratelimit-limit')).toBe('10000')
  expect(server.control.counts()).toMatchObject({ tokensMinted: 0, errors: { [error]: 1 } })
  expect(server.control.bearerTokens()).toEqual([])
})

test('setTokenLifetime applies to tokens issued later', async () => {
  server.control.setTokenLifetime(60)
  const answer = await mint(KEY)
  expect(answer.body.expires_at).toBe(new Date(server.now() + 60_000).toISOString())
  const token = String(answer.body.bearer_token)
  server.advance(59_999)
  expect(await list(token)).toBe(200)
  server.advance(1)
  expect(await list(token)).toBe(401)
})

test('service users have different access', async () => {
  const none = await server.mint({ key_id: 'sandbox-key-none', key_secret: 'sandbox-secret-4-Hs6WgP2m' })
  const own = await server.mint({ key_id: 'sandbox-key-own', key_secret: 'sandbox-secret-5-Ba1CvE9u' })
  expect([await list(none), await list(own)]).toEqual([401, 403])
  server.control.setAccess('read-nothing', 'full')
  expect(await list(none)).toBe(200)
})
