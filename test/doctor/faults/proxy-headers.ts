import type { Faults } from './fault.ts'
import { add, CLIENT, drop, type PortalCause, type Rewrites, without, write } from './portal.ts'

const forwarding = (written: (given: string | undefined) => string | undefined): Rewrites => ({
  request: (headers) => ({ 'x-forwarded-for': written(headers['x-forwarded-for'] as string | undefined) }),
})
const COOKIES_UNKNOWN = { 'public.cookies': 'skipped: not possible without public.headers' }
const LONG_COOKIE = 4096

/** Headers that a proxy removes, adds, replaces or refuses. */
export const PROXY_HEADERS: Faults<PortalCause> = {
  'sec-fetch-site-removed': {
    cause: { proxy: { request: drop('sec-fetch-site') } },
    told: { 'public.headers': 'fail: Sec-Fetch-Site does not arrive' },
    fix: 'must pass these headers unchanged',
  },
  'sec-fetch-site-rewritten': {
    cause: {
      proxy: { request: ({ 'sec-fetch-site': site }) => write(site ? { 'sec-fetch-site': 'none' } : {})() },
    },
    told: { 'public.headers': 'fail: the proxy changes Sec-Fetch-Site' },
    fix: 'must pass these headers unchanged',
  },
  'origin-removed': {
    cause: { proxy: { request: drop('origin') } },
    told: {
      'public.headers':
        'fail: Origin does not arrive; pages of ALLOWED_ORIGINS cannot call the broker (Access-Control-Allow-Origin)',
    },
    fix: 'must pass these headers unchanged',
  },
  'origin-rewritten': {
    cause: ({ env }) => ({
      proxy: { request: ({ origin }) => write(origin ? { origin: env.PUBLIC_URL } : {})() },
    }),
    told: {
      'public.headers':
        'fail: the proxy changes Origin; the proxy lets pages of every origin read responses (Access-Control-Allow-Origin); pages of ALLOWED_ORIGINS cannot call the broker (Access-Control-Allow-Origin)',
    },
    fix: 'must pass these headers unchanged',
  },
  'sec-fetch-mode-removed': {
    cause: { proxy: { request: drop('sec-fetch-mode', 'sec-fetch-dest') } },
    told: { 'public.headers': 'fail: Sec-Fetch-Mode does not arrive; Sec-Fetch-Dest does not arrive' },
    fix: 'must pass these headers unchanged',
  },
  'user-agent-replaced': {
    // CloudFront, unless its policy passes the header on
    cause: { proxy: { request: write({ 'user-agent': 'Amazon CloudFront' }) } },
    told: { 'public.headers': 'fail: the proxy changes User-Agent' },
    fix: 'must pass these headers unchanged',
  },
  'accept-language-removed': {
    cause: { proxy: { request: drop('accept-language') } },
    told: { 'public.headers': 'fail: Accept-Language does not arrive' },
    fix: 'must pass these headers unchanged',
  },
  'session-header-removed': {
    cause: { proxy: { request: drop('x-gatehouse-session') } },
    told: { 'public.headers': 'fail: X-Gatehouse-Session does not arrive' },
    fix: 'must pass these headers unchanged',
  },
  'device-fingerprint-removed': {
    cause: { proxy: { request: drop('x-device-fingerprint') } },
    told: { 'public.headers': 'fail: X-Device-Fingerprint does not arrive' },
    fix: 'must pass these headers unchanged',
  },
  'forwarded-for-missing': {
    cause: { proxy: forwarding(() => undefined) },
    told: { 'public.headers': 'fail: X-Forwarded-For does not arrive', ...COOKIES_UNKNOWN },
    fix: 'The proxy must send it',
  },
  'forwarded-for-no-address': {
    cause: { proxy: forwarding(() => 'unknown') },
    told: {
      'public.headers': 'fail: a proxy adds an entry to X-Forwarded-For that is not an address',
      ...COOKIES_UNKNOWN,
    },
    fix: 'add the address of its client',
  },
  'forwarded-for-empty-entry': {
    cause: { proxy: forwarding(() => `${CLIENT}, ,`) },
    told: { 'public.headers': 'fail: a proxy adds an empty entry to X-Forwarded-For', ...COOKIES_UNKNOWN },
    fix: 'add the address of its client',
  },
  'forwarded-for-passed-on': {
    cause: { proxy: forwarding((given) => given ?? CLIENT) },
    told: { 'public.headers': 'fail: a forged X-Forwarded-For is used' },
    fix: 'must replace X-Forwarded-For',
  },
  'forwarded-for-passed-on-alone': {
    cause: { proxy: forwarding((given) => given) },
    told: {
      'public.headers':
        'fail: the proxy passes the X-Forwarded-For of clients, and adds no address: it can be forged',
      ...COOKIES_UNKNOWN,
    },
    fix: 'add the address of its client',
  },
  'proxy-in-front-not-trusted': {
    cause: { proxy: forwarding(() => `${CLIENT}, 203.0.113.77`) },
    told: {
      'public.headers':
        'fail: TRUST_PROXY does not contain 203.0.113.77, which sent X-Forwarded-For: all users share this address',
    },
    fix: 'add it to TRUST_PROXY',
  },
  'proxy-not-trusted': {
    cause: async ({ startReplica }) => {
      const port = await startReplica({ TRUST_PROXY: '10.0.0.0/8' })
      const proxy = { portOf: () => port }
      return { proxy, application: proxy, env: { TRUST_PROXY: '10.0.0.0/8' } }
    },
    told: {
      'public.headers':
        'fail: TRUST_PROXY does not contain 127.0.0.1, which sent X-Forwarded-For: all users share this address',
      'public.applications':
        /^fail: the proxy of localhost:\d+ is not in TRUST_PROXY, so its X-Forwarded-Host does not count$/,
    },
    fix: 'add it to TRUST_PROXY',
  },
  'forwarded-for-missing-and-proxy-not-trusted': {
    cause: async ({ startReplica }) => {
      const port = await startReplica({ TRUST_PROXY: '' })
      const rewrites = { ...forwarding(() => undefined), portOf: () => port }
      return { proxy: rewrites, env: { TRUST_PROXY: '', RETURN_TO: '' } }
    },
    told: {
      'public.headers': 'fail: X-Forwarded-For does not arrive: all users share the address 127.0.0.1',
      'public.configuration':
        'warn: the running broker, or one of its replicas, has another RETURN_TO than the doctor',
    },
    fix: 'TRUST_PROXY must contain the address of the proxy',
  },
  'clients-trusted': {
    cause: async ({ startReplica }) => {
      const clients = { TRUST_PROXY: '127.0.0.1/32,203.0.113.0/24,192.0.2.0/24' }
      const port = await startReplica(clients)
      const proxy = forwarding((given) => (given === undefined ? CLIENT : `${given}, ${CLIENT}`))
      return { proxy: { ...proxy, portOf: () => port }, env: clients }
    },
    told: {
      'public.headers': 'fail: a forged X-Forwarded-For is used: TRUST_PROXY contains addresses of clients',
    },
    fix: 'addresses of your proxies only',
  },
  'doctor-trusted': {
    cause: { proxy: forwarding((given) => (given === undefined ? '127.0.0.1' : `${given}, 127.0.0.1`)) },
    told: {
      'public.headers':
        'warn: TRUST_PROXY contains the address of the doctor (127.0.0.1), so the doctor cannot check whether a forged X-Forwarded-For is used',
    },
    fix: 'run the doctor from another address',
  },
  'headers-over-4-kb-refused': {
    cause: {
      proxy: {
        intercept: ({ rawHeaders }, res) =>
          rawHeaders.join('').length > LONG_COOKIE && Boolean(res.writeHead(431).end()),
      },
    },
    told: { 'public.reach': 'fail: the proxy does not pass headers of 4 kB (HTTP 431)' },
    fix: 'large_client_header_buffers',
  },
  'headers-over-8-kb-refused': {
    cause: {
      proxy: {
        intercept: ({ rawHeaders }, res) =>
          rawHeaders.join('').length > 2 * LONG_COOKIE && Boolean(res.writeHead(400).end()),
      },
    },
    told: { 'public.reach': 'warn: the proxy does not pass headers of 12 kB (HTTP 400)' },
    fix: 'large_client_header_buffers',
  },
  'long-cookies-cut': {
    cause: {
      proxy: { request: ({ cookie = '' }) => write({ cookie: cookie.slice(0, LONG_COOKIE) || undefined })() },
    },
    told: { 'public.reach': 'fail: the proxy cuts Cookie: of 12 kB, 4 kB arrive' },
    fix: 'Cookie',
  },
  'cors-for-every-origin': {
    cause: { proxy: { response: add({ 'access-control-allow-origin': '*' }) } },
    told: {
      'public.headers':
        'fail: the proxy lets pages of every origin read responses (Access-Control-Allow-Origin); pages of ALLOWED_ORIGINS cannot call the broker (Access-Control-Allow-Origin)',
    },
    fix: 'neither add nor remove Access-Control headers',
  },
  'cors-removed': {
    cause: { proxy: { response: without('access-control-allow-origin') } },
    told: {
      'public.headers': 'fail: pages of ALLOWED_ORIGINS cannot call the broker (Access-Control-Allow-Origin)',
    },
    fix: 'neither add nor remove Access-Control headers',
  },
  'cors-doubled': {
    cause: {
      proxy: {
        response: (headers) => {
          const allowed = headers['access-control-allow-origin']
          return allowed === undefined
            ? headers
            : { ...headers, 'access-control-allow-origin': `${allowed}, ${allowed}` }
        },
      },
    },
    told: {
      'public.headers': 'fail: pages of ALLOWED_ORIGINS cannot call the broker (Access-Control-Allow-Origin)',
    },
    fix: 'neither add nor remove Access-Control headers',
  },
  'cors-without-credentials': {
    cause: { proxy: { response: without('access-control-allow-credentials') } },
    told: {
      'public.headers':
        'fail: pages of ALLOWED_ORIGINS cannot call the broker (Access-Control-Allow-Credentials)',
    },
    fix: 'neither add nor remove Access-Control headers',
  },
  'cors-allowed-headers-replaced': {
    cause: {
      proxy: {
        response: (headers) =>
          'access-control-allow-headers' in headers
            ? { ...headers, 'access-control-allow-headers': 'Content-Type' }
            : headers,
      },
    },
    told: {
      'public.headers':
        'fail: pages of ALLOWED_ORIGINS cannot call the broker (Access-Control-Allow-Headers)',
    },
    fix: 'neither add nor remove Access-Control headers',
  },
  'cors-exposed-headers-removed': {
    cause: { proxy: { response: without('access-control-expose-headers') } },
    told: {
      'public.headers':
        'fail: pages of ALLOWED_ORIGINS cannot call the broker (Access-Control-Expose-Headers)',
    },
    fix: 'neither add nor remove Access-Control headers',
  },
  'allowed-origin-not-configured': {
    cause: ({ env }) => ({ env: { ALLOWED_ORIGINS: `https://localhost:4444,${env.ALLOWED_ORIGINS}` } }),
    told: {
      'public.headers': 'fail: pages of ALLOWED_ORIGINS cannot call the broker (Access-Control-Allow-Origin)',
      'public.configuration':
        'warn: the running broker, or one of its replicas, has another ALLOWED_ORIGINS than the doctor',
    },
    fix: 'neither add nor remove Access-Control headers',
  },
  'hsts-off': {
    cause: { proxy: { response: add({ 'strict-transport-security': 'max-age=0' }) } },
    told: { 'public.headers': 'fail: the proxy switches Strict-Transport-Security off' },
    fix: 'must pass these headers unchanged',
  },
  'location-rewritten': {
    // Internet Information Services: "Reverse rewrite host in response headers"
    cause: ({ host }) => ({
      proxy: {
        response: ({ location, ...headers }) => ({
          ...headers,
          ...(location && { location: location.replace(/^https?:\/\/[^/]+/, `https://${host}`) }),
        }),
      },
    }),
    told: { 'public.reach': 'fail: the proxy changes Location, so redirects to Okta lead elsewhere' },
    fix: 'proxy_redirect off',
  },
  'location-to-http': {
    cause: {
      proxy: {
        response: ({ location, ...headers }) => ({
          ...headers,
          ...(location && { location: location.replace(/^https:/, 'http:') }),
        }),
      },
      application: {
        response: ({ location, ...headers }) => ({
          ...headers,
          ...(location && { location: location.replace(/^https:/, 'http:') }),
        }),
      },
    },
    told: {
      'public.reach': 'fail: the proxy changes Location, so redirects to Okta lead elsewhere',
      'public.applications': /does not lead to \/signin \(HTTP 303\)$/,
    },
    fix: 'proxy_redirect off',
  },
  'location-decoded': {
    cause: {
      proxy: {
        response: ({ location, ...headers }) => ({
          ...headers,
          ...(location && { location: decodeURIComponent(location) }),
        }),
      },
    },
    told: { 'public.reach': 'fail: the proxy changes Location, so redirects to Okta lead elsewhere' },
    fix: 'proxy_redirect off',
  },
  'location-removed': {
    cause: { proxy: { response: without('location') } },
    told: { 'public.reach': 'fail: the proxy removes Location, so redirects to Okta lead nowhere' },
    fix: 'proxy_redirect off',
  },
  'long-responses-headers-refused': {
    // nginx with a proxy_buffer_size of 4 kB: "upstream sent too big header"
    cause: {
      proxy: {
        replace: ({ rawHeaders }, res) =>
          rawHeaders.join('').length > LONG_COOKIE && Boolean(res.writeHead(502).end()),
      },
    },
    told: { 'public.reach': 'fail: the proxy does not pass a response with headers of 6 kB (HTTP 502)' },
    fix: 'proxy_buffer_size',
  },
  'retry-after-removed': {
    cause: { proxy: { response: without('retry-after') } },
    told: { 'public.headers': 'fail: Retry-After does not come back' },
    fix: 'must pass these headers unchanged',
  },
}
