import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Certificates } from './redis-certificates.ts'

/** The host of PUBLIC_URL in the files of `deploy/proxies/`. */
export const PORTAL_HOST = 'portal.example.com'
export const PORTAL = `https://${PORTAL_HOST}`
/** The hosts of the applications that have one of their own there. */
export const WIKI_HOST = 'wiki.example.com'
export const REPORTS_HOST = 'reports.example.com'
/** The host of radicale in docs/applications.md. */
export const CALENDAR_HOST = 'calendar.example.com'
/**
 * Where the examples send a user whose session is missing, or who is refused for a reason, before
 * the URL to return to.
 */
export const signInFor = (reason: string) => `${PORTAL}/signin?maxAuthAge=3600&reason=${reason}&returnTo=`
export const SIGN_IN = signInFor('')

/** Further names: those that rules add, those of oauth2-proxy, and any other. */
export const OTHER_IDENTITY_HEADERS = [
  'Groups',
  'Email',
  'Roles',
  'Amr',
  'Name',
  'Jwt',
  'Denied',
  'Access-Token',
  'Redirect',
  'Anything',
].map((name) => `X-Auth-Request-${name}`)

export interface Machine {
  /** The HTTPS port. */
  readonly port: number
  /** The addresses with ports of two replicas, or twice that of one. */
  readonly gatehouse: readonly [string, string]
  /** The operations listener of both replicas. */
  readonly opsPort: number
  /** Free ports, for the proxy's own use. */
  readonly localPorts: readonly [number, number, number]
  readonly applicationPort: number
  /** radicale, for the proxy whose configuration for it is in docs/applications.md. */
  readonly calendarPort?: number | undefined
  /** A web server with the portal's own pages, for a proxy that does not serve files. */
  readonly pagesPort: number
  /** The directory of all files that the proxy reads and writes, with `index.html`. */
  readonly directory: string
  readonly certificates: Certificates
}

export interface ProxyExample {
  /** The program's names in different distributions. */
  readonly programs: readonly string[]
  /** The application's first path in the example. */
  readonly applicationPath: string
  /** Whether the application is only for signed-in users. */
  readonly asksWhoIsSignedIn: boolean
  /** Writes the proxy's files and returns the arguments that run it as one foreground process. */
  prepare(machine: Machine): readonly string[]
}

export type ProxyName = 'nginx' | 'nginx in Compose' | 'Caddy' | 'HAProxy' | 'Apache'

/**
 * How to run each example of `deploy/proxies/`. Only the values that its header comment names and
 * Caddy's time limit for a health check are replaced, and settings of the machine, such as paths,
 * are added.
 */
