import { expect, test } from '@jest/globals'
import { generousLimits } from '../support/generous-limits.ts'
import { AMELIA, PASSWORD, useHarness } from '../support/harness.ts'

const MAX_SESSIONS = 3
const SIGN_INS = 12

const harness = useHarness({
  tunables: (shipped) => ({
    ...generousLimits(shipped),
    session: { ...shipped.session, maxPerUser: MAX_SESSIONS },
  }),
})

test('twelve concurrent sign-ins at two replicas leave exactly the maximum; evictions are audited', async () => {
  const replica = await harness.replica()
  const browsers = await Promise.all(Array.from({ length: SIGN_INS }, () => harness.visit()))
  const answers = await Promise.all(
    browsers.map((browser, n) => {
      const origin = n % 2 === 0 ? '' : replica.url
      return browser.post(`${origin}/api/v1/authn`, { username: AMELIA, password: PASSWORD })
    }),
  )
  expect(answers.map(({ json }) => json.status)).toEqual(Array(SIGN_INS).fill('SUCCESS'))
  const sessions = await Promise.all(browsers.map((browser) => browser.get('/api/v1/sessions/me')))
  const statuses = sessions.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(MAX_SESSIONS)
  const survivor = browsers[statuses.indexOf(200)]
  expect((await survivor?.get(`${replica.url}/api/v1/sessions`))?.json.sessions).toHaveLength(MAX_SESSIONS)
  const evicted = [harness.gatehouse, replica]
    .flatMap((broker) => broker.logLines())
    .filter(({ event, reason }) => event === 'sessions_revoked' && reason === 'evicted')
  expect(evicted[0]).toMatchObject({ audit: true, count: expect.any(Number) })
})
