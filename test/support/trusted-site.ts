import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  freePort,
  makeDirectory,
  type RedisProcess,
  removeDirectory,
  SEARCH_PATH,
  startProcess,
} from './redis-process.ts'
import { until } from './until.ts'

/** nginx with TLS on host names of a test, with an authority that a Chromium can trust. */
export interface TrustedSite {
  readonly port: number
  /** The home directory of a Chromium that trusts the authority. */
  readonly home: string
  /** Sends requests to these ports in turn; to `backups` if no other one accepts them. */
  serve(ports: readonly number[], backups?: readonly number[]): Promise<void>
  stop(): Promise<void>
}

/** Chromium takes authorities from an NSS database. `npm run setup` installs `certutil`. */
export async function startTrustedSite(...hosts: readonly string[]): Promise<TrustedSite> {
  const directory = makeDirectory()
  const file = (name: string) => join(directory, name)
  const run = (program: string, ...args: readonly string[]) =>
    execFileSync(program, args, { stdio: 'pipe', env: { ...process.env, PATH: SEARCH_PATH } })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const certificate = (name: string, ...more: readonly string[]) =>
    run(
      'openssl',
      'req',
      '-x509',
      ...key,
      '-subj',
      `/CN=${name}`,
      '-keyout',
      file(`${name}.key`),
      '-out',
      file(`${name}.pem`),
      ...more,
    )
  certificate('authority')
  const names = hosts.map((host) => `DNS:${host}`).join()
  const issued = ['-CA', file('authority.pem'), '-CAkey', file('authority.key')]
  const extensions = ['-addext', `subjectAltName=${names}`, '-addext', 'basicConstraints=critical,CA:FALSE']
  certificate('site', ...issued, ...extensions)
  const database = `sql:${file('.pki/nssdb')}`
  run('mkdir', '-p', file('.pki/nssdb'))
  run('certutil', '-d', database, '-N', '--empty-password')
  run('certutil', '-d', database, '-A', '-t', 'C,,', '-n', 'test', '-i', file('authority.pem'))
  const port = await freePort()
  let nginx: RedisProcess | undefined

  return {
    port,
    home: directory,
    async serve(ports, backups = []) {
      await nginx?.end()
      writeFileSync(
        file('nginx.conf'),
        configuration(file, hosts[0] ?? '', port, [
          ...ports.map((one) => `127.0.0.1:${one}`),
          ...backups.map((one) => `127.0.0.1:${one} backup`),
        ]),
      )
      nginx = startProcess(
        ['-p', directory, '-c', file('nginx.conf'), '-e', file('error.log')],
        directory,
        'nginx',
      )
      await until(() => fetch(`http://127.0.0.1:${port}/`).then(() => true, isRefused), {
        what: 'nginx',
      })
    },
    async stop() {
      await nginx?.end()
      removeDirectory(directory)
    },
  }
}

const isRefused = (error: unknown) => !/ECONNREFUSED/.test(String(Object(Object(error).cause).code))

function configuration(
  file: (name: string) => string,
  host: string,
  port: number,
  servers: readonly string[],
): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
daemon off;
worker_processes 1;
pid ${file('nginx.pid')};
events {}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${file(name)};`).join('\n  ')}
  upstream gatehouse { ${servers.map((one) => `server ${one};`).join(' ')} }
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${file('site.pem')};
    ssl_certificate_key ${file('site.key')};
    location = / {
      default_type text/html;
      return 200 '<!doctype html><title>page</title><a href="https://${host}:${port}/">the first host</a>';
    }
    location / {
      proxy_pass http://gatehouse;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_next_upstream error non_idempotent;
    }
  }
}
`
}
