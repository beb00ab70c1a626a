import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type StubHarness, startStubHarness } from '../support/harness.ts'
import { atMost, onlyLimits } from '../support/limits.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { StubError } from '../support/stub-upstream.ts'
import { errorOf } from '../support/transaction-view.ts'

/**
 * A push is polled with the same call that sends it. After another step the same call may send a new push, so it
 * counts as one.
 */
let harness: StubHarness
beforeEach(async () => {
  harness = await startStubHarness({ tunables: onlyLimits({ push: { perUser: atMost(2) } }) })
})
afterEach(() => harness.stop())

const STATE = { stateToken: '00plainly-fake-state-token-00000001' }
const USER = { id: '00u-ada', profile: { login: 'ada@example.test' } }
const FACTORS = [
  { id: 'opf1', factorType: 'push' },
  { id: 'sms1', factorType: 'sms' },
]
const PUSH = '/api/v1/authn/factors/opf1/verify'
const SMS = '/api/v1/authn/factors/sms1/verify'
const STATE_PATH = '/api/v1/authn'
const PREVIOUS = '/api/v1/authn/previous'

function challenged(factorResult: string) {
  return { ...STATE, status: 'MFA_CHALLENGE', factorResult, _embedded: { user: USER, factor: FACTORS[0] } }
}

/** A sign-in that waits for a push and was polled once. */
async function startPolledPush(): Promise<PortalPage> {
  const page = await openPage(harness)
  const links = [PUSH, SMS].map((path) => ({ href: harness.stub.origin + path, hints: { allow: ['POST'] } }))
  const _embedded = { user: USER, factors: FACTORS }
  harness.stub.answers({ ...STATE, status: 'MFA_REQUIRED', _embedded, _links: { next: links } })
  await page.signIn('ada@example.test')
  for (let n = 0; n < 2; n++) {
    harness.stub.answers(challenged('WAITING'))
    expect((await page.send(PUSH)).json.factorResult).toBe('WAITING')
  }
  return page
}

/** Whether the call after the step counts as a push: then it is the second of two, and the third is 429. */
async function isPushAfter(page: PortalPage, path: string, answer: object): Promise<boolean> {
  for (let n = 0; n < 2; n++) {
    harness.stub.answers(answer, challenged('WAITING'))
    await page.send(path)
    const { status } = await page.send(PUSH)
    if (status === 429) return true
    harness.stub.reset()
  }
  return false
}

describe('a poll counts as a new push', () => {
  test.each([
    ['another factor was requested and refused', SMS, new StubError(429, 'E0000109')],
    ['previous was refused', PREVIOUS, new StubError(403, 'E0000079')],
    ['the transaction state was REJECTED', STATE_PATH, challenged('REJECTED')],
    ['the transaction state was TIMEOUT', STATE_PATH, challenged('TIMEOUT')],
  ])('after %s', async (_, path, answer) => {
    expect(await isPushAfter(await startPolledPush(), path, answer)).toBe(true)
  })
})

describe('a poll does not count as a push', () => {
  test.each([
    ['the transaction state was WAITING', STATE_PATH, challenged('WAITING')],
    ['the transaction state could not be read', STATE_PATH, new StubError(500, 'E0000009')],
    ['a poll was refused', PUSH, new StubError(403, 'E0000069')],
  ])('after %s', async (_, path, answer) => {
    expect(await isPushAfter(await startPolledPush(), path, answer)).toBe(false)
  })
})

test('a refused step does not change the transaction', async () => {
  const page = await startPolledPush()
  harness.stub.answers(new StubError(403, 'E0000068'), challenged('WAITING'))
  expect(errorOf(await page.send(SMS, { passCode: '000000' }))).toEqual([403, 'E0000068'])
  expect((await page.send(STATE_PATH)).json.factorResult).toBe('WAITING')
})
