import type { FaultRule } from 'gatehouse-sandbox/fault-rules'
import { deadPort, startStubUpstream } from '../../support/stub-upstream.ts'
import type { Faults } from './fault.ts'
import type { ServicesCause } from './services.ts'

const TOKEN_PATH = '/v1/teams'
const fault =
  (rule: FaultRule): ServicesCause =>
  ({ upstream }) => {
    upstream.sandbox.faults.pam.set(rule)
    return undefined
  }
const answering = (status: number, body: object) => fault({ kind: 'status', status, body, path: TOKEN_PATH })
const ofUser =
  (rule: { status: number; body: object } | 'cut'): ServicesCause =>
  ({ upstream }) => {
    const path = `/v1/teams/${upstream.pamEnv.PAM_TEAM}/users`
    upstream.sandbox.faults.pam.set(
      rule === 'cut' ? { kind: 'cut', path } : { kind: 'status', ...rule, path },
    )
    return undefined
  }
const TEAM_UNKNOWN = {
  'pam.team': 'fail: PAM does not know the team, or has no operation at PAM_TOKEN_PATH',
}
const expiring = (time: string): ServicesCause => ({ env: { PAM_KEY_EXPIRES_AT: time } })
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()

/** The PAM API, its team, its key and its users. */
export const PAM: Faults<ServicesCause> = {
  'nothing-listens': {
    cause: async () => ({ env: { PAM_BASE_URL: `http://127.0.0.1:${await deadPort()}` } }),
    told: { 'pam.reach': 'fail: PAM does not answer (unreachable ECONNREFUSED)' },
    fix: 'Correct PAM_BASE_URL',
  },
  'another-web-server': {
    cause: async ({ cleanUp }) => {
      const web = await startStubUpstream((_req, res) => res.end('<h1>Welcome</h1>'))
      cleanUp(web.close)
      return { env: { PAM_BASE_URL: web.origin } }
    },
    told: { 'pam.reach': 'fail: the response is not one of the PAM API (HTTP 200)' },
    fix: 'Correct PAM_BASE_URL',
  },
  'fails-with-a-page': {
    cause: fault({ kind: 'html', status: 503, path: TOKEN_PATH }),
    told: { 'pam.reach': 'fail: PAM fails (HTTP 503)' },
    fix: 'Okta’s status page',
  },
  'fails-with-an-error': {
    cause: answering(500, { error: 'internal_error' }),
    told: { 'pam.reach': 'fail: PAM fails (HTTP 500)' },
    fix: 'Okta’s status page',
  },
  'answers-are-cut': {
    cause: fault({ kind: 'cut', path: TOKEN_PATH }),
    told: { 'pam.reach': 'fail: PAM does not answer (connection_lost UND_ERR_SOCKET)' },
    fix: 'firewall',
  },
  offline: {
    cause: answering(503, { error: 'service_offline' }),
    told: { 'pam.key': 'warn: PAM issues no token: service_offline (HTTP 503)' },
    fix: 'docs/logs.md#pam-errors',
  },
  'rate-limited': {
    cause: answering(429, { error: 'rate_limited' }),
    told: { 'pam.key': /^warn: PAM issues no token: \w+ \(HTTP 429\)$/ },
    fix: 'docs/logs.md#pam-errors',
  },
  'wrong-key': {
    cause: { env: { PAM_KEY_SECRET: 'a-wrong-secret' } },
    told: { 'pam.key': 'fail: PAM refuses the key' },
    fix: 'Create a key of the service user',
  },
  'wrong-team': { cause: { env: { PAM_TEAM: 'unknown-team' } }, told: TEAM_UNKNOWN, fix: 'Correct PAM_TEAM' },
  'wrong-token-path': {
    cause: { env: { PAM_TOKEN_PATH: '/v1/teams/{team_name}/no_such_token' } },
    told: TEAM_UNKNOWN,
    fix: 'PAM_TOKEN_PATH',
  },
  'wrong-path-of-the-base-url': {
    cause: ({ upstream }) => ({ env: { PAM_BASE_URL: `${upstream.pamUrl}/pam` } }),
    told: TEAM_UNKNOWN,
    fix: 'PAM_BASE_URL',
  },
  'key-of-another-team': {
    cause: answering(200, {
      bearer_token: 'plainly-fake-token',
      team_name: 'other',
      expires_at: '2099-01-01T00:00:00Z',
    }),
    told: { 'pam.team': 'fail: the key belongs to another team' },
    fix: 'the key',
  },
  'team-disabled': {
    cause: answering(403, { error: 'disabled_team' }),
    told: { 'pam.team': 'fail: the team is disabled' },
    fix: 'Correct PAM_TEAM',
  },
  'user-unknown': {
    cause: ofUser({ status: 404, body: { error: 'not_found' } }),
    told: { 'pam.user': 'fail: PAM does not know the user' },
    fix: 'create the user in PAM',
  },
  'login-maps-to-no-user': {
    cause: { env: { PAM_USER_NAME: 'login-local-part', PAM_USER_DOMAINS: 'elsewhere.test' } },
    told: { 'pam.user': 'fail: the login maps to no PAM user name' },
    fix: 'PAM_USER_DOMAINS',
  },
  'groups-may-not-be-listed': {
    cause: ofUser({ status: 403, body: { error: 'forbidden_error' } }),
    told: { 'pam.user': 'fail: PAM does not list the groups of the user: forbidden_error' },
    fix: 'Give the service user a role',
  },
  'groups-are-cut': {
    cause: ofUser('cut'),
    told: { 'pam.user': 'fail: no response (connection_lost UND_ERR_SOCKET)' },
    fix: 'run the doctor again',
  },
  'key-expires-soon': {
    cause: expiring(inDays(10.5)),
    told: { 'pam.key_expiry': 'warn: the key expires in 10 days' },
    fix: 'Create a new key',
  },
  'key-has-expired': {
    cause: expiring(inDays(-1)),
    told: { 'pam.key_expiry': 'fail: the key has expired' },
    fix: 'Create a new key',
  },
  'expiry-not-set': {
    cause: { env: { PAM_KEY_EXPIRES_AT: '' } },
    told: { 'pam.key_expiry': 'skipped: PAM_KEY_EXPIRES_AT is not set' },
    fix: 'Set it',
  },
}
