import { expect, test } from '@jest/globals'
import { type AppOptions, publicRoutes } from '../../src/app.ts'
import type { Route } from '../../src/http/route.ts'
import { anyAppOptions } from '../support/app-options.ts'
import type { Answer } from '../support/ask-port.ts'
import {
  APP_TOKEN,
  type Asked,
  cookiesIn,
  DEVICE_COOKIE,
  HOOK_SECRET,
  type MatrixVisitor,
  SESSION_COOKIE,
  useMatrixHarness,
} from '../support/matrix-harness.ts'
import { GROUP_ID, pathOf } from '../support/permissive-upstream.ts'
import {
  CALLERS,
  type Caller,
  CLASS_OF,
  type Cookies,
  classNamed,
  DEVICE_IS_SET,
  NOT_ALLOWED,
  ORIGINS,
  type RouteClassName,
  type Verdict,
} from '../support/route-classes.ts'

/**
 * Every route, with each kind of cookies and each caller: the response, its cookies, its CORS
 * headers, and that a refusal causes no upstream call. The expected values are in
 * test/support/route-classes.ts.
 */

const ROUTES: readonly Route[] = publicRoutes(anyAppOptions() as AppOptions)
const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>) => `${method} ${path}`

const harness = useMatrixHarness()

// shows: V13.4.5
test('every route has a class, and every class entry has a route', () => {
  expect(Object.keys(CLASS_OF).sort()).toEqual(ROUTES.map(nameOf).sort())
})

/** Body fields in addition to the handle; the upstream accepts all of them. */
const FIELDS = {
  oldPassword: 'plainly-fake-old',
  newPassword: 'plainly-fake-new',
  answer: 'plainly fake',
  passCode: '000000',
  factorType: 'sms',
  provider: 'OKTA',
  id: 'fac123',
  sig_response: 'plainly-fake',
}
const REDIRECT_URL = encodeURIComponent('https://app.example.com/start')

/** A valid request of this browser. */
function requestFor(
  route: Pick<Route, 'method' | 'path'>,
  browser: MatrixVisitor,
): Partial<Asked> & Pick<Asked, 'method' | 'path'> {
  const { method } = route
  const path = pathOf(route.path, browser.userId)
  const state = encodeURIComponent(browser.handle)
  switch (nameOf(route)) {
    case 'POST /api/v1/authn':
      return { method, path, body: { username: 'someone@example.test', password: 'plainly-fake' } }
    case 'POST /api/v1/authn/recovery/password':
    case 'POST /api/v1/authn/recovery/unlock':
      return { method, path, body: { username: 'someone@example.test', factorType: 'EMAIL' } }
    case 'POST /api/v1/authn/recovery/token':
      return { method, path, body: { recoveryToken: 'plainly-fake-recovery' } }
    case 'GET /api/v1/users/:uid/factors/:id/qr/:token':
      return { method, path: browser.picture }
    case 'GET /signin':
      return { method, path: `${path}?returnTo=${ORIGINS.own}/app/` }
    case 'GET /signin/step-up':
      return { method, path: `${path}?stateToken=00plainly-fake-imported-token` }
    case 'GET /login/sessionCookieRedirect':
      return { method, path: `${path}?token=${browser.ssoToken}&redirectUrl=${REDIRECT_URL}` }
    case 'DELETE /api/v1/sessions/:publicId':
      return { method, path: path.replace('publicId', browser.publicId) }
    case 'POST /bound-session/refresh':
      return { method, path, headers: { 'sec-secure-session-id': 'plainly-fake-name' } }
    case 'GET /hooks/org-events':
      return { method, path, headers: { authorization: HOOK_SECRET, 'x-okta-verification-challenge': 'x' } }
    case 'POST /hooks/org-events':
      return { method, path, headers: { authorization: HOOK_SECRET }, body: { data: { events: [] } } }
    case 'GET /api/v1/pam/groups/:id':
    case 'GET /app/v1/pam/groups/:id':
      return { method, path: route.path.replace(':id', GROUP_ID) }
    default:
      if (method === 'POST' && CLASS_OF[nameOf(route)] === 'step')
        return { method, path, body: { stateToken: browser.handle, ...FIELDS } }
      return {
        method,
        path:
          method === 'GET' && CLASS_OF[nameOf(route)] === 'offered redirect'
            ? `${path}?stateToken=${state}`
            : path,
      }
  }
}

interface Expected {
  readonly verdict: Verdict
  readonly setsDevice: boolean
  readonly session: 'opens' | 'closes' | undefined
}

