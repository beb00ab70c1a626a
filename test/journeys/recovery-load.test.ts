import { afterEach, expect, test } from '@jest/globals'
import type { Browser, PageAnswer } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { handleOf, hrefAt } from '../support/transaction-view.ts'

/** Recovery steps that are delayed on purpose must not use up the capacity for sign-ins. */

const UNKNOWN = 'nobody.at.all@example.test'
const USERS = [AMELIA, UNKNOWN]
const HOUR_MS = 3_600_000

let harness: Harness
afterEach(() => harness.stop())

const start = (browser: Browser, username: string, factorType = 'SMS') =>
  browser.post('/api/v1/authn/recovery/password', { username, factorType })

/** A response without its random values. */
const anonymous = ({ status, text, headers, json }: PageAnswer) => ({
  status,
  names: [...headers.keys()].filter((name) => name !== 'set-cookie').toSorted(),
  retryAfter: headers.get('retry-after'),
  body: text.replaceAll(String(json.errorId), '<error id>'),
})

test('a refusal by the broker’s own record is not delayed, and is equal for known and unknown users', async () => {
  let answerMs = 20
  const nowMs = Date.now()
  harness = await startHarness({
    now: () => nowMs,
    tunables: (tunables) => ({
      ...tunables,
      recovery: { ...tunables.recovery, recoveryAnswerMs: answerMs, maxWrongCodes: 1 },
    }),
  })
  answerMs = HOUR_MS
  const slow = await harness.replica()
  const refusals: object[][] = []
  for (const username of USERS) {
    const browser = await harness.visit()
    const started = await start(browser, username)
    const stateToken = handleOf(started)
    const code = { stateToken, passCode: '000000' }
    expect((await browser.post(hrefAt(started, '_links.next'), code)).json.errorCode).toBe('E0000068')
    harness.clearUpstreamCalls()
    const onSlow = (path: string, body: object) =>
      browser.post(slow.url + new URL(path, slow.url).pathname, body)
    const answers = [
      await onSlow('/api/v1/authn/previous', { stateToken }),
      await onSlow('/api/v1/authn/skip', { stateToken }),
      await onSlow('/api/v1/authn', { stateToken, username: AMELIA, password: PASSWORD }),
      await onSlow(hrefAt(started, '_links.next'), code),
      await onSlow(hrefAt(started, '_links.resend'), { stateToken }),
      await onSlow('/api/v1/authn/recovery/password', { username, factorType: 'SMS' }),
    ]
    expect(answers.map(({ status, json }) => [status, json.errorCode])).toEqual([
      [403, 'E0000079'],
      [403, 'E0000079'],
      [403, 'E0000079'],
      [403, 'E0000069'],
      [429, 'E0000109'],
      [429, 'E0000109'],
    ])
    expect(harness.upstreamCalls()).toEqual([])
    refusals.push(answers.map(anonymous))
  }
  expect(refusals[0]).toEqual(refusals[1])
})
