import type { IncomingMessage } from 'node:http'
import { deadPort, startStubUpstream } from '../../support/stub-upstream.ts'
import type { Faults } from './fault.ts'
import { always, type Portal, type PortalCause, type Rewrites, WRITTEN, when } from './portal.ts'

const isPlain = ({ headers }: IncomingMessage) => !('x-gatehouse-doctor' in headers)
const opsPort = ({ gatehouse }: Portal) => new URL(gatehouse.opsUrl).port

/** The doctor's PUBLIC_URL, which no other origin and application has. */
const elsewhere = (PUBLIC_URL: string) => ({ env: { PUBLIC_URL, ALLOWED_ORIGINS: '', RETURN_TO: '' } })

/** Ends each request after a second, as long as the broker has not answered. */
const cutAfterOneSecond: Rewrites = {
  intercept(_req, res) {
    setTimeout(() => res.headersSent || res.writeHead(504).end(), 1000).unref()
    return false
  },
}

/** Whether PUBLIC_URL leads to the broker, and what the proxy does to requests as such. */
export const PUBLIC_URL: Faults<PortalCause> = {
  'nothing-listens': {
    cause: async () => elsewhere(`https://localhost:${await deadPort()}`),
    told: { 'public.reach': 'fail: PUBLIC_URL does not answer (unreachable ECONNREFUSED)' },
    fix: 'Start the broker and its proxy.',
  },
  'host-unknown': {
    cause: elsewhere('https://portal.invalid'),
    told: {
      'public.reach': /^fail: PUBLIC_URL does not answer \(unreachable (ENOTFOUND|EAI_AGAIN)\)$/,
    },
    fix: 'where browsers can',
  },
  'egress-proxy-does-not-lead-to-it': {
    cause: async () => ({ env: { HTTPS_PROXY: `http://127.0.0.1:${await deadPort()}`, RETURN_TO: '' } }),
    told: { 'public.reach': 'fail: the proxy of HTTPS_PROXY does not answer (ECONNREFUSED)' },
    fix: 'add it to NO_PROXY',
  },
  'http-port': {
    cause: async ({ cleanUp }) => {
      const plain = await startStubUpstream((_req, res) => res.end('<h1>Portal</h1>'))
      cleanUp(plain.close)
      return elsewhere(`https://localhost:${plain.port}`)
    },
    told: { 'public.reach': /^fail: the port of PUBLIC_URL does not speak TLS \(ERR_SSL_\w+\)$/ },
    fix: 'plain HTTP',
  },
  'other-public-url': {
    cause: ({ env }) => elsewhere(`${env.PUBLIC_URL?.replace('localhost', '127.0.0.1')}`),
    told: { 'public.reach': 'fail: the running broker has another PUBLIC_URL' },
    fix: 'Set the same PUBLIC_URL for the broker and the doctor',
  },
  'leads-to-okta': {
    cause: ({ upstream }) => ({ proxy: { portOf: () => new URL(upstream.authnUrl).port } }),
    told: { 'public.reach': 'fail: PUBLIC_URL leads to Okta itself, not to the broker' },
    fix: 'passes /api/v1/ to the broker, not to the org',
  },
  'leads-to-ops-listener': {
    cause: (portal) => ({ proxy: { portOf: () => opsPort(portal) } }),
    told: { 'public.reach': 'fail: PUBLIC_URL leads to the ops listener' },
    fix: 'never to OPS_PORT',
  },
  'page-for-every-path': {
    cause: { proxy: { intercept: always(200, { 'content-type': 'text/html' }, '<h1>Portal</h1>') } },
    told: { 'public.reach': 'fail: not the expected response of the broker (HTTP 200)' },
    fix: 'pass /api/v1/ to the broker',
  },
  'no-route': {
    cause: { proxy: { intercept: always(404, {}, '404 page not found') } },
    told: { 'public.reach': 'fail: not the expected response of the broker (HTTP 404)' },
    fix: 'pass /api/v1/ to the broker',
  },
  // TLS ends in front of a proxy that knows no X-Forwarded-Proto (Cloudflare: "Flexible")
  'redirects-to-https-in-a-loop': {
    cause: ({ host }) => ({
      proxy: {
        intercept: (req, res) => Boolean(res.writeHead(301, { location: `https://${host}${req.url}` }).end()),
      },
    }),
    told: { 'public.reach': 'fail: PUBLIC_URL redirects to itself, in a loop (HTTP 301)' },
    fix: 'X-Forwarded-Proto',
  },
  'redirects-to-www': {
    cause: {
      proxy: {
        intercept: (req, res) =>
          Boolean(res.writeHead(301, { location: `https://www.example.com${req.url}` }).end()),
      },
    },
    told: { 'public.reach': 'fail: PUBLIC_URL redirects to www.example.com (HTTP 301)' },
    fix: 'set PUBLIC_URL to the origin that users see',
  },
  'redirects-to-http': {
    cause: ({ host }) => ({
      proxy: {
        intercept: (req, res) => Boolean(res.writeHead(302, { location: `http://${host}${req.url}` }).end()),
      },
    }),
    told: { 'public.reach': /^fail: PUBLIC_URL redirects to http:\/\/localhost:\d+ \(HTTP 302\)$/ },
    fix: 'set PUBLIC_URL to the origin that users see',
  },
  'sign-in-of-the-company-in-front': {
    cause: {
      proxy: { intercept: always(302, { location: 'https://sso.example.com/adfs/ls?wa=wsignin1.0' }) },
    },
    told: { 'public.reach': 'fail: PUBLIC_URL redirects to sso.example.com (HTTP 302)' },
    fix: 'a sign-in in front of the proxy must let the paths of Gatehouse pass',
  },
  'sign-in-page-of-the-proxy': {
    cause: { proxy: { intercept: always(302, { location: '/login?rd=%2Fapi' }) } },
    told: { 'public.reach': 'fail: PUBLIC_URL redirects to a page of its own (HTTP 302)' },
    fix: 'a sign-in in front of the proxy must let the paths of Gatehouse pass',
  },
  'password-of-the-proxy': {
    cause: { proxy: { intercept: always(401, { 'www-authenticate': 'Basic realm="staging"' }) } },
    told: { 'public.reach': 'fail: the proxy asks for a password of its own (HTTP 401, Basic)' },
    fix: 'auth_basic off',
  },
  'firewall-refuses-the-doctor': {
    cause: { proxy: { intercept: always(403, { 'content-type': 'text/html' }, 'Checking your browser') } },
    told: { 'public.reach': 'fail: the proxy, or a firewall in front of it, refuses requests (HTTP 403)' },
    fix: 'bot protection',
  },
  'no-replica': {
    cause: { proxy: { intercept: always(502) } },
    told: {
      'public.reach': 'fail: the proxy gets no answer of the broker, or of one of its replicas (HTTP 502)',
    },
    fix: 'Look at the log of the proxy',
  },
  'replica-down': {
    cause: { proxy: { intercept: when(isPlain, 502) } },
    told: {
      'public.reach': 'fail: the proxy gets no answer of the broker, or of one of its replicas (HTTP 502)',
    },
    fix: 'a replica may be down',
  },
  'replica-lost-meanwhile': {
    cause: {
      proxy: { replace: ({ statusCode }, res) => statusCode === 503 && Boolean(res.writeHead(502).end()) },
    },
    told: {
      'public.reach': 'fail: the proxy gets no answer of the broker, or of one of its replicas (HTTP 502)',
    },
    fix: 'a replica may be down',
  },
  'rate-limited': {
    cause: { proxy: { intercept: when(({ method }) => method !== 'GET', 429) } },
    told: { 'public.reach': 'fail: the proxy limits requests (HTTP 429)' },
    fix: 'allow more',
  },
  'post-refused': {
    cause: { proxy: { intercept: when(({ method }) => method === 'POST', 403) } },
    told: { 'public.reach': 'fail: the proxy does not pass POST (HTTP 403)' },
    fix: 'GET, POST, DELETE and OPTIONS',
  },
  'delete-refused': {
    cause: { proxy: { intercept: when(({ method }) => method === 'DELETE', 405) } },
    told: { 'public.reach': 'fail: the proxy does not pass DELETE (HTTP 405)' },
    fix: 'GET, POST, DELETE and OPTIONS',
  },
  'options-answered-by-the-proxy': {
    cause: { proxy: { intercept: when(({ method }) => method === 'OPTIONS', 204) } },
    told: { 'public.reach': 'fail: the proxy does not pass OPTIONS (HTTP 204)' },
    fix: 'GET, POST, DELETE and OPTIONS',
  },
  'bodies-limited': {
    cause: { proxy: { intercept: when(({ headers }) => Number(headers['content-length']) > 32_768, 413) } },
    told: { 'public.reach': 'fail: the proxy does not pass a body of 60 kB (HTTP 413)' },
    fix: 'client_max_body_size',
  },
  // as the rules of a web application firewall do with what looks like SQL or HTML
  'passwords-refused-by-a-firewall': {
    cause: {
      proxy: { refuseBody: (body) => (/union select|<script/i.test(body) ? 403 : undefined) },
    },
    told: { 'public.reach': 'warn: the proxy refuses bodies with the signs of some passwords (HTTP 403)' },
    fix: 'web application firewall',
  },
  'requests-end-after-a-second': {
    cause: { proxy: cutAfterOneSecond, options: { deadlines: slowDeadlines() } },
    told: {
      'public.reach':
        /^fail: the proxy ends a request after 1(\.\d)? s, before the broker answers \(HTTP 504\)$/,
    },
    fix: 'proxy_read_timeout',
  },
  'errors-replaced': {
    cause: {
      proxy: {
        replace: ({ statusCode = 0 }, res) =>
          statusCode >= 400 &&
          Boolean(res.writeHead(statusCode, { 'content-type': 'text/html' }).end('<h1>Oops</h1>')),
      },
    },
    told: { 'public.reach': 'fail: the proxy replaces the errors of the broker (HTTP 404)' },
    fix: 'proxy_intercept_errors off',
  },
  '401-replaced-with-a-sign-in': {
    cause: {
      proxy: {
        replace: ({ statusCode }, res) =>
          statusCode === 401 && Boolean(res.writeHead(302, { location: '/login' }).end()),
      },
    },
    told: { 'public.reach': 'fail: the proxy replaces the errors of the broker (on a 401, HTTP 302)' },
    fix: 'proxy_intercept_errors off',
  },
  '503-replaced-with-a-page': {
    cause: {
      proxy: {
        replace: ({ statusCode }, res) =>
          statusCode === 503 &&
          Boolean(res.writeHead(503, { 'content-type': 'text/html' }).end('<h1>Back soon</h1>')),
      },
    },
    told: { 'public.reach': 'fail: the proxy replaces the errors of the broker (on a 503, HTTP 503)' },
    fix: 'proxy_intercept_errors off',
  },
  // as a filter that puts a script into every page, whatever its type
  'bodies-changed': {
    cause: {
      proxy: {
        replace: ({ headers, statusCode = 200 }, res) => {
          if (!String(headers['content-type']).includes('json')) return false
          const { 'content-length': _, ...others } = headers
          res.writeHead(statusCode, others).end('{"errorCode":"E0000007"}<script src="/x.js"></script>')
          return true
        },
      },
    },
    told: { 'public.reach': 'fail: the proxy changes the bodies of responses: they are no JSON any more' },
    fix: 'inject',
  },
  'content-type-changed': {
    cause: { proxy: { response: (headers) => ({ ...headers, 'content-type': 'text/plain' }) } },
    told: { 'public.reach': 'fail: the proxy changes Content-Type: JSON arrives as text/plain' },
    fix: 'pass Content-Type unchanged',
  },
  // as a firewall that takes out what looks dangerous
  'bodies-cleaned': {
    cause: { proxy: { changeBody: (body) => body.replace(/<[^>]*>/g, '') } },
    told: { 'public.reach': 'fail: the proxy changes bodies, so some passwords arrive as others' },
    fix: 'web application firewall',
  },
  'doctor-header-removed': {
    cause: { proxy: { request: () => ({ ...WRITTEN, 'x-gatehouse-doctor': undefined }) } },
    told: { 'public.headers': 'warn: the broker does not say which address it takes for the client’s' },
    fix: 'The proxy must pass the header X-Gatehouse-Doctor',
  },
}

function slowDeadlines() {
  return { checkMs: 60_000, totalMs: 120_000, closeMs: 1000, logMs: 0, slowMs: 1500 }
}