/** The access rules in the order in which they are checked. */
function expectedOf(route: Route, kind: Cookies, caller: Caller): Expected {
  const { verdicts, setsDevice, opened, fromWorkers, serves, session } = classNamed(
    CLASS_OF[nameOf(route)] as RouteClassName,
  ) // exists: tested above
  const refused = { verdict: NOT_ALLOWED, setsDevice: false, session: undefined }
  const isCrossSite =
    caller.unsafe === 'is refused' || (caller.unsafe === 'passes without a session cookie' && kind !== 'none')
  if (route.method !== 'GET' && isCrossSite) return refused
  const site = caller.headers['sec-fetch-site'] ?? 'none'
  const isServed = serves === 'any-site' || site === serves || caller.reads !== undefined
  if (route.method === 'GET' && !isServed && site !== 'none' && site !== 'same-origin') return refused
  const isPassedOn = fromWorkers === true && site === 'same-origin'
  if (opened === true && caller.opens !== true && !isPassedOn) return refused
  const verdict = verdicts[kind]
  return {
    verdict,
    setsDevice: setsDevice && DEVICE_IS_SET[kind],
    session: verdict === 'done' ? session : undefined,
  }
}

const KINDS = Object.keys(DEVICE_IS_SET) as Cookies[] // an object with exactly these keys
/** Its requests are refused because of their cookies alone. */
const PASSING = 'a page of our origin'

// shows: V3.5.1, V8.2.1, V10.1.2
test.each(ROUTES.map((route) => [nameOf(route), route] as const))(
  '%s: each kind of cookies, and each caller with and without a session',
  async (name, route) => {
    let [other, browser] = [await harness.newcomer(), await harness.newcomer()]
    const [cells, wantedCells]: [object[], object[]] = [[], []]
    for (const [callerName, caller] of Object.entries(CALLERS)) {
      for (const kind of callerName === PASSING ? KINDS : (['own', 'none'] as const)) {
        const cookie = kind === 'foreign' ? other.cookies('own') : browser.cookies(kind)
        harness.callsSinceLastLook()
        const { headers, ...request } = requestFor(route, browser)
        const answer = await harness.ask({
          ...request,
          headers: {
            ...headers,
            ...caller.headers,
            ...(cookie === undefined ? {} : { cookie }),
            ...credentialsFor(name),
          },
        })
        const cell = { callerName, kind }
        const expected = expectedOf(route, kind, caller)
        const calls = expected.verdict === 'done' ? [] : harness.callsSinceLastLook()
        cells.push({ ...cell, ...seen(answer), calls })
        wantedCells.push({
          ...cell,
          ...wanted(expected, isForPages(name) ? caller.reads : undefined),
          calls: [],
        })
        expectOwnUser(answer, kind === 'foreign' ? other : browser)
        if (expected.verdict !== 'done' || !USES_UP.has(CLASS_OF[name])) continue
        if (kind === 'foreign') other = await harness.newcomer()
        else browser = await harness.newcomer()
      }
    }
    expect(cells).toEqual(wantedCells)
  },
)

/**
 * A proxy's sub-request has the headers of the application's own request, a backend has no pages,
 * and a browser proves its key by itself: they get no CORS headers.
 */
function isForPages(name: string): boolean {
  return !/^(proxy check|backend|bound session: .*)$/.test(CLASS_OF[name] ?? '')
}

const credentialsFor = (name: string) =>
  CLASS_OF[name] === 'backend' ? { authorization: `Bearer ${APP_TOKEN.token}` } : {}

/** Classes whose success cannot be repeated by the same browser. */
const USES_UP: ReadonlySet<RouteClassName | undefined> = new Set([
  'sign-in',
  'offered redirect',
  'session: sign-out',
  'session: end this one',
])

/** Those of the session and the device, and what `/signin` remembers to notice a loop. */
const KNOWN_COOKIES = new Set([SESSION_COOKIE, DEVICE_COOKIE, '__Secure-gatehouse-returns'])

/** The properties of a response that a verdict determines. */
function seen(answer: Answer) {
  const { status, headers, json } = answer
  const cookies = cookiesIn(answer)
  const session = cookies[SESSION_COOKIE]
  return {
    verdict: status < 400 ? 'done' : [status, (json as { errorCode?: string } | undefined)?.errorCode],
    device: DEVICE_COOKIE in cookies,
    session: session === undefined ? undefined : session === '' ? 'closes' : 'opens',
    readableBy: headers['access-control-allow-origin'],
    withCredentials: headers['access-control-allow-credentials'],
    otherCookies: Object.keys(cookies).filter((name) => !KNOWN_COOKIES.has(name)),
  }
}

function wanted({ verdict, setsDevice, session }: Expected, reads: string | undefined) {
  return {
    verdict,
    device: setsDevice,
    session,
    readableBy: reads,
    withCredentials: reads === undefined ? undefined : 'true',
    otherCookies: [],
  }
}

/** A response that names a user names the user of the session. */
function expectOwnUser({ status, json, headers }: Answer, owner: MatrixVisitor) {
  if (status !== 200) return
  const { userId } = (json ?? {}) as { userId?: string }
  if (userId !== undefined) expect(userId).toBe(owner.userId)
  const forProxies = headers['x-auth-request-user']
  if (forProxies !== undefined) expect(forProxies).toBe(owner.userId)
}
