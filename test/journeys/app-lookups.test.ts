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