export const PROXIES: Readonly<Record<ProxyName, ProxyExample>> = {
  nginx: {
    programs: ['nginx'],
    applicationPath: '/app/',
    asksWhoIsSignedIn: true,
    prepare({ port, gatehouse, localPorts, applicationPort, calendarPort, directory, certificates }) {
      const shared = {
        'nginx-server.conf': {
          'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
          '/etc/nginx/tls/portal.pem': certificates.certFile,
          '/etc/nginx/tls/portal.key': certificates.keyFile,
        },
        'nginx-host.conf': { '/etc/nginx/': `${directory}/` },
        'nginx-application.conf': {},
        'gatehouse.js': {},
      }
      for (const [name, replacements] of Object.entries(shared))
        written(directory, name, example(name, replacements))
      const portal = example('nginx.conf', {
        'server 127.0.0.1:8080': `server ${gatehouse[0]}`,
        'server 127.0.0.1:8081': `server ${gatehouse[1]}`,
        '18081': String(localPorts[0]),
        '18082': String(localPorts[1]),
        'from /etc/nginx/': `from ${directory}/`,
        'include /etc/nginx/': `include ${directory}/`,
        'server 127.0.0.1:3000': `server 127.0.0.1:${applicationPort}`,
        'server 127.0.0.1:3001': `server 127.0.0.1:${applicationPort}`,
        'server 127.0.0.1:3002': `server 127.0.0.1:${applicationPort}`,
        'root /srv/portal': `root ${directory}`,
      })
      const calendar = calendarPort === undefined ? '' : calendarServer(calendarPort, directory)
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      const file = written(
        directory,
        'nginx.conf',
        `daemon off; master_process off; pid ${directory}/nginx.pid; error_log stderr info;
        load_module ${nginxModule('http_js')};
        events { worker_connections 1024; }
        http {
          access_log off;
          ${temporary.map((name) => `${name}_temp_path ${directory}/${name};`).join('\n')}
          include ${written(directory, 'portal.conf', portal)};
          ${calendar}
        }`,
      )
      return ['-p', directory, '-c', file]
    },
  },

  'nginx in Compose': {
    programs: ['nginx'],
    applicationPath: '/',
    asksWhoIsSignedIn: false,
    prepare({ port, gatehouse, localPorts, directory, certificates }) {
      const tls = `ssl; ssl_certificate ${certificates.certFile}; ssl_certificate_key ${certificates.keyFile};`
      const text = example('../compose/nginx.conf', {
        'worker_processes auto;': 'daemon off; master_process off;',
        'error_log stderr crit;': 'error_log stderr info;',
        '/tmp/': `${directory}/`,
        'listen 8080;': `listen 127.0.0.1:${port} ${tls}`,
        'gatehouse-1:8080': gatehouse[0],
        'gatehouse-2:8080': gatehouse[1],
        '18081': String(localPorts[0]),
        '18082': String(localPorts[1]),
        '8099': String(localPorts[2]),
      })
      return ['-p', directory, '-c', written(directory, 'nginx.conf', text)]
    },
  },

  Caddy: {
    programs: ['caddy'],
    applicationPath: '/app/',
    asksWhoIsSignedIn: true,
    prepare({ port, gatehouse, opsPort, applicationPort, directory, certificates }) {
      const portal = example('Caddyfile', {
        '\n{\n\tservers {': `\n{\n\tadmin off\n\tauto_https off\n\tstorage file_system ${directory}/caddy\n\tservers {`,
        ...Object.fromEntries(
          [PORTAL_HOST, WIKI_HOST, REPORTS_HOST].map((host) => [
            `\n${host} {`,
            `\nhttps://${host}:${port} {\n\tbind 127.0.0.1\n\ttls ${certificates.certFile} ${certificates.keyFile}`,
          ]),
        ),
        '10.0.0.11:8080': gatehouse[0],
        '10.0.0.12:8080': gatehouse[1],
        'health_port 9090': `health_port ${opsPort}`,
        // on a busy machine, a broker in the test's process is late, and none is left (503)
        'health_timeout 1s': 'health_timeout 60s',
        '127.0.0.1:3000': `127.0.0.1:${applicationPort}`,
        '127.0.0.1:3001': `127.0.0.1:${applicationPort}`,
        '127.0.0.1:3002': `127.0.0.1:${applicationPort}`,
        '/srv/portal': directory,
      })
      return ['run', '--adapter', 'caddyfile', '--config', written(directory, 'Caddyfile', portal)]
    },
  },

  HAProxy: {
    programs: ['haproxy'],
    applicationPath: '/app/',
    asksWhoIsSignedIn: true,
    prepare({ port, gatehouse, localPorts, applicationPort, pagesPort, directory, certificates }) {
      const pem = readFileSync(certificates.certFile, 'utf8') + readFileSync(certificates.keyFile, 'utf8')
      const portal = example('haproxy.cfg', {
        'bind :443': `bind 127.0.0.1:${port}`,
        '/etc/haproxy/tls/portal.pem': written(directory, 'portal.pem', pem),
        '/etc/haproxy/gatehouse.lua': written(directory, 'gatehouse.lua', example('gatehouse.lua', {})),
        '127.0.0.1:18080': `127.0.0.1:${localPorts[0]}`,
        '127.0.0.1:8080': gatehouse[0],
        '127.0.0.1:8081': gatehouse[1],
        '127.0.0.1:3000': `127.0.0.1:${applicationPort}`,
        '127.0.0.1:3001': `127.0.0.1:${applicationPort}`,
        '127.0.0.1:3002': `127.0.0.1:${applicationPort}`,
        '127.0.0.1:8000': `127.0.0.1:${pagesPort}`,
      })
      return ['-db', '-f', written(directory, 'haproxy.cfg', portal)]
    },
  },

  Apache: {
    programs: ['apache2', 'httpd'],
    applicationPath: '/app/',
    asksWhoIsSignedIn: true,
    prepare({ port, gatehouse, applicationPort, directory, certificates }) {
      const lua = example('apache.lua', {
        '"127.0.0.1:8080"': `"${gatehouse[0]}"`,
        '"127.0.0.1:8081"': `"${gatehouse[1]}"`,
      })
      const host = example('apache-host.conf', {
        '/etc/apache2/tls/portal.pem': certificates.certFile,
        '/etc/apache2/tls/portal.key': certificates.keyFile,
        '/etc/apache2/apache.lua': written(directory, 'apache.lua', lua),
      })
      const portal = example('apache.conf', {
        '*:443': `127.0.0.1:${port}`,
        '/etc/apache2/apache-host.conf': written(directory, 'apache-host.conf', host),
        '/etc/apache2/apache-application.conf': written(
          directory,
          'apache-application.conf',
          example('apache-application.conf', {}),
        ),
        'http://127.0.0.1:8080': `http://${gatehouse[0]}`,
        'http://127.0.0.1:8081': `http://${gatehouse[1]}`,
        'http://127.0.0.1:3000': `http://127.0.0.1:${applicationPort}`,
        'http://127.0.0.1:3001': `http://127.0.0.1:${applicationPort}`,
        'http://127.0.0.1:3002': `http://127.0.0.1:${applicationPort}`,
        '/srv/portal': directory,
      })
      const file = written(
        directory,
        'apache.conf',
        `ServerRoot ${directory}
        ServerName ${PORTAL_HOST}
        Listen 127.0.0.1:${port}
        PidFile ${directory}/apache.pid
        Mutex file:${directory}
        DefaultRuntimeDir ${directory}
        ErrorLog /dev/stderr
        LogLevel warn
        ${apacheModules()}
        TypesConfig /dev/null
        ${process.getuid?.() === 0 ? 'User #65534\nGroup #65534' : ''}
        Include ${written(directory, 'portal.conf', portal)}`,
      )
      return ['-X', '-f', file]
    },
  },
}

