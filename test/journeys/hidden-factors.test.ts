import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Harness, startHarness } from '../support/harness.ts'
import { openPage } from '../support/portal-page.ts'
import { errorOf, valueAt } from '../support/transaction-view.ts'

const QUENTIN = 'quentin.query@example.test'
const ERIN = 'erin.enroll@example.test'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ env: { HIDDEN_FACTORS: 'question,call' } })
})
afterAll(() => harness.stop())
beforeEach(() => {
  harness.sandbox.reset()
})

const typesIn = (json: unknown) => {
  const factors = valueAt(json, '_embedded.factors')
  return Array.isArray(factors) ? factors.map((factor) => valueAt(factor, 'factorType')) : []
}

describe('a hidden factor', () => {
  test('is not listed for enrollment; enrolling it is refused, and nothing is sent upstream', async () => {
    const page = await openPage(harness)
    const asked = await page.signIn(ERIN)
    expect(asked.json.status).toBe('MFA_ENROLL')
    expect(typesIn(asked.json)).toContain('push')
    expect(typesIn(asked.json)).not.toContain('question')
    expect(typesIn(asked.json)).not.toContain('call')
    harness.clearUpstreamCalls()
    const refused = await page.send('/api/v1/authn/factors', {
      factorType: 'question',
      provider: 'OKTA',
      profile: { question: 'favorite_toy', answer: 'a-made-up-answer' },
    })
    expect(errorOf(refused)).toEqual([403, 'E0000079'])
    const userId = String(valueAt(asked.json, '_embedded.user.id'))
    const questions = await page.browser.get(`/api/v1/users/${userId}/factors/questions`)
    expect(errorOf(questions)).toEqual([403, 'E0000079'])
    expect(harness.upstreamCalls()).toEqual([])
    const enrolled = await page.send('/api/v1/authn/factors', { factorType: 'push', provider: 'OKTA' })
    expect(enrolled.json.status).toBe('MFA_ENROLL_ACTIVATE')
  })

  test.each(['Question', 'que\u017ftion', ' question', 'question '])(
    'is not enrolled as “%s”, which Okta might read as its type',
    async (factorType) => {
      const page = await openPage(harness)
      await page.signIn(ERIN)
      harness.clearUpstreamCalls()
      const refused = await page.send('/api/v1/authn/factors', { factorType, provider: 'OKTA' })
      expect(refused.json.errorCode).toBe(factorType === 'Question' ? 'E0000079' : 'E0000001')
      expect(harness.upstreamCalls()).toEqual([])
    },
  )

  test('that is the only one leaves an empty list and cancel, and opens no session', async () => {
    const page = await openPage(harness)
    const asked = await page.signIn(QUENTIN)
    expect(asked.json.status).toBe('MFA_REQUIRED')
    expect(typesIn(asked.json)).toEqual([])
    expect(await page.session()).toBeUndefined()
    const cancelled = await page.follow('_links.cancel')
    expect(cancelled.status).toBe(200)
  })
})
