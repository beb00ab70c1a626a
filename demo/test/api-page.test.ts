import { expect, test } from '@jest/globals'
import { clickOnce } from 'gatehouse-test-support/click'
import { useDemo } from 'gatehouse-test-support/demo-page'
import type { Page } from 'playwright-core'

/** The demo's API page, which is Swagger UI, in a real browser. */

const demo = useDemo()

/**
 * Opens an operation, changes its body if one is given, sends it, and waits for the answer's
 * status.
 */
async function tryIt(page: Page, id: string, status: number, body?: object): Promise<string> {
  const operation = page.locator(`[id$="-${id}"]`)
  await clickOnce(operation.locator('.opblock-summary-control'))
  await clickOnce(operation.getByRole('button', { name: 'Try it out' }))
  if (body) await operation.locator('textarea.body-param__text').fill(JSON.stringify(body))
  await clickOnce(operation.getByRole('button', { name: 'Execute' }))
  const answer = operation.locator('.live-responses-table')
  await answer
    .locator('.response-col_status')
    .filter({ hasText: String(status) })
    .first()
    .waitFor()
  return (await answer.textContent()) ?? ''
}

test('“Try it out” signs in, and then sends the session cookie; nothing is requested from another host', async () => {
  const { page } = await demo.visit({ path: '/icon.svg' })
  const requested = new Set<string>()
  page.on('request', (request) => requested.add(new URL(request.url()).origin))
  await page.goto(`${demo.demo.url}/demo/api.html`)
  const user = { username: 'amelia.stone@example.test', password: 'Demo-Password-1' }
  await tryIt(page, 'authenticate', 200, user)
  expect(await tryIt(page, 'getSession', 200)).toContain('"login": "amelia.stone@example.test"')
  expect([...requested]).toEqual([demo.demo.url])
})
