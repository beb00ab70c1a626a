import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { type Demo, startDemo } from '../../src/demo/demo.ts'
import { OPERATIONS, openApiDocument } from '../../src/openapi/document.ts'
import { defaultConfigPath } from '../../src/sandbox/sandbox-config.ts'
import { openChromium } from '../support/chromium.ts'
import { clickOnce } from '../support/click.ts'
import { COLOUR_RULES, faultsOf } from '../support/demo-page.ts'
import { freePort } from '../support/gatehouse.ts'

/** The demo's built API page in a real browser. */

const OPERATION_COUNT = Object.keys(OPERATIONS).length

let demo: Demo
let chromium: Browser
let page: Page

beforeAll(async () => {
  demo = await startDemo({
    port: await freePort(),
    sandboxConfigPath: defaultConfigPath,
    logStream: new PassThrough().resume(),
  })
  chromium = await openChromium()
  page = await chromium.newPage()
  page.setDefaultTimeout(60_000)
  page.on('pageerror', (error) => {
    throw error
  })
})
afterAll(async () => {
  await chromium.close()
  await demo.stop()
})

/** Reloads the page: another fragment alone would not. */
async function open(hash = '', viewport = { width: 1280, height: 720 }): Promise<void> {
  await page.goto('about:blank')
  await page.setViewportSize(viewport)
  await page.goto(`${demo.url}/demo/api.html${hash}`)
  await page.getByText(`${OPERATION_COUNT} operations`).waitFor()
}

/**
 * Opens each part of the page that holds an element of a new kind: of a tag, class and ancestors that no part before it
 * has. The others differ in their words only, and a scan of them all takes seconds. Answers how many it has opened.
 */
const OPEN_ONE_OF_EACH_KIND = `(() => {
  const kindOf = (element, part) =>
    element === part ? '' : kindOf(element.parentElement, part) + ' > ' + element.tagName + '.' + element.className
  const seen = new Set()
  const parts = [...document.querySelectorAll('details')].filter((part) => {
    const kinds = [...part.querySelectorAll('*')].map((element) => kindOf(element, part))
    const isNew = kinds.some((kind) => !seen.has(kind))
    for (const kind of kinds) seen.add(kind)
    return isNew
  })
  for (const part of parts) part.open = true
  return parts.length
})()`

test('the page shows the broker’s own OpenAPI document', async () => {
  const answer = await fetch(`${demo.url}/demo/openapi.json`)
  expect([answer.status, await answer.json()]).toEqual([200, JSON.parse(JSON.stringify(openApiDocument()))])
})

test('every operation is shown with its parameters, body and responses, and the filter finds it', async () => {
  await open()
  expect(await page.locator('#operations details').count()).toBe(OPERATION_COUNT)
  await page.getByRole('searchbox').fill('pam/groups get')
  await page.getByText(`2 of ${OPERATION_COUNT} operations`).waitFor()
  await clickOnce(page.getByText('The team’s groups'))
  const listed = page.locator('#listGroups')
  await listed
    .getByRole('listitem')
    .filter({ hasText: /^limit/ })
    .waitFor()
  await listed.getByText('integer, 1 to 1000, default 100').waitFor()
  await listed.getByRole('rowheader', { name: '503' }).waitFor()
  await clickOnce(listed.getByRole('link', { name: 'GroupPage' }))
  await page.locator('#schema-GroupPage').getByText('nextCursor').waitFor()
})

test('every operation has an example request, and an example response if it answers JSON', async () => {
  await open()
  const requests = page.getByLabel('Example request')
  expect(await page.locator('details', { has: requests }).count()).toBe(OPERATION_COUNT)
  for (const example of await requests.allTextContents()) {
    expect(example).toMatch(/^(GET|POST|DELETE) \/\S+/)
    expect(example).not.toMatch(/[{}]\w|%7B|undefined/)
  }
  const answering = Object.values(OPERATIONS).filter(
    ({ responses }) => responses[200]?.content?.['application/json'] !== undefined,
  )
  const responses = page.getByLabel('Example response')
  expect(await page.locator('details', { has: responses }).count()).toBe(answering.length)
  await page.getByText('Begin a sign-in, get its state').click()
  const authenticate = page.locator('#authenticate')
  await authenticate.getByLabel('Example request MFA_REQUIRED').getByText('"username"').waitFor()
  await authenticate
    .getByLabel('Example response MFA_REQUIRED')
    .getByText('"status": "MFA_REQUIRED"')
    .waitFor()
})

test('a URL fragment that names an operation opens it', async () => {
  await open('#changePassword')
  await page.locator('#changePassword').getByText('oldPassword', { exact: true }).waitFor()
})

test('on a phone, with everything expanded, it has no accessibility fault in light or dark mode', async () => {
  await open('', { width: 360, height: 740 })
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await page.evaluate(OPEN_ONE_OF_EACH_KIND)).toBeGreaterThan(1)
  expect(await faultsOf(page, { rules: COLOUR_RULES })).toEqual([])
  await page.emulateMedia({ colorScheme: 'light' })
  await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true')
  expect(await faultsOf(page)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
})
