import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { deadPort, listenAnywhere } from '../../support/stub-upstream.ts'
import type { Faults } from './fault.ts'
import type { Services, ServicesCause } from './services.ts'

/** A proxy that refuses every tunnel with this status. */
async function refusing({ cleanUp }: Services, status: string): Promise<string> {
  const proxy = createServer()
  const sockets = new Set<Socket>()
  proxy.on('connect', (_req: unknown, socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}) // the doctor has closed it
    socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`)
  })
  const port = await listenAnywhere(proxy)
  cleanUp(async () => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
    await once(proxy, 'close')
  })
  return `http://127.0.0.1:${port}`
}

const ORG = 'https://org.example.com'
const PAM = 'https://pam.example.com'
const through =
  (variable: 'AUTHN_BASE_URL' | 'PAM_BASE_URL', status: string): ServicesCause =>
  async (services) => ({
    env: {
      [variable]: variable === 'PAM_BASE_URL' ? PAM : ORG,
      HTTPS_PROXY: await refusing(services, status),
    },
  })
const refused = (check: string, status: number) => ({
  [check]: `fail: the proxy of HTTPS_PROXY refuses the connection (HTTP ${status})`,
})

/** The proxy of HTTPS_PROXY, through which Okta and PAM are reached. */
export const EGRESS: Faults<ServicesCause> = {
  'org-not-allowed': {
    cause: through('AUTHN_BASE_URL', '403 Forbidden'),
    told: refused('authn.reach', 403),
    fix: 'Let the proxy allow this host',
  },
  'password-missing': {
    cause: through('AUTHN_BASE_URL', '407 Proxy Authentication Required'),
    told: refused('authn.reach', 407),
    fix: 'Correct the user and password in HTTPS_PROXY',
  },
  'does-not-reach-the-org': {
    cause: through('AUTHN_BASE_URL', '502 Bad Gateway'),
    told: refused('authn.reach', 502),
    fix: 'Let the proxy allow this host',
  },
  'pam-not-allowed': {
    cause: through('PAM_BASE_URL', '403 Forbidden'),
    told: refused('pam.reach', 403),
    fix: 'Let the proxy allow this host',
  },
  'proxy-down': {
    cause: async () => ({
      env: { AUTHN_BASE_URL: ORG, HTTPS_PROXY: `http://127.0.0.1:${await deadPort()}` },
    }),
    told: { 'authn.reach': 'fail: the proxy of HTTPS_PROXY does not answer (ECONNREFUSED)' },
    fix: 'HTTPS_PROXY',
  },
  'proxy-unknown': {
    cause: { env: { AUTHN_BASE_URL: ORG, HTTPS_PROXY: 'http://proxy.invalid:3128' } },
    told: { 'authn.reach': /^fail: the proxy of HTTPS_PROXY does not answer \((ENOTFOUND|EAI_AGAIN)\)$/ },
    fix: 'HTTPS_PROXY',
  },
  'proxy-is-a-web-server': {
    cause: through('AUTHN_BASE_URL', '404 Not Found'),
    told: refused('authn.reach', 404),
    fix: 'HTTPS_PROXY',
  },
}
