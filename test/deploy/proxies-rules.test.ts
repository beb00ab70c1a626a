import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { AMELIA, PASSWORD } from '../support/harness.ts'
import {
  type Arrived,
  cookiesOf,
  HOOK_SECRET,
  MEMBER_OF_MANY,
  type Portal,
  startPortal,
  ZOE,
} from '../support/portal.ts'
import { CALENDAR_HOST, PORTAL, type ProxyName, signInFor } from '../support/proxies.ts'
import { type Radicale, startRadicale } from '../support/radicale.ts'

/**
 * The rule of the proxy examples, `role=resource_admin&maxAuthAge=3600&headers=groups` with a group
 * to show, decided by a real broker that asks the sandbox's PAM API.
 */

const MINUTE_MS = 60_000
const NAVIGATION = ['Sec-Fetch-Mode', 'navigate']
const NAMES: readonly ProxyName[] = ['nginx', 'Caddy', 'HAProxy', 'Apache']

describe.each(NAMES)('%s', (name) => {
  /** The broker's clock. */
  let nowMs: number
  let portal: Portal
  let radicale: Radicale | undefined
  beforeAll(async () => {
    nowMs = Date.now()
    radicale = name === 'nginx' ? await startRadicale() : undefined
    portal = await startPortal({ proxy: name, now: () => nowMs, calendarPort: radicale?.port })
  })
  afterAll(async () => {
    await portal?.stop()
    await radicale?.stop()
  })
  beforeEach(() => {
    nowMs = Date.now()
  })

  /** Opens the application and returns the requests that reached it. */
  async function open(cookie: string, ask: Parameters<Portal['open']>[1] = {}) {
    const before = portal.arrived.length
    const { status, headers } = await portal.open(cookie, ask)
    const denied = headers['x-auth-request-denied']
    return { status, denied, location: headers.location, arrived: portal.arrived.slice(before) }
  }

  test('an application can fetch the keys that verify X-Auth-Request-Jwt', async () => {
    const { status, text } = await portal.proxy.ask({ path: '/.well-known/gatehouse-jwks.json' })
    expect([status, JSON.parse(text)]).toMatchObject([200, { keys: [{ alg: 'ES256' }] }])
  })

  test('a delivery of org events with 900 kB arrives', async () => {
    const { status } = await portal.proxy.ask({
      method: 'POST',
      path: '/hooks/org-events',
      headers: ['Content-Type', 'application/json', 'Authorization', HOOK_SECRET],
      body: JSON.stringify({ data: { events: [] }, padding: 'x'.repeat(900_000) }),
    })
    expect(status).toBe(204)
  })

  test('a user with the role is let in, and the application gets the group of the rule', async () => {
    const cookie = await portal.signIn(AMELIA)
    const posted = { method: 'POST', path: '/app/x?y=1', body: 'z', headers: ['Content-Type', 'text/plain'] }
    const { status, arrived } = await open(cookie, posted)
    expect([status, arrived.length]).toEqual([200, 1])
    expect(arrived[0]).toMatchObject({ method: 'POST', url: '/app/x?y=1', body: 'z' })
    expect(headerOf(arrived[0], 'content-type')).toBe('text/plain')
    expect(headerOf(arrived[0], 'x-auth-request-groups')).toBe('Platform%20Admins')
  })

  test('a user of 250 groups with long names is let in', async () => {
    const { status, arrived } = await open(await portal.signIn(MEMBER_OF_MANY))
    expect([status, arrived.length]).toEqual([200, 1])
    expect(headerOf(arrived[0], 'x-auth-request-groups')).toBe('Platform%20Admins')
  })

  if (name === 'nginx')
    test('radicale, as the docs configure it, has calendars for each user, under the login as it is', async () => {
      const cookies = { amelia: await portal.signIn(AMELIA), zoe: await portal.signIn(ZOE), nobody: '' }
      const ask = (who: keyof typeof cookies, method: string, path: string, ...headers: string[]) =>
        portal.proxy.ask({
          host: CALENDAR_HOST,
          method,
          path,
          headers: ['Cookie', cookies[who], 'X-Remote-User', AMELIA, ...headers],
        })
      expect((await ask('amelia', 'MKCALENDAR', `/${AMELIA}/team/`)).status).toBe(201)
      const listed = await ask('amelia', 'PROPFIND', `/${AMELIA}/`, 'Depth', '1')
      expect([listed.status, listed.text]).toEqual([207, expect.stringContaining('/team/</href>')])
      expect((await ask('zoe', 'PROPFIND', `/${AMELIA}/`)).status).toBe(403)
      expect((await ask('nobody', 'PROPFIND', `/${AMELIA}/`)).status).toBe(401)
      expect(radicale?.users().toSorted()).toEqual([AMELIA, Buffer.from(ZOE).toString('latin1')])
    })

  test('a user without the role gets a page of the portal that is told so, a fetch 403 with the reason', async () => {
    const cookie = await portal.signIn(ZOE)
    expect(await open(cookie)).toEqual({ status: 403, denied: 'role', location: undefined, arrived: [] })
    const opened = await open(cookie, { headers: NAVIGATION, path: '/app/x?y=1' })
    const location = `${signInFor('role')}${PORTAL}/app/x?y=1`
    expect(opened).toMatchObject({ status: 302, location, arrived: [] })
    const { headers } = await portal.proxy.ask({
      path: location.slice(PORTAL.length),
      headers: ['Cookie', cookie, ...NAVIGATION, 'Sec-Fetch-Dest', 'document'],
    })
    const page = new URL(String(headers.location))
    expect([page.origin + page.pathname, page.searchParams.get('reason')]).toEqual([`${PORTAL}/`, 'role'])
  })

  test('an hour after the password, the user signs in again and is let in', async () => {
    const cookie = await portal.signIn(AMELIA)
    for (const minutes of [25, 25]) {
      nowMs += minutes * MINUTE_MS
      expect((await open(cookie)).status).toBe(200)
    }
    nowMs += 11 * MINUTE_MS
    expect(await open(cookie)).toEqual({ status: 401, denied: 'age', location: undefined, arrived: [] })
    expect(await open(cookie, { headers: NAVIGATION, path: '/app/x?y=1&z=2' })).toMatchObject({
      status: 302,
      location: `${signInFor('age')}${PORTAL}/app/x?y=1&z=2`,
      arrived: [],
    })
    const again = await portal.proxy.ask({
      method: 'POST',
      path: '/api/v1/authn',
      headers: ['Content-Type', 'application/json', 'Origin', PORTAL, 'Cookie', cookie],
      body: JSON.stringify({ username: AMELIA, password: PASSWORD }),
    })
    expect(again.status).toBe(200)
    const [device] = cookie.split('; ')
    expect((await open(`${device}; ${cookiesOf(again)}`)).status).toBe(200)
  })
})

const headerOf = (request: Arrived | undefined, wanted: string) =>
  request?.headers.find(([header]) => header === wanted)?.[1] ?? ''
