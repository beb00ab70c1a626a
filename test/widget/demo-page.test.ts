import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { type Demo, startDemo } from '../../src/demo/demo.ts'
import { defaultConfigPath } from '../../src/sandbox/sandbox-config.ts'
import { openChromium } from '../support/chromium.ts'
import { click } from '../support/click.ts'
import { freePort } from '../support/gatehouse.ts'
import { AMELIA, PASSWORD } from '../support/house.ts'
import { requireWidget } from '../support/widget-site.ts'

let demo: Demo
let chromium: Browser
beforeAll(async () => {
  requireWidget()
  demo = await startDemo({
    port: await freePort(),
    sandboxConfigPath: defaultConfigPath,
    logStream: new PassThrough().resume(),
  })
  chromium = await openChromium()
})
afterAll(async () => {
  await chromium?.close()
  await demo?.stop()
})

test('the demo’s page of the widget signs in, within its content security policy', async () => {
  const page = await chromium.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  await page.goto(`${demo.url}/demo/widget.html`)
  await page.getByRole('textbox', { name: 'Username' }).fill(AMELIA)
  await page.locator('input[name=password]').fill(PASSWORD)
  await click(page.getByRole('button', { name: 'Sign In' }))
  await page.getByText(`Signed in as ${AMELIA}`).waitFor()
  await click(page.getByRole('link', { name: 'Look at your access' }))
  await page.getByRole('heading', { name: /Hello Amelia/ }).waitFor()
  expect(complaints).toEqual([])
})
