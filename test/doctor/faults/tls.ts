import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { dirname, join } from 'node:path'
import type { TlsOptions } from 'node:tls'
import { type Certificates, makeCertificates } from '../../support/redis-certificates.ts'
import { listenAnywhere, startStubUpstream } from '../../support/stub-upstream.ts'
import type { Faults } from './fault.ts'
import type { PortalCause } from './portal.ts'
import type { ServicesCause } from './services.ts'

interface Issued {
  readonly host?: string
  readonly days?: number
}

/** A certificate of the authority that the doctor trusts. */
function issue({ caFile }: Certificates, { host = 'localhost', days = 90 }: Issued): TlsOptions {
  const directory = dirname(caFile)
  const file = (name: string) => join(directory, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl(
    'req',
    '-new',
    ...key,
    '-subj',
    `/CN=${host}`,
    '-keyout',
    file('fault.key'),
    '-out',
    file('fault.csr'),
  )
  writeFileSync(file('fault.ext'), `subjectAltName=DNS:${host}\n`)
  const by = ['-CA', caFile, '-CAkey', file('ca.key'), '-CAcreateserial', '-extfile', file('fault.ext')]
  openssl('x509', '-req', '-in', file('fault.csr'), ...by, '-days', String(days), '-out', file('fault.pem'))
  return { cert: readFileSync(file('fault.pem')), key: readFileSync(file('fault.key')) }
}

/** Of an authority that the doctor does not know; the server sends no other certificate. */
function foreign(): TlsOptions {
  const certificates = makeCertificates()
  const files = { cert: readFileSync(certificates.certFile), key: readFileSync(certificates.keyFile) }
  certificates.remove()
  return files
}

type Server = 'PUBLIC_URL' | 'AUTHN_BASE_URL' | 'PAM_BASE_URL'

/** What the portal and the services have in common. */
interface Around {
  readonly certificates: Certificates
  cleanUp(run: () => unknown): void
}

const SIGN_IN = { errorCode: 'E0000001', errorSummary: 'Api validation failed' }
const ORGANIZATION = { id: '00o1', pipeline: 'v1' }
const PAM_TOKEN = {
  bearer_token: 'plainly-fake-token',
  team_name: 'ops',
  expires_at: '2099-01-01T00:00:00Z',
}

/** A server with these options at the address of the broker, the org or PAM. */
async function at({ certificates, cleanUp }: Around, variable: Server, options: TlsOptions) {
  const server = createServer(options, (req, res) => {
    const { method, url = '' } = req
    const isSignIn = method === 'POST' && url.startsWith('/api/v1/authn')
    res.writeHead(isSignIn ? 400 : 200, { 'content-type': 'application/json' })
    res.end(
      JSON.stringify(
        isSignIn
          ? SIGN_IN
          : url.endsWith('/service_token')
            ? PAM_TOKEN
            : url.startsWith('/.well')
              ? ORGANIZATION
              : [],
      ),
    )
  })
  const port = await listenAnywhere(server)
  cleanUp(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    env: {
      UPSTREAM_CA_FILE: certificates.caFile,
      [variable]: `https://localhost:${port}`,
      ...(variable === 'PUBLIC_URL' ? { ALLOWED_ORIGINS: '', RETURN_TO: '' } : {}),
      ...(variable === 'PAM_BASE_URL' ? { PAM_TEAM: 'ops' } : {}),
    },
  }
}

const servers = (options: (around: Around) => TlsOptions) => ({
  PUBLIC_URL: (around: Around) => at(around, 'PUBLIC_URL', options(around)),
  AUTHN_BASE_URL: (around: Around) => at(around, 'AUTHN_BASE_URL', options(around)),
  PAM_BASE_URL: (around: Around) => at(around, 'PAM_BASE_URL', options(around)),
})

const EXPIRED = servers(({ certificates }) => issue(certificates, { days: -1 }))
const OTHER_HOST = servers(({ certificates }) => issue(certificates, { host: 'other.example.com' }))
const FOREIGN = servers(foreign)
const EXPIRES_SOON = servers(({ certificates }) => issue(certificates, { days: 90 }))

const HOUR_MS = 3_600_000
/** The clock of this machine is ahead in these tests, which is told, too. */
const CLOCK = { 'authn.clock': /^fail: the clocks differ by/, 'redis.clock': /^fail: the clocks differ by/ }
const in80Days =
  (cause: (around: Around) => ReturnType<typeof at>): ServicesCause =>
  async (services) => ({
    ...(await cause(services)),
    options: { now: () => Date.now() + 80 * 24 * HOUR_MS },
  })

/** Certificates that are not accepted, or expire, and ports that do not speak TLS. */
export const PUBLIC_TLS: Faults<PortalCause> = {
  'public-expired': {
    cause: EXPIRED.PUBLIC_URL,
    told: { 'public.reach': 'fail: the certificate of PUBLIC_URL has expired (CERT_HAS_EXPIRED)' },
    fix: 'Renew it',
  },
  'public-for-another-host': {
    cause: OTHER_HOST.PUBLIC_URL,
    told: {
      'public.reach':
        'fail: the certificate of PUBLIC_URL is for another host (ERR_TLS_CERT_ALTNAME_INVALID)',
    },
    fix: 'must name this host',
  },
  'public-authority-unknown': {
    cause: FOREIGN.PUBLIC_URL,
    told: {
      'public.reach': 'fail: the certificate of PUBLIC_URL is not accepted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    },
    fix: 'intermediate certificates',
  },
  'public-expires-soon': {
    // of two days. Probes from the future are not answered
    cause: { options: { now: () => Date.now() + 40 * HOUR_MS } },
    told: {
      'public.reach': 'warn: the certificate expires in 0 days',
      'public.headers': 'warn: the broker does not say which address it takes for the client’s',
      ...CLOCK,
    },
    fix: 'Renew it',
  },
}

export const UPSTREAM_TLS: Faults<ServicesCause> = {
  'org-expired': {
    cause: EXPIRED.AUTHN_BASE_URL,
    told: { 'authn.tls': 'fail: the certificate of the org has expired (CERT_HAS_EXPIRED)' },
    fix: 'clock',
  },
  'org-for-another-host': {
    cause: OTHER_HOST.AUTHN_BASE_URL,
    told: {
      'authn.tls': 'fail: the certificate of the org is for another host (ERR_TLS_CERT_ALTNAME_INVALID)',
    },
    fix: 'AUTHN_BASE_URL',
  },
  'org-replaced-by-a-proxy': {
    // a proxy that decrypts, with an authority of the company
    cause: FOREIGN.AUTHN_BASE_URL,
    told: {
      'authn.tls': 'fail: the certificate of the org is not accepted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    },
    fix: 'UPSTREAM_CA_FILE',
  },
  'org-without-tls': {
    cause: async ({ cleanUp }) => {
      const plain = await startStubUpstream((_req, res) => res.end())
      cleanUp(plain.close)
      return { env: { AUTHN_BASE_URL: `https://localhost:${plain.port}` } }
    },
    told: { 'authn.tls': /^fail: the port of the org does not speak TLS \(ERR_SSL_\w+\)$/ },
    fix: 'AUTHN_BASE_URL',
  },
  'org-expires-soon': {
    cause: in80Days(EXPIRES_SOON.AUTHN_BASE_URL),
    told: { 'authn.tls': 'warn: the certificate expires in 9 days', ...CLOCK },
    fix: 'Renew it',
  },
  'pam-expired': {
    cause: EXPIRED.PAM_BASE_URL,
    told: { 'pam.reach': 'fail: the certificate of PAM has expired (CERT_HAS_EXPIRED)' },
    fix: 'clock',
  },
  'pam-for-another-host': {
    cause: OTHER_HOST.PAM_BASE_URL,
    told: { 'pam.reach': 'fail: the certificate of PAM is for another host (ERR_TLS_CERT_ALTNAME_INVALID)' },
    fix: 'PAM_BASE_URL',
  },
  'pam-authority-unknown': {
    cause: FOREIGN.PAM_BASE_URL,
    told: { 'pam.reach': 'fail: the certificate of PAM is not accepted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)' },
    fix: 'UPSTREAM_CA_FILE',
  },
  'pam-expires-soon': {
    cause: in80Days(EXPIRES_SOON.PAM_BASE_URL),
    told: { 'pam.reach': 'warn: the certificate expires in 9 days', ...CLOCK },
    fix: 'Renew it',
  },
}
