import { OPERATIONS } from '../../src/authn/operations.ts'

/** The access rules of each route as data for tests. They are not derived from the code. */

/**
 * The validity of the request's cookies. Every kind except `none` has a device cookie and a session
 * cookie.
 */
export type Cookies =
  | 'none'
  /** This browser's cookies, with an open session. */
  | 'own'
  /** Another user's cookies, from another browser. */
  | 'foreign'
  /** This browser's device cookie, with a session that has timed out. */
  | 'expired'
  /** The correct ids with forged signatures. */
  | 'forged'
  /** Signed by a key that is no longer in SECRET_KEYS. */
  | 'retired key'
  /** Signed by a key in SECRET_KEYS that is not the first. */
  | 'older key'

/**
 * The expected response: done, or refused with a status and a code. No code if the response never
 * has a body.
 */
export type Verdict = 'done' | readonly [status: number, errorCode: string | undefined]

const DONE = 'done'
const NO_SESSION = [401, 'E0000005'] as const
const NOT_FOUND = [404, 'E0000007'] as const
const UNKNOWN_HANDLE = [401, 'E0000011'] as const
const NOT_OFFERED = [403, 'E0000079'] as const
export const NOT_ALLOWED = [403, 'E0000006'] as const

/** The route does not depend on cookies. */
const always = (verdict: Verdict) => byCookies({ device: verdict, elsewhere: verdict, nobody: verdict })

/** The route depends on the device: handles and offered resources belong to one browser. */
const byDevice = (refusal: Verdict) => byCookies({ device: DONE, elsewhere: refusal, nobody: refusal })

function byCookies(verdicts: { device: Verdict; elsewhere: Verdict; nobody: Verdict }) {
  const { device, elsewhere, nobody } = verdicts
  return {
    none: nobody,
    own: device,
    foreign: elsewhere,
    expired: device,
    forged: nobody,
    'retired key': nobody,
    'older key': device,
  } as const
}

/**
 * The route depends on the session: another user's session shows and ends only that user's data.
 */
const bySession = (refusal: Verdict) =>
  ({
    none: refusal,
    own: DONE,
    foreign: DONE,
    expired: refusal,
    forged: refusal,
    'retired key': refusal,
    'older key': DONE,
  }) as const

interface RouteClass {
  readonly verdicts: Readonly<Record<Cookies, Verdict>>
  /** The response sets a device cookie if the browser has no valid one or an old one. */
  readonly setsDevice: boolean
  /** Only for top-level navigation: fetch, frames and images are refused. */
  readonly opened?: true
  /** Also for a service worker of the same origin that passes a navigation on. */
  readonly fromWorkers?: true
  /**
   * The sites whose pages may send its GET without an allowed origin. Default: only the broker's
   * own origin.
   */
  readonly serves?: 'same-site' | 'any-site'
  /** The effect on the session cookie after success. */
  readonly session?: 'opens' | 'closes'
}

export const ROUTE_CLASSES = {
  'sign-in': { verdicts: always(DONE), setsDevice: true, session: 'opens' },
  'recovery start': { verdicts: always(DONE), setsDevice: true },
  step: { verdicts: byDevice(UNKNOWN_HANDLE), setsDevice: true },
  'offered list': { verdicts: byDevice(NOT_OFFERED), setsDevice: true },
  'offered picture': { verdicts: byDevice(NOT_OFFERED), setsDevice: true, serves: 'same-site' },
  /** With a token; cookies and the calling page have no effect. */
  backend: { verdicts: always(DONE), setsDevice: false, serves: 'any-site' },
  'public data': { verdicts: always(DONE), setsDevice: false, serves: 'any-site' },
  'offered redirect': {
    verdicts: byDevice(UNKNOWN_HANDLE),
    setsDevice: true,
    opened: true,
    serves: 'any-site',
  },
  navigation: { verdicts: always(DONE), setsDevice: true, opened: true, serves: 'any-site' },
  'navigation without effect': {
    verdicts: always(DONE),
    setsDevice: true,
    opened: true,
    fromWorkers: true,
    serves: 'any-site',
  },
  /** Of the applications' hosts: without a proxy, nothing names the host. */
  'hand-over: start': {
    verdicts: always([400, 'E0000001']),
    setsDevice: false,
    opened: true,
    fromWorkers: true,
    serves: 'any-site',
  },
  'hand-over: callback': {
    verdicts: always([400, 'E0000001']),
    setsDevice: false,
    opened: true,
    serves: 'any-site',
  },
  'session: first look': { verdicts: bySession(NOT_FOUND), setsDevice: true },
  'session: kept alive': { verdicts: bySession(NOT_FOUND), setsDevice: false },
  'session: sign-out': { verdicts: bySession(NOT_FOUND), setsDevice: false, session: 'closes' },
  /**
   * Without a proof of a key, which no request of the table has. Only browsers themselves call it.
   */
  'bound session: registration': {
    verdicts: { ...bySession(NO_SESSION), own: NOT_ALLOWED, foreign: NOT_ALLOWED, 'older key': NOT_ALLOWED },
    setsDevice: false,
  },
  /** The browser forgets a key that its session does not have. */
  'bound session: refresh': { verdicts: always(DONE), setsDevice: false },
  'session: needed': { verdicts: bySession(NO_SESSION), setsDevice: false },
  'session: end this one': {
    verdicts: { ...bySession(NO_SESSION), foreign: NOT_FOUND },
    setsDevice: false,
    session: 'closes',
  },
  /** With the right secret. Cookies are ignored. */
  'event hook: verification': { verdicts: always(DONE), setsDevice: false, serves: 'any-site' },
  'event hook: delivery': { verdicts: always(DONE), setsDevice: false },
  'proxy check': { verdicts: bySession([401, undefined]), setsDevice: false, serves: 'any-site' },
} as const satisfies Record<string, RouteClass>

