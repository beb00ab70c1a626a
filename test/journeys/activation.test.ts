import { describe, expect, test } from '@jest/globals'
import { useHarness } from '../support/harness.ts'
import { openPage } from '../support/portal-page.ts'
import { causesOf, errorOf, factorAt, hrefAt, valueAt } from '../support/transaction-view.ts'

const ANNA = 'anna.activate@example.test'
const ARNO = 'arno.activate@example.test'
const AIDA = 'aida.nopassword@example.test'
const NEW_PASSWORD = 'Chosen-By-Myself-7'

const harness = useHarness()

describe('an activation token', () => {
  // shows, V6.4.1
  // sandbox shows
  test.each([
    ['an unknown token', 'no-such-activation-token'],
    ['a token of another kind', 'session'],
    ['a used token', 'used'],
  ])('%s is refused as a failed sign-in, and opens no session', async (_, kind) => {
    const given: Record<string, () => Promise<string>> = {
      used: async () => {
        const token = harness.sandbox.activationToken(ANNA)
        await (await openPage(harness)).begin('/api/v1/authn', { token })
        return token
      },
      session: async () => harness.sandbox.recoveryToken(ANNA),
    }
    const token = (await given[kind]?.()) ?? kind
    const page = await openPage(harness)
    const refused = await page.begin('/api/v1/authn', { token })
    expect(errorOf(refused)).toEqual([401, 'E0000004'])
    expect(refused.setCookies).toEqual([])
    expect(await page.session()).toBeUndefined()
  })

  // shows, F-2.1
  // sandbox shows
  test('signs in at once if the user has a password and needs no factor', async () => {
    const page = await openPage(harness)
    const token = harness.sandbox.activationToken(ANNA)
    harness.clearUpstreamCalls()
    const answer = await page.begin('/api/v1/authn', { token })
    expect(answer.json.status).toBe('SUCCESS')
    expect(answer.json.sessionToken).toBeUndefined()
    expect(await page.session()).toMatchObject({ login: ANNA, amr: ['otp'] })
    const deviceToken = expect.stringMatching(/^[0-9a-f]{32}$/)
    expect(harness.upstreamCalls()[0]?.body).toEqual({ token, context: { deviceToken } })
  })

  // shows
  // sandbox shows
  test('leads to enrollment if a factor is required; the session opens after the enrollment', async () => {
    const page = await openPage(harness)
    const answer = await page.begin('/api/v1/authn', { token: harness.sandbox.activationToken(ARNO) })
    expect(answer.json.status).toBe('MFA_ENROLL')
    expect(await page.session()).toBeUndefined()
    const question = factorAt(page.held, 'question')
    const questions = await page.browser.get(hrefAt(page.held, `${question}._links.questions`))
    expect(questions.status).toBe(200)
    await page.follow(`${question}._links.enroll`, {
      factorType: 'question',
      provider: 'OKTA',
      profile: { question: 'first_award', answer: 'a marmalade prize' },
    })
    expect(page.held.json.status).toBe('SUCCESS')
    expect(await page.session()).toMatchObject({ login: ARNO, amr: ['otp'] })
  })

  // shows
  // sandbox shows
  test('leads to choosing a password if the user has none; the policy applies', async () => {
    const page = await openPage(harness)
    const answer = await page.begin('/api/v1/authn', { token: harness.sandbox.activationToken(AIDA) })
    expect(answer.json).toMatchObject({ status: 'PASSWORD_RESET', recoveryType: 'ACCOUNT_ACTIVATION' })
    expect(valueAt(answer.json, '_links.next.name')).toBe('resetPassword')
    expect(await page.session()).toBeUndefined()

    const weak = await page.follow('_links.next', { newPassword: 'short' })
    expect(errorOf(weak)).toEqual([403, 'E0000080'])
    expect(causesOf(weak)).toEqual([
      expect.stringMatching(/^Password requirements were not met\. .* at least 8 characters, .* a number,/),
    ])
    expect(errorOf(await page.follow('_links.next'))).toEqual([400, 'E0000001'])
    expect(await page.session()).toBeUndefined()

    await page.follow('_links.next', { newPassword: NEW_PASSWORD })
    expect(page.held.json.status).toBe('SUCCESS')
    expect(await page.session()).toMatchObject({ login: AIDA, amr: ['otp'] })
    const again = await openPage(harness)
    expect((await again.signIn(AIDA, { password: NEW_PASSWORD })).json.status).toBe('SUCCESS')
  })
})
