import { readFileSync } from 'node:fs'
import { beforeEach, expect, test } from '@jest/globals'
import { STATUSES } from '../../src/authn/sanitize/unknown-steps.ts'
import type { JsonObject } from '../support/browser.ts'
import { useFixture } from '../support/fixture.ts'
import { AMELIA, startHarness, WALTER } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'

/**
 * Each answer in docs/build-your-sign-in-page.md must have the shape of one that the broker sends.
 */
const PAGE = readFileSync(new URL('../../docs/build-your-sign-in-page.md', import.meta.url), 'utf8')
const BLOCKS = [...PAGE.matchAll(/```jsonc\n([^`]*)```/g)].map(
  ([, text = '']) => JSON.parse(text.replace(/ \/\/ .*$/gm, '')) as JsonObject,
)

const harness = useFixture({ start: () => startHarness(), stop: ({ stop }) => stop() })
beforeEach(() => harness.sandbox.reset())

async function enroll(page: PortalPage, factorType: string, provider: string) {
  await page.signIn('erin.enroll@example.test')
  await page.send('/api/v1/authn/factors', { factorType, provider })
}

const CASES: [string, (page: PortalPage) => Promise<unknown>][] = [
  ['MFA_REQUIRED', (page) => page.signIn('sana.sms@example.test')],
  [
    'MFA_CHALLENGE',
    async (page) => {
      await page.signIn('nina.number@example.test')
      await page.verify('push')
    },
  ],
  ['MFA_ENROLL_ACTIVATE', (page) => enroll(page, 'token:software:totp', 'GOOGLE')],
  ['PASSWORD_WARN', (page) => page.signIn(WALTER, { options: { warnBeforePasswordExpired: true } })],
  ['SUCCESS', (page) => page.signIn(AMELIA)],
]

test.each(CASES)(
  'the page shows an answer for %s with the fields that the broker sends',
  async (status, reach) => {
    const page = await openPage(harness)
    await reach(page)
    const shown = BLOCKS.find((block) => block.status === status)
    expect(shapeOf(shown)).toEqual(shapeOf(page.held.json))
  },
)

test('the page has a section for every status, and every answer in it is checked', () => {
  for (const status of STATUSES) expect(PAGE).toContain(`\n### ${status}\n`)
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
