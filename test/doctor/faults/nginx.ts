import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DoctorOptions } from '../../../src/doctor/doctor.ts'
import { canListen, freePort } from '../../support/gatehouse.ts'
import { makeDirectory, removeDirectory, startProcess } from '../../support/redis-process.ts'
import { until } from '../../support/until.ts'
import { PATIENT } from '../diagnose.ts'
import type { Faults } from './fault.ts'
import type { PortalCause } from './portal.ts'

interface Settings {
  readonly version: string
  /** Of the connection to the broker. */
  readonly connection: string
  readonly requestHeaders: string
  readonly responseHeaders: string
  readonly body: string
  readonly http: string
  readonly location: string
}

/** As in `deploy/proxies`. */
const RIGHT: Settings = {
  version: '1.1',
  connection: 'proxy_set_header Connection "";',
  requestHeaders: '4 16k',
  responseHeaders: '32k',
  body: '1m',
  http: '',
  location: '',
}

/** A real nginx between the portal's proxy and the broker, with these settings. */
const nginx =
  (changed: Partial<Settings>, options: DoctorOptions = {}): PortalCause =>
  async ({ gatehouse, cleanUp }) => {
    const { version, connection, requestHeaders, responseHeaders, body, http, location } = {
      ...RIGHT,
      ...changed,
    }
    const directory = makeDirectory()
    const port = await freePort()
    const file = join(directory, 'nginx.conf')
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    writeFileSync(
      file,
      `daemon off; master_process off; pid ${directory}/nginx.pid; error_log stderr crit;
      events { worker_connections 256; }
      http {
        access_log off;
        ${temporary.map((name) => `${name}_temp_path ${directory}/${name};`).join('\n')}
        ${http.replace('{directory}', directory)}
        upstream gatehouse { server 127.0.0.1:${new URL(gatehouse.url).port}; keepalive 8; }
        server {
          listen 127.0.0.1:${port};
          client_max_body_size ${body};
          large_client_header_buffers ${requestHeaders};
          proxy_buffer_size ${responseHeaders};
          proxy_buffers 8 32k;
          location / {
            proxy_pass http://gatehouse;
            proxy_http_version ${version};
            ${connection}
            ${location}
          }
        }
      }`,
    )
    const server = startProcess(['-p', directory, '-c', file], directory, 'nginx')
    cleanUp(async () => {
      await server.end()
      removeDirectory(directory)
    })
    await until(async () => server.hasEnded() || !(await canListen(port)), { what: 'nginx' })
    if (server.hasEnded()) throw new Error(server.log())
    return { proxy: { portOf: () => port }, options }
  }

const SLOW = { deadlines: { ...PATIENT, slowMs: 1500 } }

/** What the usual settings of a real nginx do, if they are not those of `deploy/proxies`. */
export const NGINX: Faults<PortalCause> = {
  'http-1-0': {
    cause: nginx({ version: '1.0' }),
    told: { 'public.keepalive': 'warn: the proxy speaks HTTP/1.0, with a connection for each request' },
    fix: 'proxy_http_version 1.1',
  },
  'no-keepalive': {
    cause: nginx({ connection: '' }),
    told: { 'public.keepalive': 'warn: the proxy opens a connection for each request (8 of 8)' },
    fix: 'Connection ""',
  },
  'request-headers-of-8-kb': {
    cause: nginx({ requestHeaders: '4 8k' }),
    told: { 'public.reach': 'warn: the proxy does not pass headers of 12 kB (HTTP 400)' },
    fix: 'large_client_header_buffers 4 16k',
  },
  'response-headers-of-4-kb': {
    cause: nginx({ responseHeaders: '4k' }),
    told: { 'public.reach': 'fail: the proxy does not pass a response with headers of 6 kB (HTTP 502)' },
    fix: 'proxy_buffer_size',
  },
  'bodies-of-16-kb': {
    cause: nginx({ body: '16k' }),
    told: { 'public.reach': 'fail: the proxy does not pass a body of 60 kB (HTTP 413)' },
    fix: 'client_max_body_size 64k',
  },
  'bodies-of-64-kb-for-events': {
    cause: nginx({ body: '64k' }),
    told: {
      'public.event_hook': 'fail: the proxy does not pass events of 900 kB to the event hook (HTTP 413)',
    },
    fix: 'client_max_body_size 1m',
  },
  'error-pages': {
    cause: nginx({ location: 'proxy_intercept_errors on; error_page 401 403 404 /error.html;' }),
    told: { 'public.reach': 'fail: the proxy replaces the errors of the broker (HTTP 404)' },
    fix: 'proxy_intercept_errors off',
  },
  'waits-for-a-second': {
    cause: nginx({ location: 'proxy_read_timeout 1s;' }, SLOW),
    told: {
      'public.reach':
        /^fail: the proxy ends a request after 1(\.\d)? s, before the broker answers \(HTTP 504\)$/,
    },
    fix: 'proxy_read_timeout',
  },
  'caches-everything': {
    cause: nginx({
      http: 'proxy_cache_path {directory}/cache keys_zone=all:1m;',
      location:
        'proxy_cache all; proxy_cache_valid any 1m; proxy_ignore_headers Cache-Control Set-Cookie Vary Expires;',
    }),
    told: { 'public.reach': 'fail: a cache answers instead of the broker' },
    fix: 'must not cache /api/v1/',
  },
  'limits-requests-with-503': {
    cause: nginx({
      http: 'limit_req_zone $server_port zone=all:1m rate=1r/s;',
      location: 'limit_req zone=all burst=3 nodelay;',
    }),
    told: {
      'public.reach': 'fail: the proxy gets no answer of the broker, or limits requests (HTTP 503)',
    },
    fix: 'limit_req_status 429',
  },
  'cookies-for-a-path': {
    cause: nginx({ location: 'proxy_cookie_path / /portal/;' }),
    told: { 'public.cookies': 'fail: the proxy changes the attributes of cookies: path=/ is missing' },
    fix: 'pass Set-Cookie unchanged',
  },
}
