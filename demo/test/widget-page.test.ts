import { PassThrough } from 'node:stream'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { defaultConfigPath } from 'gatehouse-sandbox/sandbox-config'
import { openChromium } from 'gatehouse-test-support/chromium'
import { click } from 'gatehouse-test-support/click'
import { freePort } from 'gatehouse-test-support/gatehouse'
import { AMELIA, PASSWORD } from 'gatehouse-test-support/harness'
import { TRY_MS, until } from 'gatehouse-test-support/until'
import { requireWidget } from 'gatehouse-test-support/widget-site'
import type { Browser, Page, Request } from 'playwright-core'
import { type Demo, startDemo } from '../src/demo.ts'

let demo: Demo
let chromium: Browser
let page: Page
let problems: string[] = []
beforeAll(async () => {
  requireWidget()
  demo = await startDemo({
    port: await freePort(),
    sandboxConfigPath: defaultConfigPath,
    logStream: new PassThrough().resume(),
  })
  chromium = await openChromium()
  page = await chromium.newPage()
  page.setDefaultTimeout(60_000)
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
})
afterAll(async () => {
  await chromium?.close()
  await demo?.stop()
})

/** Leaves nothing for the next test. */
afterEach(async () => {
  await page.evaluate('localStorage.clear(); sessionStorage.clear()')
  await page.goto('about:blank')
  await page.context().clearCookies()
  problems = []
})

beforeEach(async () => {
  await page.goto(`${demo.url}/demo/widget.html`)
  await page.getByRole('textbox', { name: 'Username' }).waitFor()
})

/**
 * Chooses a user, which fills in a new widget, and submits it. The widget drops a click that comes
 * too early.
 */
async function signInAs(login: string): Promise<void> {
  await click(page.getByRole('button', { name: login }))
  await until(async () => (await page.getByRole('textbox', { name: 'Username' }).inputValue()) === login)
  const sent: string[] = []
  const note = (request: Request) => sent.push(new URL(request.url()).pathname)
  page.on('request', note)
  await until(
    async () => {
      if (!sent.includes('/api/v1/authn'))
        await click(page.getByRole('button', { name: 'Sign In', exact: true }), { timeoutMs: TRY_MS })
      return sent.includes('/api/v1/authn')
    },
    { everyMs: 100, what: `a request after ${login} was chosen` },
  )
  page.off('request', note)
}

test('the demo’s widget page signs in within its Content-Security-Policy', async () => {
  await page.getByRole('textbox', { name: 'Username' }).fill(AMELIA)
  await page.locator('input[name=password]').fill(PASSWORD)
  await click(page.getByRole('button', { name: 'Sign In', exact: true }))
  await page.getByText(`Signed in as ${AMELIA}`).waitFor()
  await click(page.getByRole('link', { name: 'See your access' }))
  await page.getByRole('heading', { name: /Hello Amelia/ }).waitFor()
  expect(problems).toEqual([])
})

test('the demo’s phone answers the widget’s push; another user can be chosen at any time', async () => {
  await signInAs('tomas.berg@example.test')
  await page.getByRole('heading', { name: 'Google Authenticator' }).waitFor()
  await signInAs('priya.nair@example.test')
  await click(page.getByRole('button', { name: 'Send Push' }))
  await click(page.getByRole('region', { name: 'The phone' }).getByRole('button', { name: 'Yes, it is me' }))
  await page.getByText('Signed in as priya.nair@example.test').waitFor()
  expect(problems).toEqual([])
})
