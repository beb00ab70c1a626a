import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { type Harness, PRIYA, startHarness } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { valueAt } from '../support/transaction-view.ts'

/** The `autoPush` choice. Okta keeps it in a cookie, which does not reach it through the broker, so the broker keeps it. */

const MAX = 'max.many@example.test'
const YES = { query: '?autoPush=true' }
const NO = { query: '?autoPush=false' }

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())
beforeEach(async () => {
  harness.sandbox.reset()
  await harness.redis.client().flushall()
})

/** Starts a sign-in; returns whether the answer says that a push must be sent without asking. */
async function begin(page: PortalPage, login = PRIYA): Promise<boolean> {
  const answer = await page.signIn(login)
  expect(answer.json.status).toBe('MFA_REQUIRED')
  return isEnabled(page)
}

function isEnabled({ held }: PortalPage): boolean {
  const infos = Object.values(valueAt(held.json, '_embedded.policy.factorsPolicyInfo') as object)
  expect(infos).toHaveLength(1)
  return infos[0].autoPushEnabled
}

/** Signs in with a push. `options` are those of the request that sends it. */
async function signIn(page: PortalPage, options: { query?: string } = {}, login = PRIYA): Promise<void> {
  await begin(page, login)
  await page.verify('push', {}, options)
  harness.sandbox.answerPush(login, 'approve')
  await page.follow('_links.next')
  expect(page.held.json.status).toBe('SUCCESS')
}

test('is shown at the next sign-in of the same user on the same device, on every replica', async () => {
  const page = await openPage(harness)
  expect(await begin(page)).toBe(false)
  await signIn(page, YES)
  expect(await begin(page)).toBe(true)
  await page.verify('push')
  expect(page.held.json.status).toBe('MFA_CHALLENGE')
  expect(isEnabled(page)).toBe(true)
  await page.follow('_links.prev')
  expect(isEnabled(page)).toBe(true)

  const replica = await harness.replica()
  const sameDevice = openBrowser(replica.url)
  for (const cookie of await page.browser.jar.getCookies(page.browser.origin))
    await sameDevice.jar.setCookie(cookie, replica.url)
  expect(await begin(await openPage(harness, sameDevice))).toBe(true)
})

test('is not shown on another device, nor to another user of the device', async () => {
  const page = await openPage(harness)
  await signIn(page, YES)
  expect(await begin(await openPage(harness))).toBe(false)
  expect(await begin(page, MAX)).toBe(false)
  expect(await begin(page)).toBe(true)
})

test('is kept by sign-ins without the parameter, and withdrawn with false', async () => {
  const page = await openPage(harness)
  await signIn(page, YES)
  await signIn(page)
  expect(await begin(page)).toBe(true)
  await signIn(page, NO)
  expect(await begin(page)).toBe(false)
})

test('is saved if the poll has the parameter', async () => {
  const page = await openPage(harness)
  await begin(page)
  await page.verify('push')
  harness.sandbox.answerPush(PRIYA, 'approve')
  await page.follow('_links.next', {}, YES)
  expect(await begin(page)).toBe(true)
})

test('is not saved if the push is rejected, or another factor is used instead', async () => {
  const page = await openPage(harness)
  await begin(page, MAX)
  await page.verify('push', {}, YES)
  harness.sandbox.answerPush(MAX, 'reject')
  await page.follow('_links.next')
  await page.follow('_links.prev')
  await page.verify('question', { answer: 'lighthouse' }, YES)
  expect(page.held.json.status).toBe('SUCCESS')
  expect(await begin(page, MAX)).toBe(false)
})

test('is forgotten with the device, but not at sign-out', async () => {
  const page = await openPage(harness)
  await signIn(page, YES)
  await page.browser.delete('/api/v1/sessions/me')
  expect(await begin(page)).toBe(true)
  await signIn(page)
  expect((await page.browser.delete('/api/v1/devices')).status).toBe(204)
  expect(await begin(page)).toBe(false)
})
