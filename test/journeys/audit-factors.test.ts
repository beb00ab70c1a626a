import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { generousLimits } from '../support/generous-limits.ts'
import { type Harness, startHarness } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { factorAt, valueAt } from '../support/transaction-view.ts'

/** An active factor is audited exactly once, whatever its type. */
const ERIN = 'erin.enroll@example.test'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ env: { LOG_LEVEL: 'error' }, tunables: generousLimits })
})
afterAll(() => harness.stop())

let before = 0
beforeEach(() => {
  harness.sandbox.reset()
  before = harness.gatehouse.logLines().length
})

const lines = (...events: string[]) =>
  harness.gatehouse
    .logLines()
    .slice(before)
    .filter(({ event }) => events.includes(String(event)))
const enrolled = () => lines('factor_enrolled', 'factor_changed')

async function openEnrollment(): Promise<PortalPage> {
  const page = await openPage(harness)
  const answer = await page.signIn(ERIN, { options: { multiOptionalFactorEnroll: true } })
  expect(answer.json.status).toBe('MFA_ENROLL')
  return page
}

const enroll = (page: PortalPage, factorType: string, provider: string, fields: object = {}) =>
  page.follow(`${factorAt(page.held, factorType, provider)}._links.enroll`, {
    factorType,
    provider,
    ...fields,
  })

const PHONE = () => ({ profile: { phoneNumber: '+15550107777' } })

test.each([
  ['a step back', (page: PortalPage) => page.follow('_links.prev'), 'previous', 'MFA_ENROLL'],
  ['a state request', (page: PortalPage) => page.send('/api/v1/authn', {}), 'state', 'SUCCESS'],
])(
  'a push factor that the phone has activated is audited by %s, without a poll',
  async (_how, send, operation, status) => {
    const page = await openEnrollment()
    await enroll(page, 'push', 'OKTA')
    const { json } = page.held
    const user = valueAt(json, '_embedded.user')
    const factors = [{ factorType: 'push', provider: 'OKTA', vendorName: 'OKTA', status: 'ACTIVE' }]
    const body = { status, expiresAt: json.expiresAt, _embedded: { user, factors } }
    page.browser.allowAnyTransaction()
    harness.sandbox.faults.authn.set({ kind: 'status', status: 200, body, times: 1 })
    await send(page)
    expect(enrolled()).toMatchObject([
      { event: 'factor_enrolled', operation, factorType: 'push', provider: 'OKTA' },
    ])
    await page.send('/api/v1/authn', {})
    expect(enrolled()).toHaveLength(1)
  },
)

test('an abandoned enrollment is not audited, whichever step abandons it', async () => {
  const page = await openEnrollment()
  await enroll(page, 'sms', 'OKTA', PHONE())
  await page.follow('_links.prev')
  await enroll(page, 'email', 'OKTA')
  await page.send('/api/v1/authn', {})
  await page.send('/api/v1/authn/cancel')
  expect(enrolled()).toEqual([])
})
