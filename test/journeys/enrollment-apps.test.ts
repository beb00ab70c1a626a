import { describe, expect, test } from '@jest/globals'
import { useHarness } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { errorOf, factorAt, valueAt } from '../support/transaction-view.ts'

/**
 * Enrollment of phone apps: QR images, links by email and text message, and polling until the app
 * is set up.
 */
const ERIN = 'erin.enroll@example.test'
const ACTIVATION = '_embedded.factor._embedded.activation'
const POLLS_UNTIL_TIMEOUT = 3

const harness = useHarness({
  sandboxConfig: (config) => ({
    ...config,
    limits: { ...config.limits, pushPolls: POLLS_UNTIL_TIMEOUT },
  }),
})

/** A page with a pending enrollment of this app. */
async function startEnrollment(factorType: string, provider: string): Promise<PortalPage> {
  const page = await openPage(harness)
  await page.signIn(ERIN)
  const begun = await page.follow(`${factorAt(page.held, factorType, provider)}._links.enroll`, {
    factorType,
    provider,
  })
  expect(begun.json.status).toBe('MFA_ENROLL_ACTIVATE')
  return page
}

async function expectSession(page: PortalPage) {
  expect(page.held.json.status).toBe('SUCCESS')
  expect(await page.session()).toMatchObject({ login: ERIN, amr: ['pwd'] })
}

describe('an authenticator app', () => {
  // shows: F-2.6
  // sandbox shows: F-2.6
  test.each(['GOOGLE', 'OKTA'])(
    'of %s: a wrong code is refused, the right one completes the sign-in',
    async (provider) => {
      const page = await startEnrollment('token:software:totp', provider)
      expect(valueAt(page.held.json, `${ACTIVATION}.sharedSecret`)).toMatch(/^[A-Z2-7]{16,}$/)
      expect(errorOf(await page.follow('_links.next', { passCode: '000000' }))).toEqual([403, 'E0000068'])
      expect(await page.session()).toBeUndefined()
      await page.follow('_links.next', { passCode: harness.sandbox.totpCode(ERIN) })
      await expectSession(page)
    },
  )
})

describe('the push app', () => {
  // shows: F-2.7
  // sandbox shows: F-2.7
  test('is polled until it is set up, which completes the sign-in; the next sign-in shows no profile of it', async () => {
    const page = await startEnrollment('push', 'OKTA')
    expect(page.held.json.factorResult).toBe('WAITING')
    const waiting = await page.follow('_links.next')
    expect(waiting.json).toMatchObject({ status: 'MFA_ENROLL_ACTIVATE', factorResult: 'WAITING' })
    expect(await page.session()).toBeUndefined()
    harness.sandbox.answerPush(ERIN, 'approve')
    await page.follow('_links.next')
    await expectSession(page)

    const next = await openPage(harness)
    await next.signIn(ERIN)
    expect(valueAt(next.held.json, `${factorAt(next.held, 'push')}.profile`)).toEqual({})
    await next.verify('push')
    harness.sandbox.answerPush(ERIN, 'approve')
    await next.follow('_links.next')
    expect(await next.session()).toMatchObject({ login: ERIN, amr: ['pwd', 'swk', 'mfa'] })
  })

  // shows: F-2.7
  // sandbox shows: F-2.7
  test('whose enrollment timed out is started again with the activate link', async () => {
    const page = await startEnrollment('push', 'OKTA')
    for (let poll = 0; poll < POLLS_UNTIL_TIMEOUT; poll += 1) await page.follow('_links.next')
    expect(valueAt(page.held.json, `${ACTIVATION}.factorResult`)).toBe('TIMEOUT')
    const restarted = await page.follow(`${ACTIVATION}._links.activate`)
    expect(restarted.json).toMatchObject({ status: 'MFA_ENROLL_ACTIVATE', factorResult: 'WAITING' })
    harness.sandbox.answerPush(ERIN, 'approve')
    await page.follow('_links.next')
    await expectSession(page)
  })

  // shows: F-1.7, F-1.9, F-2.8
  // sandbox shows: F-1.7, F-1.9
  test.each([
    ['email', 0, {}, ERIN],
    ['text message', 1, { profile: { phoneNumber: '+15550107777' } }, '+15550107777'],
  ])('is set up with a link sent by %s', async (_, at, fields, to) => {
    const page = await startEnrollment('push', 'OKTA')
    const sent = await page.follow(`${ACTIVATION}._links.send.${at}`, fields)
    expect(sent.json).toMatchObject({ status: 'MFA_ENROLL_ACTIVATE', factorResult: 'WAITING' })
    const message = harness.sandbox.outbox.latest(ERIN, 'push-activation')
    expect(message?.to).toBe(to)
    expect(sent.text).not.toContain(message?.token)
    expect((await fetch(message?.link ?? '')).status).toBe(200)
    await page.follow('_links.next')
    await expectSession(page)
  })
})
