import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { IDENTITY_HEADERS } from '../../src/forward-auth/forward-auth.ts'
import { AMELIA, PASSWORD, TOMAS } from '../support/harness.ts'
import { APP_TOKEN, type Arrived, answeringWith, type Portal, startPortal } from '../support/portal.ts'
import { OTHER_IDENTITY_HEADERS, PORTAL, PROXIES, type ProxyName, SIGN_IN } from '../support/proxies.ts'
import type { PortalRequest, PortalResponse } from '../support/proxy.ts'
import { until } from '../support/until.ts'

/**
 * Clients attack each proxy example of `deploy/proxies/`, which runs unchanged. The addresses and
 * users that the org, Gatehouse's log and the application get must come from the proxy, never from
 * the client.
 */

const CLIENT = '127.0.0.77'
const FORGED = '198.51.100.66'
const FORGED_ID = 'forged-request-id'

/**
 * Proxies whose own limits let the attack through to Gatehouse and to the application; others may
 * refuse it.
 */
const TAKES_ALL_LINES: readonly ProxyName[] = ['Caddy']
/** Joins two `Cookie` lines with a comma, so Gatehouse finds no session. Browsers send one line. */
const JOINS_COOKIES: readonly ProxyName[] = ['Apache']
/** The characters that a header name may contain in addition to letters, digits and hyphens. */
const OTHER_SIGNS = [..."!#$%&'*+.^_`|~"]

const NAMES: readonly ProxyName[] = ['nginx', 'Caddy', 'HAProxy', 'Apache']

/**
 * Paths of `/app/v1/`, which is for the portal's own backends. To a proxy that decodes a path and
 * removes its dot segments before it chooses a server, most of them look like paths that browsers
 * may use.
 */
const PATHS_OF_BACKENDS = [
  '/app/v1/pam/groups',
  '/app/v1/pam/groups?x=/../../../../api/v1/',
  '/app/v1/pam/users/..%2f..%2f..%2f..%2fapi%2fv1%2fx',
  '/app/v1/pam/users/..%2F..%2F..%2F..%2Flogin%2Fx',
  '/app/v1/pam/users/%2e%2e%2f%2E%2E%2f..%2f..%2fsso%2fx',
  '/app/v1/pam/users/x%2f..%2f..%2f..%2f..%2f..%2fsignin',
  '/app/v1/pam/groups/..%2f..%2f..%2f..%2fsignin%2fx',
  '/app/v1/pam/groups/..%2f..%2f..%2f..%2fhooks%2forg-events',
  '/app/v1/pam/groups/..%2f..%2f..%2f..%2f.well-known%2fgatehouse-jwks.json',
  '/app/v1/pam/groups/..%2f..%2f..%2f..%2fx',
  '/app/v1/pam/users/..%5c..%5c..%5c..%5capi%5cv1%5cx',
  '/app/v1/pam/users/..\\..\\..\\..\\api\\v1\\x',
  '/app/v1/pam/groups/../../../../api/v1/sessions/me',
  '/app/v1/pam/groups/%2e%2e/%2e%2e/%2e%2e/%2e%2e/api/v1/sessions/me',
  '/app/v1/pam/groups#/../../../../api/v1/sessions/me',
  '/app/v1/pam/groups%23/../../../../api/v1/sessions/me',
  '/app/v1/pam/groups;/../../../../api/v1/sessions/me',
  '/app/v1/pam//groups/../../../../../api/v1/sessions/me',
]

/**
 * The routes of the requests that reached the broker through the proxy, without the proxy's own
 * questions.
 */
async function routesAskedBy(portal: Portal, ask: () => Promise<unknown>) {
  const requests = () => portal.harness.gatehouse.logLines().filter(({ event }) => event === 'request')
  const before = requests().length
  await ask()
  const { headers } = await portal.proxy.ask({ path: '/api/v1/sessions/me' })
  const isLast = ({ requestId }: Record<string, unknown>) => requestId === headers['x-request-id']
  await until(() => requests().some(isLast))
  return requests()
    .slice(before)
    .flatMap((one) => (isLast(one) || one.route === '/forward-auth' ? [] : [one.route]))
}

/**
 * Asks for the paths of backends with a valid token, from outside. Nothing arrives, unless the
 * proxy passes on the very path that it has compared, as Apache does.
 */
