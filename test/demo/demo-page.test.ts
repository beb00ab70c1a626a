import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { type Demo, startDemo } from '../../src/demo/demo.ts'
import { defaultConfigPath } from '../../src/sandbox/sandbox-config.ts'
import { openChromium } from '../support/chromium.ts'
import { freePort } from '../support/gatehouse.ts'

/** The demo as a person meets it: a real browser, the page as built, the sandbox behind it. */

let demo: Demo
let chromium: Browser
let page: Page
let complaints: string[]

beforeAll(async () => {
  demo = await startDemo({
    port: await freePort(),
    sandboxConfigPath: defaultConfigPath,
    logStream: new PassThrough().resume(),
  })
  chromium = await openChromium()
}, 60_000)
afterAll(async () => {
  await chromium.close()
  await demo.stop()
})
beforeEach(async () => {
  demo.sandbox.reset()
  const context = await chromium.newContext()
  page = await context.newPage()
  complaints = []
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.goto(demo.url)
})

async function choose(login: string) {
  await page.getByRole('button', { name: login }).click()
  await page.getByRole('button', { name: 'Sign in' }).click()
}

const heading = (name: RegExp) => page.getByRole('heading', { level: 2, name })

test('a code from the authenticator app, wrong then right, leads to groups and roles, and out again', async () => {
  await choose('tomas.berg@example.test')
  await heading(/authenticator app/).waitFor()
  await page.getByRole('textbox', { name: 'Code' }).fill('000000')
  await page.getByRole('button', { name: 'Verify' }).click()
  await page
    .getByRole('alert')
    .filter({ hasText: /passcode/i })
    .waitFor()

  await page.getByRole('textbox', { name: 'Code' }).fill(demo.sandbox.totpCode('tomas.berg'))
  await page.getByRole('button', { name: 'Verify' }).click()
  await heading(/Hello Tomas/).waitFor()
  await page.getByText('delegated_resource_admin').first().waitFor()
  await page.getByText('security_admin').first().waitFor()

  await page.reload()
  await heading(/Hello Tomas/).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await heading(/^Sign in$/).waitFor()
  await page.reload()
  await heading(/^Sign in$/).waitFor()
  expect(complaints).toEqual([])
})

test('a push is approved on the phone in the page', async () => {
  await choose('priya.nair@example.test')
  await page.getByRole('button', { name: 'A request on my phone' }).click()
  await page.getByRole('button', { name: 'Send the request' }).click()
  await heading(/Look at your phone/).waitFor()
  await page.getByRole('button', { name: 'Yes, it is me' }).click()
  await heading(/Hello Priya/).waitFor()
  expect(complaints).toEqual([])
})

test('an expired password is changed', async () => {
  await choose('olga.expired@example.test')
  await heading(/has expired/).waitFor()
  await page.getByLabel('Current password').fill('Demo-Password-1')
  await page.getByLabel('New password').fill('short')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page
    .getByRole('alert')
    .filter({ hasText: /password/i })
    .waitFor()
  await page.getByLabel('New password').fill('Another-Password-2')
  await page.getByRole('button', { name: 'Change password' }).click()
  await heading(/Hello Olga/).waitFor()
  expect(complaints).toEqual([])
})

test('the page holds no token: nothing in its storage, and no cookie that scripts can read', async () => {
  await choose('amelia.stone@example.test')
  await heading(/Hello Amelia/).waitFor()
  const seen = await page.evaluate(
    '({ cookies: document.cookie, kept: localStorage.length + sessionStorage.length })',
  )
  expect(seen).toEqual({ cookies: '', kept: 0 })
})
