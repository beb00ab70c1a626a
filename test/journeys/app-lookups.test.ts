import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { startMonitor } from '../support/redis-monitor.ts'
import { until } from '../support/until.ts'

/** A backend of the portal, at a whole broker: neither a session nor an origin has an effect. */

const TOKEN = 'plainly-fake-token-of-the-portal'
const ORIGIN = 'http://localhost:3000'
const USER = `/app/v1/pam/users/${encodeURIComponent(AMELIA)}`

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ env: { APP_TOKENS: `portal:${TOKEN}`, ALLOWED_ORIGINS: ORIGIN } })
})
afterAll(() => harness.stop())

const ask = (
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  url = harness.gatehouse.url,
) => fetch(url + path, { method, headers: { authorization: `Bearer ${TOKEN}`, ...headers } })

test('the session that cookies name is neither read nor compared, and no cookie is set', async () => {
  const browser = await harness.visit()
  await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  const own = (await browser.get('/api/v1/pam/me')).json
  const cookie = await browser.jar.getCookieString(browser.origin)
  const monitor = await startMonitor(harness.redis.client())
  const commands: string[] = []
  monitor.on('monitor', (_time, args: string[]) => commands.push(args.join(' ')))
  const otherDevice = cookie.replace(/-device=./, '-device=x')
  for (const headers of [{ cookie, 'x-gatehouse-session': 'another' }, { cookie: otherDevice }]) {
    const answer = await ask(USER, headers)
    expect([answer.status, await answer.json()]).toEqual([200, own])
    expect(answer.headers.getSetCookie()).toEqual([])
  }
  await until(() => commands.filter((command) => command.includes(':limit:')).length >= 2, {
    what: 'commands',
  })
  expect(commands.filter((command) => command.includes('gatehouse:sess:'))).toEqual([])
  monitor.disconnect()
  expect((await ask(USER, { cookie, authorization: '' })).status).toBe(401)
})

test('CORS does not apply: no page may read it, and a preflight is a method that is not supported', async () => {
  for (const origin of [ORIGIN, 'https://evil.example']) {
    const headers = { origin, 'sec-fetch-site': 'cross-site', 'access-control-request-method': 'GET' }
    const read = await ask('/app/v1/pam/groups', headers)
    expect([read.status, read.headers.get('access-control-allow-origin')]).toEqual([200, null])
    for (const method of ['OPTIONS', 'POST', 'DELETE']) {
      const refused = await ask('/app/v1/pam/groups', headers, method)
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
      expect(refused.headers.get('access-control-allow-origin')).toBeNull()
    }
  }
})

test('a path with an encoded slash, a backslash or a dot segment is 400, whatever the token; an encoded login is not', async () => {
  const ambiguous = ['..%2f..%2f..%2f..%2fapi%2fv1%2fx', 'a%5Cb', '%2e%2e', '.']
  for (const authorization of [`Bearer ${TOKEN}`, 'Bearer wrong', '']) {
    for (const login of ambiguous) {
      // not with fetch, which removes dot segments
      const answer = await requestPath(`/app/v1/pam/users/${login}`, { authorization })
      expect([login, answer]).toEqual([login, { status: 400, errorCode: 'E0000001', allowOrigin: undefined }])
    }
  }
  expect((await ask(USER)).status).toBe(200)
  expect((await ask('/app/v1/pam/users/zo%C3%AB.%E7%8E%8B%40ex%C3%A4mple.test%2e')).status).toBe(404)
  const group = 'Database%20Readers%2e%2e'
  // an unknown parameter
  expect((await ask(`/app/v1/pam/groups/${group}?x=%2f..`)).status).toBe(400)
  expect((await ask('/app/v1/pam/groups?search=%2f..%5c/../')).status).toBe(200)
})

test('a page of an allowed origin can read that its path is refused', async () => {
  const answer = await requestPath('/api/v1/pam/groups/a%2fb', { origin: ORIGIN })
  expect(answer).toEqual({ status: 400, errorCode: 'E0000001', allowOrigin: ORIGIN })
})

function requestPath(path: string, headers: Record<string, string>) {
  const { port } = new URL(harness.gatehouse.url)
  return new Promise<object>((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, headers, agent: false }, async (res) => {
      const { errorCode } = (await json(res)) as { errorCode?: string }
      const allowOrigin = res.headers['access-control-allow-origin']
      resolve({ status: res.statusCode, errorCode, allowOrigin })
    })
    asked.on('error', reject).end()
  })
}
