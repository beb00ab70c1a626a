import { afterEach, expect, test } from '@jest/globals'
import { useFixture } from '../support/fixture.ts'
import { AMELIA } from '../support/harness.ts'
import { startSandboxUpstream } from '../support/sandbox-upstream.ts'
import { diagnose, group } from './diagnose.ts'

const upstream = useFixture({ start: () => startSandboxUpstream(), stop: ({ close }) => close() })
afterEach(() => upstream.sandbox.faults.pam.clear())

const pamChecks = async (env: Record<string, string> = {}, options = {}) =>
  group('pam', await diagnose({ ...upstream.pamEnv, ...env }, options))

const OK = {
  reach: 'ok: PAM answers',
  key: 'ok: PAM accepts the key',
  team: 'ok: the key belongs to PAM_TEAM',
}

test('all checks pass', async () => {
  expect(await pamChecks({}, { login: AMELIA })).toEqual({
    ...OK,
    user: 'ok: PAM lists the groups of the user',
    key_expiry: 'skipped: PAM_KEY_EXPIRES_AT is not set',
  })
  expect((await pamChecks()).user).toBe('skipped: needs --login')
})

test('without PAM there are no checks', async () => {
  const results = Object.values(group('pam', await diagnose({})))
  expect(results).toEqual(Array(5).fill('skipped: PAM_BASE_URL is not set'))
})

test('a wrong key', async () => {
  expect(await pamChecks({ PAM_KEY_SECRET: 'a-wrong-secret' }, { login: AMELIA })).toMatchObject({
    reach: OK.reach,
    key: 'fail: PAM refuses the key',
    team: 'skipped: not possible without pam.key',
    user: 'skipped: not possible without pam.key, pam.team',
  })
})

test.each([
  ['an unknown team', { PAM_TEAM: 'unknown-team' }],
  ['a wrong PAM_TOKEN_PATH', { PAM_TOKEN_PATH: '/v1/teams/{team_name}/no_such_token' }],
])('%s', async (_, env: Record<string, string>) => {
  expect(await pamChecks(env)).toMatchObject({
    key: 'skipped: not possible without pam.team',
    team: 'fail: PAM does not know the team, or has no operation at PAM_TOKEN_PATH',
  })
})

test.each([
  [
    'another team',
    { bearer_token: 'plainly-fake-token', team_name: 'other', expires_at: '2099-01-01T00:00:00Z' },
    200,
    { key: OK.key, team: 'fail: the key belongs to another team' },
  ],
  [
    'a disabled team',
    { error: 'disabled_team' },
    403,
    { key: 'skipped: not possible without pam.team', team: 'fail: the team is disabled' },
  ],
  [
    'an offline API',
    { error: 'service_offline' },
    503,
    {
      key: 'warn: PAM issues no token: service_offline (HTTP 503)',
      team: 'skipped: not possible without pam.key',
    },
  ],
])('%s', async (_, body, status, expected) => {
  upstream.sandbox.faults.pam.set({ kind: 'status', status, body })
  expect(await pamChecks()).toMatchObject({ reach: OK.reach, ...expected })
})

test('a user that PAM does not know, or whose groups it does not list', async () => {
  const unknown = await pamChecks({}, { login: 'unknown.user@example.test' })
  expect(unknown.user).toBe('fail: PAM does not know the user')
  const mapped = await pamChecks(
    { PAM_USER_NAME: 'login-local-part', PAM_USER_DOMAINS: 'elsewhere.test' },
    { login: AMELIA },
  )
  expect(mapped.user).toBe('fail: the login maps to no PAM user name')
  const path = `/v1/teams/${upstream.pamEnv.PAM_TEAM}/users`
  const forbid = { kind: 'status', status: 403, body: { error: 'forbidden_error' }, path } as const
  upstream.sandbox.faults.pam.set(forbid)
  expect((await pamChecks({}, { login: AMELIA })).user).toBe(
    'fail: PAM does not list the groups of the user: forbidden_error',
  )
  upstream.sandbox.faults.pam.set({ kind: 'cut', path })
  expect((await pamChecks({}, { login: AMELIA })).user).toBe(
    'fail: no response (connection_lost UND_ERR_SOCKET)',
  )
})

const EXPIRIES: [time: string, finding: RegExp][] = [
  ['2030-03-01T00:00:00Z', /^ok: the key expires in 59 days/],
  ['2030-01-11T00:00:00Z', /^warn: the key expires in 10 days/],
  ['2029-12-31T00:00:00Z', /^fail: the key has expired$/],
]
const IN_2030 = { now: () => Date.parse('2030-01-01T00:00:00Z') }

test.each(EXPIRIES)('a key that expires at %s', async (time, finding) => {
  expect((await pamChecks({ PAM_KEY_EXPIRES_AT: time }, IN_2030)).key_expiry).toMatch(finding)
})
