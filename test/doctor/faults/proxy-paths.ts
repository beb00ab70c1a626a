import type { Faults } from './fault.ts'
import { type PortalCause, type Rewrites, when } from './portal.ts'

/** The paths that a variable needs, but not those of the event hook and `/api/v1/`. */
const NEEDED = ['/signin', '/signin/step-up', '/login/sessionCookieRedirect', '/login/step-up/redirect']
const HOOK_LOST = 'fail: the event hook does not answer as Okta expects (HTTP 404)'
const hidden = (pattern: RegExp, status = 404): Rewrites => ({
  intercept: when(({ url = '' }) => pattern.test(url), status, {}, 'not found'),
})
const ALL_PATHS = [
  ...NEEDED,
  '/sso/idps/doctor',
  '/api/v1/users/me',
  '/api/v1/authn/introspect',
  '/api/v1/pam/me',
  '/hooks/org-events',
  '/.well-known/gatehouse-jwks.json',
]

/** Paths and queries that a proxy does not pass on, or changes. */
export const PROXY_PATHS: Faults<PortalCause> = {
  'prefix-removed': {
    cause: { proxy: { path: (path) => path.replace(/^\/api/, '') } },
    told: { 'public.reach': 'fail: the proxy changes the path, so no route of the broker is found' },
    fix: 'proxy_pass without a path',
  },
  'prefix-added': {
    cause: { proxy: { path: (path) => `/gatehouse${path}` } },
    told: { 'public.reach': 'fail: the proxy changes the path, so no route of the broker is found' },
    fix: 'proxy_pass without a path',
  },
  'slash-added': {
    cause: { proxy: { path: (path) => path.replace(/^([^?]*[^?/])(\?|$)/, '$1/$2') } },
    told: { 'public.reach': 'fail: the proxy changes the path, so no route of the broker is found' },
    fix: 'proxy_pass without a path',
  },
  'lower-cased': {
    cause: { proxy: { path: (path) => path.replace(/^[^?]*/, (all) => all.toLowerCase()) } },
    told: {
      'public.paths':
        'fail: not passed to the broker: /login/sessionCookieRedirect (SSO_REDIRECTS; changed on the way)',
    },
    fix: 'unchanged',
  },
  'query-lower-cased': {
    cause: { proxy: { path: (path) => path.replace(/\?.*/, (all) => all.toLowerCase()) } },
    told: { 'public.paths': `fail: the proxy drops or changes the query of ${ALL_PATHS.join(', ')}` },
    fix: 'pass queries unchanged',
  },
  'query-dropped': {
    cause: { proxy: { path: (path) => path.replace(/\?.*/, '') } },
    told: { 'public.paths': `fail: the proxy drops or changes the query of ${ALL_PATHS.join(', ')}` },
    fix: 'pass queries unchanged',
  },
  'query-decoded': {
    cause: { proxy: { path: (path) => path.replace(/%2F/g, '/') } },
    told: { 'public.paths': `fail: the proxy drops or changes the query of ${ALL_PATHS.join(', ')}` },
    fix: 'pass queries unchanged',
  },
  'empty-parameters-removed': {
    cause: { proxy: { path: (path) => path.replace(/&empty=(?=&|$)/, '') } },
    told: { 'public.paths': `fail: the proxy drops or changes the query of ${ALL_PATHS.join(', ')}` },
    fix: 'pass queries unchanged',
  },
  'long-queries-refused': {
    // Internet Information Services: maxQueryString, 2048
    cause: {
      proxy: { intercept: when(({ url = '' }) => (url.split('?')[1] ?? '').length > 2048, 404) },
    },
    told: { 'public.paths': 'fail: the proxy does not pass a query of 3 kB (HTTP 404)' },
    fix: 'maxQueryString',
  },
  'percent-signs-refused-by-a-firewall': {
    cause: { proxy: { intercept: when(({ url = '' }) => /%2F/i.test(url), 403) } },
    told: { 'public.paths': /^fail: not passed to the broker: \/signin \(RETURN_TO; HTTP 403\), / },
    fix: 'unchanged',
  },
  'only-sign-in-calls-passed': {
    cause: { proxy: hidden(/^\/api\/v1\/(users|pam)\//) },
    told: {
      'public.paths':
        'fail: not passed to the broker: /api/v1/users/me (second factors; HTTP 404), /api/v1/pam/me (PAM_BASE_URL; HTTP 404)',
    },
    fix: 'pass all paths of Gatehouse',
  },
  'introspect-not-passed': {
    cause: { proxy: hidden(/^\/api\/v1\/authn\/./) },
    told: {
      'public.paths':
        'fail: not passed to the broker: /api/v1/authn/introspect (steps of a sign-in; HTTP 404)',
    },
    fix: 'pass all paths of Gatehouse',
  },
  'signin-not-passed': {
    cause: { proxy: hidden(/^\/signin\?/, 200) },
    told: { 'public.paths': 'fail: not passed to the broker: /signin (RETURN_TO; HTTP 200)' },
    fix: 'pass all paths of Gatehouse',
  },
  'step-up-not-passed': {
    cause: { proxy: hidden(/^\/signin\//) },
    told: { 'public.paths': 'fail: not passed to the broker: /signin/step-up (STEP_UP; HTTP 404)' },
    fix: 'pass all paths of Gatehouse',
  },
  'login-not-passed': {
    cause: { proxy: hidden(/^\/login\//) },
    told: {
      'public.paths':
        'fail: not passed to the broker: /login/sessionCookieRedirect (SSO_REDIRECTS; HTTP 404), /login/step-up/redirect (STEP_UP; HTTP 404)',
    },
    fix: 'pass all paths of Gatehouse',
  },
  'sso-not-passed': {
    cause: { proxy: hidden(/^\/sso\//) },
    told: { 'public.paths': 'warn: not passed to the broker: /sso/idps/doctor (HTTP 404)' },
    fix: 'pass all paths of Gatehouse',
  },
  'well-known-not-passed': {
    // as a web server that answers /.well-known/ for its certificates
    cause: { proxy: hidden(/^\/\.well-known\//) },
    told: {
      'public.paths':
        'fail: not passed to the broker: /.well-known/gatehouse-jwks.json (JWT_AUDIENCES; HTTP 404)',
    },
    fix: 'pass all paths of Gatehouse',
  },
  'hooks-not-passed': {
    cause: { proxy: hidden(/^\/hooks\//) },
    told: {
      'public.paths': 'fail: not passed to the broker: /hooks/org-events (EVENT_HOOK_SECRET; HTTP 404)',
      'public.event_hook': HOOK_LOST,
    },
    fix: 'pass all paths of Gatehouse',
  },
}
