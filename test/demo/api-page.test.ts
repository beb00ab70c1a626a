import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { type Demo, startDemo } from '../../src/demo/demo.ts'
import { DESCRIPTIONS, openApiDocument } from '../../src/openapi.ts'
import { defaultConfigPath } from '../../src/sandbox/sandbox-config.ts'
import { openChromium } from '../support/chromium.ts'
import { click } from '../support/click.ts'
import { COLOUR_RULES, faultsOf } from '../support/demo-page.ts'
import { freePort } from '../support/gatehouse.ts'

/** The page of the API in the demo, as built, in a real browser. */

let demo: Demo
let chromium: Browser

beforeAll(async () => {
  demo = await startDemo({
    port: await freePort(),
    sandboxConfigPath: defaultConfigPath,
    logStream: new PassThrough().resume(),
  })
  chromium = await openChromium()
})
afterAll(async () => {
  await chromium.close()
  await demo.stop()
})

async function open(hash = '', options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
  const page = await chromium.newPage(options)
  page.setDefaultTimeout(60_000)
  page.on('pageerror', (error) => {
    throw error
  })
  await page.goto(`${demo.url}/demo/api.html${hash}`)
  await page.getByText(`${DESCRIPTIONS.length} operations`).waitFor()
  return page
}

test('the document it shows is the broker’s own', async () => {
  const answer = await fetch(`${demo.url}/demo/openapi.json`)
  expect([answer.status, await answer.json()]).toEqual([200, JSON.parse(JSON.stringify(openApiDocument()))])
})

test('every operation is there with its parameters, body and answers, and can be found', async () => {
  const page = await open()
  expect(await page.locator('#operations details').count()).toBe(DESCRIPTIONS.length)
  await page.getByRole('searchbox').fill('pam/groups get')
  await page.getByText(`2 of ${DESCRIPTIONS.length} operations`).waitFor()
  await click(page.getByText('The team’s groups'))
  const listed = page.locator('#listGroups')
  await listed
    .getByRole('listitem')
    .filter({ hasText: /^limit/ })
    .waitFor()
  await listed.getByText('integer, 1 to 1000, default 100').waitFor()
  await listed.getByRole('rowheader', { name: '503' }).waitFor()
  await click(listed.getByRole('link', { name: 'GroupPage' }))
  await page.locator('#schema-GroupPage').getByText('nextCursor').waitFor()
  await page.close()
})

test('every operation has an example request, and an example response where it answers JSON', async () => {
  const page = await open()
  const requests = page.getByLabel('Example request')
  expect(await requests.count()).toBe(DESCRIPTIONS.length)
  for (const example of await requests.allTextContents()) {
    expect(example).toMatch(/^(GET|POST|DELETE) \/\S+/)
    expect(example).not.toMatch(/[{}]\w|%7B|undefined/)
  }
  const answering = DESCRIPTIONS.filter(
    ({ answers }) => answers[200]?.content?.['application/json'] !== undefined,
  )
  expect(await page.getByLabel('Example response').count()).toBe(answering.length)
  await page.getByText('Begin a sign-in, ask where').click()
  const authenticate = page.locator('#authenticate')
  await authenticate.getByLabel('Example request').getByText('"username": "tomas.berg@example.com"').waitFor()
  await authenticate.getByLabel('Example response').getByText('"status": "MFA_REQUIRED"').waitFor()
  await page.close()
})

test('an address that names an operation opens it', async () => {
  const page = await open('#changePassword')
  await page.locator('#changePassword').getByText('oldPassword', { exact: true }).waitFor()
  await page.close()
})

test('on a phone, with all of it open, it has no barrier, in light or in dark', async () => {
  const page = await open('', { viewport: { width: 360, height: 740 } })
  await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true')
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await faultsOf(page, { rules: COLOUR_RULES })).toEqual([])
  await page.emulateMedia({ colorScheme: 'light' })
  expect(await faultsOf(page)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
  await page.close()
})
