import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { STATUSES } from '../../src/authn/sanitize/unknown-steps.ts'
import type { JsonObject } from '../support/browser.ts'
import { AMELIA, type Harness, OLGA, startHarness, TOMAS, WALTER } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'

/** Each answer in docs/build-your-sign-in-page.md must have the shape of one that the broker sends. */
const PAGE = readFileSync(new URL('../../docs/build-your-sign-in-page.md', import.meta.url), 'utf8')
const BLOCKS = [...PAGE.matchAll(/```jsonc\n([^`]*)```/g)].map(
  ([, text = '']) => JSON.parse(text.replace(/ \/\/ .*$/gm, '')) as JsonObject,
)
const shown = (status: string, ordinal = 0) => BLOCKS.filter((block) => block.status === status)[ordinal]

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ env: { STEP_UP: 'on' } })
})
afterAll(() => harness.stop())
beforeEach(() => harness.sandbox.reset())

const LENA = 'lena.locked@example.test'

const startRecovery = (page: PortalPage, username: string) =>
  page.begin('/api/v1/authn/recovery/password', { username, factorType: 'SMS' })

/** A second code for one user within 31 s is refused, so each case has its own user. */
async function recover(page: PortalPage, username: string) {
  await startRecovery(page, username)
  await page.follow('_links.next', { passCode: harness.sandbox.outbox.latest(username)?.code })
}

async function enroll(page: PortalPage, factorType: string, provider: string) {
  await page.signIn('erin.enroll@example.test')
  await page.send('/api/v1/authn/factors', { factorType, provider })
}

async function stepUp(page: PortalPage) {
  const arrival = `${harness.gatehouse.url}/signin/step-up?stateToken=`
  const { stateToken } = harness.sandbox.startStepUp('payroll', undefined, arrival)
  const { location = '' } = await navigate(page.browser, arrival + stateToken)
  await page.begin('/api/v1/authn', { stateToken: new URL(location).searchParams.get('stateToken') })
}

const CASES: [string, number, (page: PortalPage) => Promise<unknown>][] = [
  ['MFA_REQUIRED', 0, (page) => page.signIn('sana.sms@example.test')],
  [
    'MFA_CHALLENGE',
    0,
    async (page) => {
      await page.signIn('sana.sms@example.test')
      await page.verify('sms')
    },
  ],
  [
    'MFA_CHALLENGE',
    1,
    async (page) => {
      await page.signIn('nina.number@example.test')
      await page.verify('push')
    },
  ],
  ['MFA_ENROLL', 0, (page) => page.signIn('erin.enroll@example.test')],
  ['MFA_ENROLL_ACTIVATE', 0, (page) => enroll(page, 'token:software:totp', 'GOOGLE')],
  ['PASSWORD_WARN', 0, (page) => page.signIn(WALTER, { options: { warnBeforePasswordExpired: true } })],
  ['PASSWORD_EXPIRED', 0, (page) => page.signIn(OLGA)],
  [
    'PASSWORD_RESET',
    0,
    async (page) => {
      await recover(page, TOMAS)
      await page.follow('_links.next', { answer: 'gatehouse' })
    },
  ],
  ['RECOVERY_CHALLENGE', 0, (page) => startRecovery(page, AMELIA)],
  ['RECOVERY', 0, (page) => recover(page, LENA)],
  ['LOCKED_OUT', 0, (page) => page.signIn('luis.locked@example.test')],
  ['UNAUTHENTICATED', 0, stepUp],
  ['SUCCESS', 0, (page) => page.signIn(AMELIA)],
]

test.each(CASES)(
  'the page shows an answer for %s (number %i) with the fields that the broker sends',
  async (status, ordinal, reach) => {
    const page = await openPage(harness)
    await reach(page)
    expect(shapeOf(shown(status, ordinal))).toEqual(shapeOf(page.held.json))
  },
)

test('the page shows every status, and every answer in it is checked', () => {
  expect(new Set(BLOCKS.map(({ status }) => status))).toEqual(STATUSES)
  expect(BLOCKS).toHaveLength(CASES.length)
})

/** Fields whose value the page's text relies on. */
const EXACT = ['status', 'factorResult', 'recoveryType', 'factorType', 'type', 'name', 'allow', 'enrollment']

/** Names and types of all fields; of a list, and of the map by factor id, the first entry. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [shapeOf(value[0])]
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      if (key === 'factorsPolicyInfo') return [key, Object.values(member).map(shapeOf)]
      return [key, EXACT.includes(key) ? member : shapeOf(member)]
    }),
  )
}