async function expectNoWayToBackendPaths(portal: Portal, cookie?: string) {
  const session = cookie === undefined ? [] : ['Cookie', cookie]
  const headers = ['Authorization', `Bearer ${APP_TOKEN}`, ...session]
  const asked: (readonly [path: string, routes: unknown[]])[] = []
  for (const path of PATHS_OF_BACKENDS) {
    const routes = await routesAskedBy(portal, () => portal.proxy.ask({ path, headers }).catch(cutOff))
    asked.push([path, routes.filter((route) => route !== '/api/v1/sessions/me')])
  }
  expect(asked).toEqual(PATHS_OF_BACKENDS.map((path) => [path, []]))
}

test('nginx in Compose: no path leads to the paths of backends and of proxies', async () => {
  const portal = await startPortal({ proxy: 'nginx in Compose' })
  try {
    await expectNoWayToBackendPaths(portal)
    for (const path of ['/forward-auth', '/forward-auth?x', '/x/../forward-auth', '/forward%2dauth'])
      expect([path, await routesAskedBy(portal, () => portal.proxy.ask({ path }))]).toEqual([path, []])
  } finally {
    await portal.stop()
  }
})

describe.each(NAMES)('%s', (name) => {
  const { asksWhoIsSignedIn } = PROXIES[name]
  const mustPass = TAKES_ALL_LINES.includes(name)
  let portal: Portal
  let cookie: string
  beforeAll(async () => {
    portal = await startPortal({ proxy: name })
    cookie = await portal.signIn(AMELIA, CLIENT)
  })
  afterAll(() => portal?.stop())

  /**
   * Signs in with these headers from the client's address, as a user with a second factor, so no
   * session opens that would evict the one of `cookie`. Returns the address that Okta received, if
   * it was called.
   */
  async function signInWith(headers: readonly string[]) {
    portal.harness.clearUpstreamCalls()
    const answer = await asked({
      method: 'POST',
      path: '/api/v1/authn',
      headers: ['Content-Type', 'application/json', 'Origin', PORTAL, ...headers],
      body: JSON.stringify({ username: TOMAS, password: PASSWORD }),
    })
    const calls = portal.harness.upstreamCalls()
    return { ...answer, addressesAtOkta: calls.map((call) => call.headers['x-forwarded-for']) }
  }

  /** Opens the application and returns the requests that reached it. */
  async function openWith(cookie: string | undefined, ask: PortalRequest = {}) {
    const before = portal.arrived.length
    const answer = await portal.open(cookie, { from: CLIENT, ...ask }).catch(cutOff)
    return { ...answer, arrived: portal.arrived.slice(before) }
  }
  const asked = (ask: PortalRequest) => portal.proxy.ask({ from: CLIENT, ...ask }).catch(cutOff)

  async function sessionOf(cookie: string) {
    const answer = await asked({ path: '/api/v1/sessions/me', headers: ['Cookie', cookie] })
    return JSON.parse(answer.text) as { id: string; userId: string }
  }

  async function expectProxyValues(arrived: readonly Arrived[], cookie: string) {
    const session = await sessionOf(cookie)
    expect(arrived).toHaveLength(1)
    const [request] = arrived
    expect(identityIn(request)).toEqual(
      asksWhoIsSignedIn
        ? [
            ['x-auth-request-groups', 'Platform%20Admins'],
            ['x-auth-request-preferred-username', encodeURIComponent(AMELIA)],
            ['x-auth-request-session', session.id],
            ['x-auth-request-user', session.userId],
          ]
        : [],
    )
    expect(valuesOf(request, 'x-forwarded-for')).toEqual([CLIENT])
    expect(valuesOf(request, 'cookie').join()).not.toMatch(/gatehouse/)
  }

  describe('2500 header lines, more than Node keeps, in less than 16 kB', () => {
    const lines = Array.from({ length: 2500 }, () => ['W', 'b']).flat()

    // shows: V15.3.4
    test('the org gets the client’s address, or the proxy refuses', async () => {
      const { status, addressesAtOkta } = await signInWith(lines)
      if (mustPass || status === 200) expect([status, addressesAtOkta]).toEqual([200, [CLIENT]])
      else expect([REFUSED.has(status), addressesAtOkta]).toEqual([true, []])
    })

    test('the application gets the signed-in user, or the proxy refuses', async () => {
      const { status, arrived } = await openWith(cookie, { headers: lines })
      if (mustPass || status === 200) {
        expect(status).toBe(200)
        await expectProxyValues(arrived, cookie)
      } else expect([REFUSED.has(status), arrived]).toEqual([true, []])
    })
  })

  describe('headers that only the proxy may write, from a client', () => {
    const forged = (...names: string[]) =>
      names.flatMap((header) => [header, /for/i.test(header) ? FORGED : FORGED_ID])
    const FORGERIES: Readonly<Record<string, readonly string[]>> = {
      'X-Forwarded-For': forged('X-Forwarded-For'),
      'X-Forwarded-For twice, and a trusted address': [
        ...forged('X-Forwarded-For', 'x-forwarded-for'),
        'X-Forwarded-For',
        '127.0.0.1',
      ],
      'an empty X-Forwarded-For': ['X-Forwarded-For', ''],
      'an unreadable X-Forwarded-For': ['X-Forwarded-For', 'unknown, _hidden,'],
      'Forwarded, twice': ['Forwarded', `for=${FORGED}`, 'forwarded', `for=${FORGED};by=127.0.0.1`],
      'other names of the address': forged('X-Real-Forwarded', 'True-Client-For'),
      'X-Request-Id': forged('X-Request-Id'),
      'X-Request-Id twice': forged('X-Request-Id', 'x-request-id'),
      'X-Auth-Request-*': forged(...IDENTITY_HEADERS),
      'X-Auth-Request-* twice, in other letters': forged(
        ...IDENTITY_HEADERS.flatMap((header) => [header.toUpperCase(), header.toLowerCase()]),
      ),
      'other X-Auth-Request-*': forged(...OTHER_IDENTITY_HEADERS),
      'X-Auth-Request-* named in Connection': [
        ...forged(...IDENTITY_HEADERS),
        'Connection',
        `close, ${IDENTITY_HEADERS.join(', ')}, X-Forwarded-For`,
      ],
    }
    const spelledWith = (sign: string) =>
      forged(
        ...[...IDENTITY_HEADERS, ...OTHER_IDENTITY_HEADERS, 'X-Forwarded-For', 'X-Request-Id'].map((header) =>
          header.replaceAll('-', () => sign),
        ),
      )
    const OTHER_SPELLINGS: Readonly<Record<string, readonly string[]>> = {
      'with underscores': spelledWith('_'),
      'with dots': spelledWith('.'),
      'with each of the other signs': OTHER_SIGNS.flatMap((sign) =>
        forged(`X${sign}Auth${sign}Request${sign}User`, `X${sign}Forwarded-For`, `X-Forwarded${sign}For`),
      ),
      'with the last hyphen an underscore': forged(
        ...[...IDENTITY_HEADERS, 'X-Forwarded-For'].map((header) => header.replace(/-(?=[^-]*$)/, '_')),
      ),
    }
    const ALL = Object.entries({ ...FORGERIES, ...OTHER_SPELLINGS })

    test.each(ALL)('%s: the org and the log get the correct values', async (_name, headers) => {
      const { status, addressesAtOkta, headers: received } = await signInWith(headers)
      expect([status, addressesAtOkta]).toEqual([200, [CLIENT]])
      const requestId = received['x-request-id']
      expect(requestId).not.toContain('forged')
      const log = portal.harness.gatehouse
      const line = await until(() =>
        log.logLines().find((one) => one.event === 'request' && one.requestId === requestId),
      )
      expect(line?.address).toBe(CLIENT)
      expect(log.logText()).not.toContain(FORGED)
    })

    // shows: V4.1.3
    test.each(ALL)('%s: the application gets the correct values', async (_name, headers) => {
      const { status, arrived } = await openWith(cookie, { headers })
      expect(status).toBe(200)
      await expectProxyValues(arrived, cookie)
      const [request] = arrived
      expect(valuesOf(request, 'forwarded')).toEqual([])
      expect(valuesOf(request, 'x-request-id').join()).not.toContain('forged')
    })

    if (asksWhoIsSignedIn)
      test('sign no one in', async () => {
        for (const [, headers] of ALL) {
          expect(await openWith(undefined, { headers })).toMatchObject({ status: 401, arrived: [] })
        }
      })
  })

  describe('an upgrade, after which the proxy would no longer see requests, does not reach the application', () => {
    const h2c = ['HTTP2-Settings', 'AAMAAABkAAQAAP__', 'Upgrade', 'h2c']
    const websocket = ['Sec-WebSocket-Version', '13', 'Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ==']
    const UPGRADES: Readonly<Record<string, readonly string[]>> = {
      h2c: ['Connection', 'Upgrade, HTTP2-Settings', ...h2c],
      'h2c, its settings not named in Connection': ['Connection', 'Upgrade', ...h2c],
      'h2c in other letters': ['connection', 'UPGRADE', 'upgrade', 'H2C'],
      'h2c, X-Auth-Request-* named in Connection': ['Connection', 'X-Auth-Request-User, Upgrade', ...h2c],
      WebSocket: ['Connection', 'Upgrade', 'Upgrade', 'WebSocket', ...websocket],
      'websocket and h2c': ['Connection', 'Upgrade', 'Upgrade', 'websocket, h2c', ...websocket],
      'websocket and h2c in two lines': [
        'Connection',
        'Upgrade',
        'Upgrade',
        'websocket',
        'Upgrade',
        'h2c',
        ...websocket,
      ],
    }
    test.each(Object.entries(UPGRADES))('%s', async (_name, headers) => {
      const { status, arrived } = await openWith(cookie, { headers })
      expect(status).toBe(200)
      await expectProxyValues(arrived, cookie)
      expect(valuesOf(arrived[0], 'upgrade')).toEqual([])
    })
  })

  test('the application gets its own cookies and never Gatehouse’s', async () => {
    const [device = '', session = ''] = cookie.split('; ')
    expect(session).toMatch(/^__Host-gatehouse=/)
    const own = ['theme=gatehouse', 'my-gatehouse=1', 'gatehouse-devices=2', 'x=%3D']
    const passing = async (...headers: string[]) => {
      const { status, arrived } = await openWith(undefined, { headers })
      expect([status, arrived.length]).toEqual([200, 1])
      return valuesOf(arrived[0], 'cookie').filter((value) => value !== '')
    }
    const of = (...cookies: string[]) => ['Cookie', cookies.join('; ')]
    expect(await passing(...of(device, session))).toEqual([])
    expect(await passing(...of(device, session, ...own))).toEqual([own.join('; ')])
    expect(await passing(...of('first=1', device, ...own, session, 'last=2'))).toEqual([
      ['first=1', ...own, 'last=2'].join('; '),
    ])
    for (const headers of [
      of(cookie, 'gatehouse=x', 'gatehouse-device=y'),
      of(cookie, cookie),
      ...(JOINS_COOKIES.includes(name) ? [] : [[...of('a=1'), ...of(cookie)]]),
      ['Cookie', `${device};${session};a=1`],
      ['cookie', ` ${device} ; ${session} ;`],
    ])
      expect((await passing(...headers)).join()).not.toMatch(/gatehouse/)
  })

  describe('an application cannot set Gatehouse’s cookies, which would make its own device known', () => {
    const OWN = [
      'theme=gatehouse; Path=/',
      'my-gatehouse=1; Secure',
      '__Host-app=__Host-gatehouse-device=2; Secure; Path=/; Expires=Thu, 31 Dec 2026 00:00:00 GMT',
      'a=b=c; HttpOnly, gatehouse=3',
      'theme=dark; Path=/app',
      'empty=',
    ]
    const PLANTED = [
      '__Host-gatehouse-device=x; Secure; HttpOnly; Path=/; SameSite=Lax',
      '__Host-gatehouse=x; Secure; Path=/',
      '__Host-gatehouse-app=x; Secure; Path=/',
      '__Host-Http-gatehouse-device=x; Secure; HttpOnly; Path=/',
      'gatehouse-device=x',
      'gatehouse=x; Path=/',
      'gatehouse',
      '__host-Gatehouse-Device=x; Secure; Path=/',
      '__Host-gatehouse-device\t =x; Secure; Path=/',
      '=gatehouse-device=x',
      '= \t__Host-gatehouse-device=x; Secure; Path=/',
    ]
    const open = (answer: Parameters<typeof answeringWith>[0], path = PROXIES[name].applicationPath) =>
      openWith(cookie, { path: path + answeringWith(answer) })
    // browsers ignore an empty line
    const setBy = ({ headers }: PortalResponse) => (headers['set-cookie'] ?? []).filter((line) => line !== '')
    const lines = (...values: readonly string[]) =>
      values.map((value, n) => [n % 2 === 0 ? 'Set-Cookie' : 'set-cookie', value] as const)

    test.each([200, 204, 302, 401, 404, 500, 503])('with status %d', async (status) => {
      const mixed = OWN.flatMap((own, n) => [own, ...PLANTED.slice(2 * n, 2 * n + 2)])
      expect(mixed).toHaveLength(OWN.length + PLANTED.length)
      for (const [given, wanted] of [
        [mixed, OWN],
        [PLANTED, []],
        [OWN, OWN],
        [OWN.slice(0, 1), OWN.slice(0, 1)],
        ...PLANTED.map((one) => [[one], []]),
      ] as const) {
        const answer = await open({ status, headers: lines(...given) })
        expect([answer.status, setBy(answer)]).toEqual([status, wanted])
      }
    })

    test('also with headers that proxies act upon', async () => {
      for (const header of ['X-Accel-Redirect', 'X-Sendfile', 'X-Reproxy-URL', 'X-LIGHTTPD-send-file'])
        for (const target of ['/', '/index.html', '/api/v1/sessions/me', '/forward-auth', '@unauthorized']) {
          const headers = [[header, target] as const, ...lines(...PLANTED, ...OWN)]
          const answer = await open({ status: 200, headers })
          expect([header, target, setBy(answer), answer.text]).toEqual([
            header,
            target,
            OWN,
            'the application',
          ])
        }
    })

    test('Gatehouse’s own arrive', async () => {
      const answer = await asked({ path: '/api/v1/sessions/me' })
      expect(setBy(answer)).toEqual([expect.stringMatching(/^__Host-gatehouse-device=[^;]/)])
    })
  })

  test('no path leads to the paths of backends, signed in or not', async () => {
    await expectNoWayToBackendPaths(portal)
    await expectNoWayToBackendPaths(portal, cookie)
  })

  if (asksWhoIsSignedIn) {
    test('a user who is signed out is sent to the sign-in page, a page’s own call gets 401', async () => {
      const navigating = await openWith(undefined, { headers: ['Sec-Fetch-Mode', 'navigate'] })
      const signIn = `${SIGN_IN}${PORTAL}${PROXIES[name].applicationPath}`
      expect([navigating.status, navigating.headers.location]).toEqual([302, signIn])
      expect((await openWith(undefined, { headers: ['Sec-Fetch-Mode', 'cors'] })).status).toBe(401)
      const page = await asked({ path: '/?returnTo=x' })
      expect([page.status, page.text]).toEqual([200, 'the sign-in page'])
    })

    test('a session that another tab has replaced is 409, and nothing reaches the application', async () => {
      const headers = ['X-Gatehouse-Session', 'of-another-tab']
      expect(await openWith(cookie, { headers })).toMatchObject({ status: 409, arrived: [] })
    })

    test('other spellings of the path do not bypass the check', async () => {
      for (const path of [
        '/app/../app/',
        '//app/',
        '/%61pp/',
        '/x/../app/',
        '/App/',
        '/app;/',
        '/api/v1/../../app/',
      ]) {
        const { arrived } = await openWith(undefined, { path })
        expect([path, arrived]).toEqual([path, []])
      }
    })

    test('while the broker is unreachable, no request is let in or redirected to the sign-in page', async () => {
      const other = await startPortal({ proxy: name })
      try {
        const cookie = await other.signIn(AMELIA)
        await other.harness.gatehouse.stop()
        const answer = await other.open(cookie, { headers: ['Sec-Fetch-Mode', 'navigate'] })
        expect([502, 503]).toContain(answer.status)
        expect(other.arrived).toEqual([])
      } finally {
        await other.stop()
      }
    })
  }
})

/**
 * A status of a proxy that refuses, or 0: it closed the connection before the request was complete.
 */
const REFUSED: ReadonlySet<number> = new Set([0, 400, 413, 431])

function cutOff(error: NodeJS.ErrnoException): PortalResponse {
  if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') throw error
  return { status: 0, headers: {}, text: '' }
}

const identityIn = (request: Arrived | undefined) =>
  (request?.headers ?? []).filter(([header]) => header.startsWith('x-auth')).toSorted()
const valuesOf = (request: Arrived | undefined, wanted: string) =>
  (request?.headers ?? []).flatMap(([header, value]) => (header === wanted ? [value] : []))
