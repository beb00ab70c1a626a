import type { FaultRule } from 'gatehouse-sandbox/fault-rules'
import { deadPort, type StubListener, sendJson, startStubUpstream } from '../../support/stub-upstream.ts'
import type { Faults } from './fault.ts'
import type { Services, ServicesCause } from './services.ts'

const error = (errorCode: string) => ({ errorCode, errorSummary: 'As told', errorId: 'oaePlainlyFake' })
const ORGANIZATION = '/.well-known/okta-organization'
const USERS = '/api/v1/users'
const LOGS = '/api/v1/logs'

/** The org answers these requests with a fault. */
const fault =
  (rule: FaultRule): ServicesCause =>
  ({ upstream }) => {
    upstream.sandbox.faults.authn.set(rule)
    return undefined
  }

/** An org that answers all requests in one way. */
const answering =
  (listener: StubListener): ServicesCause =>
  async ({ cleanUp }) => {
    const stub = await startStubUpstream(listener)
    cleanUp(stub.close)
    return { env: { AUTHN_BASE_URL: stub.origin } }
  }
const page =
  (status: number, headers = {}): StubListener =>
  (_req, res) =>
    res.writeHead(status, { 'content-type': 'text/html', ...headers }).end('<h1>Welcome</h1>')

const settings =
  (change: Partial<Services['upstream']['sandbox']['settings']>): ServicesCause =>
  ({ upstream }) => {
    Object.assign(upstream.sandbox.settings, change)
    return undefined
  }

const reach = (finding: string | RegExp) => ({ 'authn.reach': finding })
const token = (finding: string) => ({ 'authn.token': finding })
const users = (reason: string) => ({
  'authn.users': `fail: the API token could not read users (${reason}), so no session ends by a re-check`,
})
const DESCRIPTION: StubListener = (_req, res) => sendJson(res, 200, { id: '00o1', pipeline: 'v1' })
const CHAIN = 'IP chain: 192.0.2.1, 127.0.0.1'

