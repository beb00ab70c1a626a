import type { IncomingHttpHeaders } from 'node:http'
import type { Faults } from './fault.ts'
import { add, drop, type Portal, type PortalCause, type Rewrites, WRITTEN, without, write } from './portal.ts'

const cookies = (change: (cookie: string) => string): Rewrites => ({
  response: (headers) => ({
    ...headers,
    ...(headers['set-cookie'] && { 'set-cookie': headers['set-cookie'].map(change) }),
  }),
})
const removed = (attribute: RegExp) => ({ proxy: cookies((cookie) => cookie.replace(attribute, '')) })
const missing = (attribute: string) => ({
  'public.cookies': `fail: the proxy changes the attributes of cookies: ${attribute} is missing`,
})
const CACHING = 'fail: the proxy changes Cache-Control, so that caches may keep what is one user’s'
/** The names of cookies that arrive, and no others. */
const onlyCookies =
  (names: RegExp) =>
  ({ cookie = '' }: IncomingHttpHeaders) =>
    write({
      cookie:
        cookie
          .split('; ')
          .filter((each) => names.test(each))
          .join('; ') || undefined,
    })()

/** Keeps the first response to each GET, by URL. */
function cacheGets({ gatehouse }: Portal): Rewrites {
  const cached = new Map<string, string>()
  return {
    async intercept({ method, url = '', headers }, res) {
      if (method !== 'GET') return false
      const sent = {
        ...(WRITTEN as Record<string, string>),
        'x-gatehouse-doctor': `${headers['x-gatehouse-doctor']}`,
      }
      const answered = () => fetch(gatehouse.url + url, { headers: sent, redirect: 'manual' })
      const body = cached.get(url) ?? (await (await answered()).text())
      cached.set(url, body)
      res.writeHead(302, { 'content-type': 'application/json' }).end(body)
      return true
    },
  }
}

/** What a proxy does to cookies, and what it or a browser may keep. */
export const COOKIES_AND_CACHING: Faults<PortalCause> = {
  'set-cookie-removed': {
    cause: { proxy: { response: without('set-cookie') } },
    told: { 'public.cookies': 'fail: the response sets no device cookie' },
    fix: 'pass Set-Cookie unchanged',
  },
  'cookie-renamed': {
    cause: { proxy: cookies((cookie) => `lb-${cookie}`) },
    told: { 'public.cookies': 'fail: the response sets no device cookie' },
    fix: 'pass Set-Cookie unchanged',
  },
  'cookie-removed': {
    cause: { proxy: { request: drop('cookie') } },
    told: {
      'public.cookies': 'fail: the device cookie does not come back, or another replica does not accept it',
    },
    fix: 'pass Cookie unchanged',
  },
  'cookies-by-list': {
    // a CDN that passes the cookies of a list only
    cause: { proxy: { request: onlyCookies(/gatehouse-device/) } },
    told: {
      'public.cookies': 'fail: cookies do not arrive: __Host-Http-gatehouse, __Host-gatehouse-bound',
    },
    fix: 'pass Cookie unchanged',
  },
  'cookies-folded': {
    // HTTP/2 sends each on its own, and some servers join them with a comma
    cause: {
      proxy: { request: ({ cookie }) => write({ cookie: cookie?.replaceAll('; ', ', ') })() },
    },
    told: { 'public.cookies': /^fail: cookies do not arrive: / },
    fix: 'pass Cookie unchanged',
  },
  'one-set-cookie-passed': {
    // gateways that know one value of each header
    cause: {
      proxy: {
        response: (headers) => {
          const last = headers['set-cookie']?.at(-1)
          return last === undefined ? headers : { ...headers, 'set-cookie': [last] }
        },
      },
    },
    told: { 'public.cookies': 'fail: of two cookies in a response, one comes back' },
    fix: 'pass each Set-Cookie',
  },
  'set-cookies-joined': {
    cause: {
      proxy: {
        response: (headers) => {
          const all = headers['set-cookie']
          return all === undefined ? headers : { ...headers, 'set-cookie': [all.join(', ')] }
        },
      },
    },
    told: { 'public.cookies': 'fail: of two cookies in a response, one comes back' },
    fix: 'pass each Set-Cookie',
  },
  'http-only-removed': { cause: removed(/; HttpOnly/), told: missing('httponly'), fix: 'Set-Cookie' },
  'same-site-removed': { cause: removed(/; SameSite=Lax/), told: missing('samesite=lax'), fix: 'Set-Cookie' },
  'same-site-none': {
    cause: { proxy: cookies((cookie) => cookie.replace('SameSite=Lax', 'SameSite=None')) },
    told: missing('samesite=lax'),
    fix: 'Set-Cookie',
  },
  'secure-removed': { cause: removed(/; Secure/), told: missing('secure'), fix: 'Set-Cookie' },
  'life-removed': {
    cause: removed(/; (Max-Age|Expires)=[^;]*/g),
    told: missing('max-age'),
    fix: 'Set-Cookie',
  },
  'path-changed': {
    // nginx: proxy_cookie_path / /portal/
    cause: { proxy: cookies((cookie) => cookie.replace('Path=/', 'Path=/portal/')) },
    told: missing('path=/'),
    fix: 'Set-Cookie',
  },
  'domain-added': {
    cause: { proxy: cookies((cookie) => `${cookie}; Domain=example.com`) },
    told: { 'public.cookies': 'fail: the proxy changes the attributes of cookies: domain is added' },
    fix: 'Set-Cookie',
  },
  'value-encoded': {
    cause: {
      proxy: cookies((cookie) =>
        cookie.replace(/=([^;]*)/, (_, value) => `=${encodeURIComponent(`"${value}"`)}`),
      ),
    },
    told: {
      'public.cookies': 'fail: the device cookie does not come back, or another replica does not accept it',
    },
    fix: 'pass Cookie unchanged',
  },
  'cache-answers': {
    cause: (portal) => ({ proxy: cacheGets(portal) }),
    told: { 'public.reach': 'fail: a cache answers instead of the broker' },
    fix: 'must not cache /api/v1/',
  },
  'cache-control-public': {
    cause: { proxy: { response: add({ 'cache-control': 'public, max-age=60' }) } },
    told: { 'public.headers': CACHING },
    fix: 'must pass these headers unchanged',
  },
  'cache-control-lifetime': {
    cause: { proxy: { response: add({ 'cache-control': 'no-store, max-age=60' }) } },
    told: { 'public.headers': CACHING },
    fix: 'must pass these headers unchanged',
  },
  'cache-control-removed': {
    cause: { proxy: { response: without('cache-control') } },
    told: { 'public.headers': CACHING },
    fix: 'must pass these headers unchanged',
  },
}
