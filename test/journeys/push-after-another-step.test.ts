import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type StubHarness, startStubHarness } from '../support/harness.ts'
import { atMost, onlyLimits } from '../support/limits.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { StubError } from '../support/stub-upstream.ts'
import { errorOf } from '../support/transaction-view.ts'

/** A push is polled with the call that sent it. Once the org was asked for something else, that call may push anew. */
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
const LOOK = '/api/v1/authn'
const PREVIOUS = '/api/v1/authn/previous'

function challenged(factorResult: string) {
  return { ...STATE, status: 'MFA_CHALLENGE', factorResult, _embedded: { user: USER, factor: FACTORS[0] } }
}

/** A sign-in whose push is waited for, and was polled once. */
async function polled(): Promise<PortalPage> {
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

/** What asking for the push after the step is worth: the second push in two, so a third is refused. */
async function isPushAfter(page: PortalPage, path: string, answer: object): Promise<boolean> {
  for (let n = 0; n < 2; n++) {
    harness.stub.answers(answer, challenged('WAITING'))
    await page.send(path)
    const { status } = await page.send(PUSH)
    if (status === 429) return true
    harness.stub.forget()
  }
  return false
}

describe('the call that polls a push is a push again', () => {
  test.each([
    ['another factor was asked for and refused', SMS, new StubError(429, 'E0000109')],
    ['going back was refused', PREVIOUS, new StubError(403, 'E0000079')],
    ['the transaction state showed a rejection', LOOK, challenged('REJECTED')],
    ['the transaction state showed a timeout', LOOK, challenged('TIMEOUT')],
  ])('after %s', async (_, path, answer) => {
    expect(await isPushAfter(await polled(), path, answer)).toBe(true)
  })
})

describe('it stays a poll', () => {
  test.each([
    ['the transaction state showed that it waits', LOOK, challenged('WAITING')],
    ['the transaction state could not be read', LOOK, new StubError(500, 'E0000009')],
    ['a poll was refused', PUSH, new StubError(403, 'E0000069')],
  ])('after %s', async (_, path, answer) => {
    expect(await isPushAfter(await polled(), path, answer)).toBe(false)
  })
})

test('a refused step leaves the rest of the sign-in as it was', async () => {
  const page = await polled()
  harness.stub.answers(new StubError(403, 'E0000068'), challenged('WAITING'))
  expect(errorOf(await page.send(SMS, { passCode: '000000' }))).toEqual([403, 'E0000068'])
  expect((await page.send(LOOK)).json.factorResult).toBe('WAITING')
})
