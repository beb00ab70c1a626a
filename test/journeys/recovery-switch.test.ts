import { describe, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { AMELIA, PASSWORD, useHarness } from '../support/harness.ts'
import { onlyLimits } from '../support/limits.ts'

const UNKNOWN = 'nobody.at.all@example.test'
const REFUSED = [403, 'E0000006', 'recovery: cannot be started from this browser at present']
const PATHS = ['/api/v1/authn/recovery/password', '/api/v1/authn/recovery/unlock']

describe.each(['on', 'known-devices', 'off'] as const)('RECOVERY=%s', (recovery) => {
  const harness = useHarness({ env: { RECOVERY: recovery }, tunables: onlyLimits({}) })

  type Browser = ReturnType<typeof openBrowser>
  /** The answer to each kind of start for this user. */
  async function startAll(browser: Browser, username: string) {
    const answers = []
    for (const path of PATHS)
      for (const factorType of ['EMAIL', 'SMS']) {
        const { status, json } = await browser.post(path, { username, factorType })
        answers.push([status, json.errorCode ?? json.status, causeOf(json)])
        await harness.redis.client().flushall() // the cooldown of codes
      }
    return answers
  }
  const causeOf = (json: Record<string, unknown>) =>
    ([json.errorCauses].flat() as { errorSummary?: string }[])[0]?.errorSummary
  const started = (answers: unknown[][]) => answers.map(([, result]) => result)
  const ALL_STARTED = Array(4).fill('RECOVERY_CHALLENGE')

  test('another device gets one answer, whoever is named', async () => {
    for (const username of [AMELIA, UNKNOWN]) {
      const answers = await startAll(openBrowser(harness.gatehouse.url), username)
      if (recovery === 'on') expect(started(answers)).toEqual(ALL_STARTED)
      else expect(answers).toEqual(Array(4).fill(REFUSED))
    }
    if (recovery !== 'on') expect(harness.upstreamCalls()).toEqual([])
  })

  test('a device on which the user has signed in may start one for this user only', async () => {
    const known = await harness.visit()
    const signedIn = await known.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
    expect(signedIn.json.status).toBe('SUCCESS')
    const start = (username: string) => known.post(PATHS[0] ?? '', { username, factorType: 'EMAIL' })
    const [own, other] = [await start(AMELIA), await start(UNKNOWN)]
    expect(own.status).toBe(recovery === 'off' ? 403 : 200)
    expect(other.status).toBe(recovery === 'on' ? 200 : 403)
  })

  test('the token of a link is redeemed in any case', async () => {
    const recoveryToken = harness.sandbox.recoveryToken(AMELIA)
    const answer = await openBrowser(harness.gatehouse.url).post('/api/v1/authn/recovery/token', {
      recoveryToken,
    })
    expect(['RECOVERY', 'PASSWORD_RESET']).toContain(answer.json.status)
  })
})