export type RouteClassName = keyof typeof ROUTE_CLASSES

export function classNamed(name: RouteClassName): RouteClass {
  return ROUTE_CLASSES[name]
}

/** The kinds of cookies with which a response sets or replaces the device cookie. */
export const DEVICE_IS_SET: Readonly<Record<Cookies, boolean>> = {
  none: true,
  own: false,
  foreign: false,
  expired: false,
  forged: true,
  'retired key': true,
  'older key': true,
}

/** Every route of the public listener. */
export const CLASS_OF: Readonly<Record<string, RouteClassName>> = {
  'POST /api/v1/authn': 'sign-in',
  'POST /api/v1/authn/introspect': 'step',
  'POST /api/v1/authn/recovery/password': 'recovery start',
  'POST /api/v1/authn/recovery/unlock': 'recovery start',
  'POST /api/v1/authn/recovery/token': 'recovery start',
  ...Object.fromEntries(OPERATIONS.map(({ path }) => [`POST ${path}`, 'step'] as const)),
  'GET /api/v1/users/:uid/factors/questions': 'offered list',
  'GET /api/v1/users/:uid/factors/:id/qr/:token': 'offered picture',
  'GET /signin': 'navigation without effect',
  'GET /signin/step-up': 'navigation',
  'GET /login/step-up/redirect': 'offered redirect',
  'GET /login/token/redirect': 'offered redirect',
  'GET /sso/idps/:id': 'offered redirect',
  'GET /login/sessionCookieRedirect': 'offered redirect',
  'GET /api/v1/sessions/me': 'session: first look',
  'GET /api/v1/users/me': 'session: needed',
  'DELETE /api/v1/sessions/me': 'session: sign-out',
  'POST /api/v1/sessions/me/lifecycle/refresh': 'session: kept alive',
  'GET /api/v1/sessions': 'session: needed',
  'DELETE /api/v1/sessions': 'session: needed',
  'DELETE /api/v1/sessions/:publicId': 'session: end this one',
  'POST /bound-session': 'bound session: registration',
  'POST /bound-session/refresh': 'bound session: refresh',
  'GET /forward-auth': 'proxy check',
  'GET /forward-auth/start': 'hand-over: start',
  'GET /forward-auth/callback': 'hand-over: callback',
  'GET /.well-known/gatehouse-jwks.json': 'public data',
  'GET /hooks/org-events': 'event hook: verification',
  'POST /hooks/org-events': 'event hook: delivery',
  'GET /api/v1/pam/me': 'session: needed',
  'GET /api/v1/pam/groups': 'session: needed',
  'GET /api/v1/pam/groups/:id': 'session: needed',
  'GET /app/v1/pam/users/:login': 'backend',
  'GET /app/v1/pam/groups': 'backend',
  'GET /app/v1/pam/groups/:id': 'backend',
}

/** A kind of client with the headers that browsers send for it (Fetch metadata, RFC 6454). */
export interface Caller {
  readonly headers: Readonly<Record<string, string>>
  /**
   * The result of its POST or DELETE. `without a session cookie`: refused if the request has one.
   */
  readonly unsafe: 'passes' | 'is refused' | 'passes without a session cookie'
  /** The origin may read the responses (CORS). */
  readonly reads?: string
  /** A top-level navigation. */
  readonly opens?: true
}

export const ORIGINS = {
  own: 'https://portal.example.com',
  allowed: 'https://spa.example.com',
  sibling: 'https://wiki.example.com',
  foreign: 'https://evil.example',
} as const

const fetched = (site: string) => ({
  'sec-fetch-site': site,
  'sec-fetch-mode': 'cors',
  'sec-fetch-dest': 'empty',
})
const opened = (site: string) => ({
  'sec-fetch-site': site,
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
})

const { own, allowed, sibling, foreign } = ORIGINS
const image = { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }
const called = (unsafe: Caller['unsafe'], headers: Caller['headers'], more: Partial<Caller> = {}): Caller => {
  return { headers, unsafe, ...more }
}
const passes = called.bind(undefined, 'passes')
const refused = called.bind(undefined, 'is refused')

export const CALLERS: Readonly<Record<string, Caller>> = {
  'a page of our origin': passes({ origin: own, ...fetched('same-origin') }, { reads: own }),
  'a page of our origin, its GET': passes(fetched('same-origin')),
  'a page of our origin, in an old browser': passes({ origin: own }, { reads: own }),
  'a page of an allowed origin': passes({ origin: allowed, ...fetched('same-site') }, { reads: allowed }),
  'a page of an allowed origin, in an old browser': passes({ origin: allowed }, { reads: allowed }),
  'a page of a sibling': refused({ origin: sibling, ...fetched('same-site') }),
  'a page of a sibling, in an old browser': refused({ origin: sibling }),
  'a picture in a sibling page': refused({ 'sec-fetch-site': 'same-site', ...image }),
  'a foreign page': refused({ origin: foreign, ...fetched('cross-site') }),
  'a foreign page, in an old browser': refused({ origin: foreign }),
  'a sandboxed frame': refused({ origin: 'null', ...fetched('cross-site') }),
  'a foreign form': refused({ origin: foreign, ...opened('cross-site') }, { opens: true }),
  'a link in a foreign page': refused(opened('cross-site'), { opens: true }),
  'a foreign frame': refused({ ...opened('cross-site'), 'sec-fetch-dest': 'iframe' }),
  'the address bar': passes(opened('none'), { opens: true }),
  'no browser, or one without any of these headers': called('passes without a session cookie', {}),
}
