import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { type Demo, startDemo } from '../../src/demo/demo.ts'
import { defaultConfigPath } from '../../src/sandbox/sandbox-config.ts'
import { openChromium } from '../support/chromium.ts'
import { clickOnce } from '../support/click.ts'
import { freePort } from '../support/gatehouse.ts'

/** The demo's API page, which is Swagger UI, in a real browser. */

let demo: Demo
let chromium: Browser
let page: Page
const problems: string[] = []
const requested = new Set<string>()

beforeAll(async () => {
  demo = await startDemo({
    port: await freePort(),
    sandboxConfigPath: defaultConfigPath,
    logStream: new PassThrough().resume(),
  })
  chromium = await openChromium()
  page = await chromium.newPage()
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  page.on('request', (request) => requested.add(new URL(request.url()).origin))
  await page.goto(`${demo.url}/demo/api.html`)
})
afterAll(async () => {
  await chromium.close()
  await demo.stop()
})

/** Opens an operation, changes its body if one is given, sends it, and waits for the answer's status. */
async function tryIt(id: string, status: number, body?: object): Promise<string> {
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
  const user = { username: 'amelia.stone@example.test', password: 'Demo-Password-1' }
  await tryIt('authenticate', 200, user)
  expect(await tryIt('getSession', 200)).toContain('"login": "amelia.stone@example.test"')
  expect([...requested]).toEqual([demo.url])
  expect(problems).toEqual([])
})