const NGINX_MODULES = ['/usr/lib/nginx/modules', '/usr/lib64/nginx/modules', '/usr/share/nginx/modules']

/** The file of a module, in the directory of the distribution. */
export function nginxModule(name: string): string {
  const files = NGINX_MODULES.map((directory) => join(directory, `ngx_${name}_module.so`))
  const file = files.find((one) => existsSync(one))
  if (file === undefined) throw new Error(`nginx has no module ${name}: run "npm run setup"`)
  return file
}

/** The modules that the example needs and that a distribution may have built in. */
const APACHE_MODULES = [
  ...'mpm_event unixd log_config mime dir authn_core authz_core ssl socache_shmcb headers lua proxy'.split(
    ' ',
  ),
  ...'setenvif proxy_http slotmem_shm proxy_balancer lbmethod_byrequests reqtimeout buffer unique_id'.split(
    ' ',
  ),
]
const APACHE_DIRECTORIES = ['/usr/lib/apache2/modules', '/usr/lib/apache2', '/usr/lib64/httpd/modules']

function apacheModules(): string {
  const directory = APACHE_DIRECTORIES.find((one) => existsSync(join(one, 'mod_proxy_http.so')))
  return APACHE_MODULES.flatMap((name) => {
    const file = join(directory ?? '', `mod_${name}.so`)
    return existsSync(file) ? [`LoadModule ${name}_module ${file}`] : []
  }).join('\n')
}

/** nginx's server for radicale, as docs/applications.md shows it. */
function calendarServer(port: number, directory: string): string {
  const page = readFileSync(join(import.meta.dirname, '../../docs/applications.md'), 'utf8')
  const [, server = ''] = /```nginx\n(server {\n.*?)```/s.exec(page) ?? []
  const replacements = { '127.0.0.1:5232': `127.0.0.1:${port}`, '/etc/nginx/': `${directory}/` }
  return replaceTexts('docs/applications.md', server, replacements)
}

/** Reads a file of `deploy/proxies/` and replaces texts. */
function example(name: string, replacements: Readonly<Record<string, string>>): string {
  const text = readFileSync(join(import.meta.dirname, '../../deploy/proxies', name), 'utf8')
  return replaceTexts(`deploy/proxies/${name}`, text, replacements)
}

/**
 * Replaces texts, all at once: a port that one text brings in may be the text that another one
 * replaces. Throws if a text to replace is missing.
 */
function replaceTexts(name: string, text: string, replacements: Readonly<Record<string, string>>): string {
  const missing = Object.keys(replacements).find((from) => !text.includes(from))
  if (missing !== undefined) throw new Error(`${name} does not contain "${missing}"`)
  const longestFirst = Object.keys(replacements).toSorted((a, b) => b.length - a.length)
  const any = longestFirst.map((from) => from.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')
  return any === '' ? text : text.replaceAll(new RegExp(any, 'g'), (from) => replacements[from] ?? from)
}

function written(directory: string, name: string, text: string): string {
  const file = join(directory, name)
  writeFileSync(file, text)
  return file
}
