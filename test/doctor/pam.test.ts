import { expect, test } from '@jest/globals'
import { useFixture } from '../support/fixture.ts'
import { AMELIA } from '../support/harness.ts'
import { startSandboxUpstream } from '../support/sandbox-upstream.ts'
import { diagnose, group } from './diagnose.ts'

const upstream = useFixture({ start: () => startSandboxUpstream(), stop: ({ close }) => close() })

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

test('a key that expires in some weeks', async () => {
  const in2030 = { now: () => Date.parse('2030-01-01T00:00:00Z') }
  expect((await pamChecks({ PAM_KEY_EXPIRES_AT: '2030-03-01T00:00:00Z' }, in2030)).key_expiry).toMatch(
    /^ok: the key expires in 59 days/,
  )
})
