import { expect, test } from '@jest/globals'
import { KEY, START, startPamServer, TEAM, usePamServer } from './pam-server.ts'

const server = usePamServer()

const HOUR = 3_600_000
const mint = (body: unknown, headers: Record<string, string> = {}) =>
  server.send('POST', `${TEAM}/service_token`, { body, headers })
const list = async (token: string) => (await server.send('GET', `${TEAM}/groups`, { token })).status

const REFUSED: [
  what: string,
  body: unknown,
  headers: Record<string, string>,
  status: number,
  error: string,
][] = [
  ['text/plain', KEY, { 'Content-Type': 'text/plain' }, 415, 'unsupported_content_type'],
  [
    'a form',
    'key_id=a&key_secret=b',
    { 'Content-Type': 'application/x-www-form-urlencoded' },
    415,
    'unsupported_content_type',
  ],
  ['a list', [KEY], {}, 415, 'unsupported_content_type'],
  ['a text', '"text"', {}, 415, 'unsupported_content_type'],
  ['null', 'null', {}, 415, 'unsupported_content_type'],
  ['broken JSON', '{"key_id":', {}, 415, 'unsupported_content_type'],
  [
    'an unknown charset',
    KEY,
    { 'Content-Type': 'application/json; charset=klingon' },
    415,
    'unsupported_content_type',
  ],
  ['no fields', {}, {}, 400, 'invalid_request'],
  ['a number for a field', { ...KEY, key_secret: 7 }, {}, 400, 'invalid_request'],
  ['an empty field', { ...KEY, key_id: '' }, {}, 400, 'invalid_request'],
  ['a huge body', { ...KEY, padding: 'x'.repeat(300_000) }, {}, 400, 'invalid_request'],
  [
    'an expired key',
    { key_id: 'sandbox-key-expired', key_secret: 'sandbox-secret-3-Jd4KfN8z' },
    {},
    401,
    'authentication_error',
  ],
  ["another key's secret", { ...KEY, key_id: 'sandbox-key-2' }, {}, 401, 'authentication_error'],
]
test.each(REFUSED)('no token for %s', async (_request, body, headers, status, error) => {
  const answer = await mint(body, headers)
  expect([answer.status, answer.body.error]).toEqual([status, error])
  expect(answer.headers.get('x-ratelimit-limit')).toBe('10000')
  expect(server.control.counts()).toMatchObject({ tokensMinted: 0, errors: { [error]: 1 } })
  expect(server.control.bearerTokens()).toEqual([])
})

test('no token for another team, nor for a disabled one', async () => {
  const other = await server.send('POST', '/v1/teams/other/service_token', { body: KEY })
  expect([other.status, other.body.error]).toEqual([404, 'resource_does_not_exist'])
  server.control.disableTeam()
  const disabled = await mint(KEY)
  expect([disabled.status, disabled.body.error]).toEqual([403, 'disabled_team'])
  expect(server.control.issuedTokens()).toEqual([])
})

test('the content type may have a charset, and no Authorization is needed', async () => {
  const answer = await mint(KEY, { 'Content-Type': 'application/json; charset=utf-8' })
  expect(answer.status).toBe(200)
  expect(server.requestLog.entries.at(-1)).toMatchObject({
    method: 'POST',
    path: `${TEAM}/service_token`,
    body: KEY,
  })
  expect(server.requestLog.entries.at(-1)?.headers.authorization).toBeUndefined()
})

test('several tokens are valid at once, and each can be revoked', async () => {
  const [first, second] = [await server.mint(), await server.mint()]
  expect(server.control.bearerTokens()).toEqual([first, second])
  server.control.revokeToken(first)
  expect([await list(first), await list(second)]).toEqual([401, 200])
  server.control.expireTokens()
  expect(await list(second)).toBe(401)
  expect(await list(await server.mint())).toBe(200)
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

test('key rotation: a new key is added, and the old one is removed with its tokens', async () => {
  const old = await server.mint()
  server.control.addKey({ keyId: 'new-key', keySecret: 'new-secret', serviceUser: 'gatehouse' })
  const fresh = await server.mint({ key_id: 'new-key', key_secret: 'new-secret' })
  server.control.removeKey('sandbox-key-1')
  expect([await list(old), await list(fresh)]).toEqual([401, 200])
  expect((await mint(KEY)).status).toBe(401)
  server.control.expireKey('new-key')
  expect(await list(fresh)).toBe(401)
  expect(server.control.issuedTokens().map(({ keyId }) => keyId)).toEqual(['sandbox-key-1', 'new-key'])
})

test('service users have different access', async () => {
  const none = await server.mint({ key_id: 'sandbox-key-none', key_secret: 'sandbox-secret-4-Hs6WgP2m' })
  const own = await server.mint({ key_id: 'sandbox-key-own', key_secret: 'sandbox-secret-5-Ba1CvE9u' })
  expect([await list(none), await list(own)]).toEqual([401, 403])
  server.control.setAccess('read-nothing', 'full')
  expect(await list(none)).toBe(200)
})

test('the team name in the response can differ', async () => {
  server.control.setReportedTeam('other-team')
  expect((await mint(KEY)).body.team_name).toBe('other-team')
})

test.each([-HOUR, HOUR])('a clock offset of %i ms changes every time, but no lifetime', async (offset) => {
  server.control.setClockOffset(offset)
  const answer = await mint(KEY)
  expect(Date.parse(answer.headers.get('date') ?? '')).toBe(Math.floor((server.now() + offset) / 1000) * 1000)
  expect(Date.parse(String(answer.body.expires_at))).toBe(server.now() + offset + HOUR)
  const reset = Number(answer.headers.get('x-ratelimit-reset')) * 1000
  expect(Math.abs(reset - (server.now() + offset))).toBeLessThan(3 * 60_000)
  server.advance(HOUR - 1)
  expect(await list(String(answer.body.bearer_token))).toBe(200)
  server.advance(1)
  expect(await list(String(answer.body.bearer_token))).toBe(401)
})

test('Date follows the given clock', async () => {
  const own = await startPamServer()
  const answer = await own.send('GET', '/')
  expect(answer.headers.get('date')).toBe(new Date(START).toUTCString())
  await own.close()
})
