import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeDirectory, removeDirectory } from './redis-process.ts'

export interface Certificates {
  /** The authority's certificate, PEM. */
  readonly ca: string
  readonly caFile: string
  /** For `localhost` and 127.0.0.1, signed by that authority. */
  readonly certFile: string
  readonly keyFile: string
  /** Removes the files. */
  remove(): void
}

/** Creates a certificate authority and one certificate with openssl. */
export function makeCertificates(): Certificates {
  const directory = makeDirectory()
  const file = (name: string) => join(directory, name)
  const generateKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const request = (name: string, key: string) => [
    'req',
    '-x509',
    ...generateKey,
    '-subj',
    `/CN=${name}`,
    '-keyout',
    file(`${key}.key`),
    '-out',
    file(`${key}.pem`),
  ]
  openssl(request('test authority', 'ca'))
  openssl([
    ...request('localhost', 'server'),
    '-CA',
    file('ca.pem'),
    '-CAkey',
    file('ca.key'),
    '-addext',
    'subjectAltName=DNS:localhost,IP:127.0.0.1',
    '-addext',
    'basicConstraints=critical,CA:FALSE',
  ])
  return {
    ca: readFileSync(file('ca.pem'), 'utf8'),
    caFile: file('ca.pem'),
    certFile: file('server.pem'),
    keyFile: file('server.key'),
    remove: () => removeDirectory(directory),
  }
}

function openssl(args: readonly string[]): void {
  try {
    execFileSync('openssl', args, { stdio: 'pipe' })
  } catch (cause) {
    const isMissing =
      typeof cause === 'object' && cause !== null && 'code' in cause && cause.code === 'ENOENT'
    throw new Error(isMissing ? 'openssl is not installed: run "npm run setup"' : 'openssl failed', { cause })
  }
}