/** The Okta org, its API token, its zones and its log. */
export const OKTA_ORG: Faults<ServicesCause> = {
  'nothing-listens': {
    cause: async () => ({ env: { AUTHN_BASE_URL: `http://127.0.0.1:${await deadPort()}` } }),
    told: reach('fail: the org does not answer (unreachable ECONNREFUSED)'),
    fix: 'Correct AUTHN_BASE_URL',
  },
  'host-unknown': {
    cause: { env: { AUTHN_BASE_URL: 'https://org.invalid' } },
    told: { 'authn.reach': /^fail: the org does not answer \(unreachable (ENOTFOUND|EAI_AGAIN)\)$/ },
    fix: 'DNS',
  },
  'another-web-server': {
    cause: answering(page(200)),
    told: reach('fail: another web server answers, not Okta’s API (HTTP 200)'),
    fix: 'Set AUTHN_BASE_URL to the address of the org',
  },
  'address-that-redirects': {
    cause: answering(page(302, { location: 'https://www.example.com/' })),
    told: reach('fail: another web server answers, not Okta’s API (HTTP 302)'),
    fix: 'Set AUTHN_BASE_URL to the address of the org',
  },
  'org-that-does-not-exist': {
    cause: answering(page(404)),
    told: reach('fail: another web server answers, not Okta’s API (HTTP 404)'),
    fix: 'Set AUTHN_BASE_URL to the address of the org',
  },
  'org-fails': {
    cause: fault({ kind: 'status', status: 503, body: error('E0000009'), path: ORGANIZATION }),
    told: reach('fail: the org fails (HTTP 503)'),
    fix: 'Okta’s status page',
  },
  'org-is-slow': {
    cause: fault({ kind: 'delay', ms: 2100, path: ORGANIZATION }),
    told: { 'authn.reach': /^warn: the org takes \d+\.\d s to answer$/ },
    fix: 'network path',
  },
  'org-hangs': {
    cause: ({ upstream }) => {
      upstream.sandbox.faults.authn.set({ kind: 'delay', ms: 3000, path: ORGANIZATION })
      return {
        options: { deadlines: { checkMs: 1000, totalMs: 30_000, closeMs: 1000, logMs: 0, slowMs: 0 } },
      }
    },
    told: { 'authn.reach': /^fail: the org does not answer \(timeout / },
    fix: 'firewall',
  },
  'answers-are-cut': {
    cause: fault({ kind: 'cut', path: ORGANIZATION }),
    told: reach('fail: the org does not answer (connection_lost UND_ERR_SOCKET)'),
    fix: 'firewall',
  },
  'address-in-a-blocked-zone': {
    cause: settings({ blockedZones: [{ name: 'Blocked', gateways: ['127.0.0.1'], proxies: [] }] }),
    told: reach('fail: the org refuses this machine’s address, or another web server answers (HTTP 403)'),
    fix: 'blocked network zones',
  },
  'address-suspected-by-threat-insight': {
    cause: settings({ suspectedAddresses: ['127.0.0.1'] }),
    told: token('fail: Okta forbids the call, whatever the API token (HTTP 403)'),
    fix: 'whether the org refuses Gatehouse’s addresses',
  },
  'address-may-describe-the-org-only': {
    cause: answering((req, res) => (req.path === ORGANIZATION ? DESCRIPTION : page(403))(req, res)),
    told: token('fail: the org refuses this machine’s address (HTTP 403 without an error code)'),
    fix: 'blocked network zones',
  },
  'rate-limit-used-up': {
    cause: fault({ kind: 'status', status: 429, body: error('E0000047'), path: ORGANIZATION }),
    told: reach('warn: the org’s rate limit is used up (HTTP 429)'),
    fix: 'Find what uses it up',
  },
  'rate-limit-of-sign-ins-used-up': {
    cause: fault({ kind: 'status', status: 429, body: error('E0000047'), path: '/api/v1/authn' }),
    told: token('warn: the org’s rate limit is used up (HTTP 429), so the API token is not checked'),
    fix: 'Find what uses it up',
  },
  'wrong-token': {
    cause: { env: { AUTHN_API_TOKEN: 'a-wrong-token' } },
    told: token('fail: Okta refuses the API token (E0000011)'),
    fix: 'Create a token',
  },
  'token-for-other-addresses': {
    cause: fault({ kind: 'status', status: 403, body: error('E0000006'), path: '/api/v1/authn' }),
    told: token('fail: Okta forbids the call, whatever the API token (HTTP 403)'),
    fix: 'the network zone from which the token may be used',
  },
  'read-only-mode': {
    cause: fault({ kind: 'status', status: 503, body: error('E0000010'), path: '/api/v1/authn' }),
    told: token('fail: the org fails at the sign-in call (HTTP 503)'),
    fix: 'Okta’s status page',
  },
  'sign-in-call-lost': {
    cause: fault({ kind: 'cut', path: '/api/v1/authn' }),
    told: token('fail: the org does not answer the sign-in call (connection_lost UND_ERR_SOCKET)'),
    fix: 'Run the doctor again later',
  },
  'page-instead-of-the-sign-in-call': {
    cause: fault({ kind: 'html', status: 200, path: '/api/v1/authn' }),
    told: token('warn: Okta’s response does not show whether the token is valid'),
    fix: 'Run the doctor again later',
  },
  'identity-engine': {
    cause: fault({ kind: 'status', status: 200, body: { id: '00o1', pipeline: 'idx' }, path: ORGANIZATION }),
    told: { 'authn.pipeline': 'warn: Identity Engine (idx): parts of the Authentication API do not work' },
    fix: 'which engine',
  },
  'pipeline-not-named': {
    cause: fault({ kind: 'status', status: 200, body: { id: '00o1' }, path: ORGANIZATION }),
    told: { 'authn.pipeline': 'warn: the org does not name its pipeline' },
    fix: 'which engine',
  },
  'errors-in-german': {
    cause: settings({ language: 'de' }),
    told: { 'authn.language': /^warn: Okta’s error texts are not English/ },
    fix: 'Set the display language of the brand to English',
  },
  'users-may-not-be-read': {
    cause: fault({ kind: 'status', status: 403, body: error('E0000006'), path: USERS }),
    told: users('HTTP 403'),
    fix: 'a role that may view users',
  },
  'users-are-a-page': {
    cause: fault({ kind: 'html', status: 200, path: USERS }),
    told: users('HTTP 200'),
    fix: 'a role that may view users',
  },
  'users-behind-a-rate-limit': {
    cause: fault({ kind: 'status', status: 429, body: error('E0000047'), path: USERS }),
    told: {
      'authn.users':
        'warn: the org’s rate limit is used up (HTTP 429), so the right to read users is not checked',
    },
    fix: 'Find what uses it up',
  },
  'users-fail': {
    cause: fault({ kind: 'status', status: 500, body: error('E0000009'), path: USERS }),
    told: { 'authn.users': 'fail: the org fails at the call for users (HTTP 500)' },
    fix: 'Okta’s status page',
  },
  'forwarded-address-ignored': {
    cause: ({ org }) => {
      org.zones = []
      return undefined
    },
    told: {
      'authn.forwarded_for': `fail: Okta ignores X-Forwarded-For, and takes 127.0.0.1 for the client’s address (${CHAIN})`,
    },
    fix: 'trusted proxies',
  },
  'broker-is-a-gateway-of-a-zone': {
    cause: ({ org }) => {
      org.zones = [
        { name: 'Office', gateways: ['203.0.113.10'], proxies: ['127.0.0.1'] },
        { name: 'Token', gateways: ['127.0.0.1'], proxies: [] },
      ]
      return undefined
    },
    told: {
      'authn.forwarded_for': `warn: Okta uses the address in X-Forwarded-For, but counts 192.0.2.1, which nobody has, into a zone (${CHAIN}; zone: Token)`,
    },
    fix: 'remove the broker’s addresses from its gateways',
  },
  'device-token-ignored': {
    cause: fault({
      kind: 'status',
      status: 200,
      body: [
        {
          client: { ipAddress: '192.0.2.1', zone: 'null' },
          debugContext: { debugData: { dtHash: 'fake-1' } },
        },
      ],
      path: LOGS,
      times: 1,
    }),
    told: {
      'authn.device_token':
        'fail: Okta ignores the device token: two sign-ins with the same one are from different devices',
    },
    fix: 'the role of the account of the API token',
  },
  'log-may-not-be-read': {
    cause: fault({ kind: 'status', status: 403, body: {}, path: LOGS }),
    told: {
      'authn.forwarded_for': 'skipped: the API token may not read the System Log (HTTP 403)',
      'authn.device_token': 'skipped: the API token may not read the System Log (HTTP 403)',
    },
    fix: 'Sign in through the portal from another network',
  },
  'wrong-password-of-the-test-user': {
    cause: { options: { password: 'a-wrong-password' } },
    told: {
      'authn.forwarded_for': 'skipped: Okta refuses the test sign-in (HTTP 401 E0000004)',
      'authn.device_token': 'skipped: Okta refuses the test sign-in (HTTP 401 E0000004)',
    },
    fix: 'Correct the login and the password',
  },
}
