import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { type Demo, startDemo } from '../../src/demo/demo.ts'
import { OPERATIONS, openApiDocument } from '../../src/openapi/document.ts'
import { defaultConfigPath } from '../../src/sandbox/sandbox-config.ts'
import { openChromium } from '../support/chromium.ts'
import { clickOnce } from '../support/click.ts'
import { COLOUR_RULES, faultsOf } from '../support/demo-page.ts'
import { freePort } from '../support/gatehouse.ts'
import { until } from '../support/until.ts'

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
  page = await chromium.newPage({ reducedMotion: 'reduce' }) // colours change at once
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
  await page.getByRole('searchbox', { name: 'Find an operation' }).fill('pam/groups get')
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

test('every operation shows an example request, and an example of each status and error code', async () => {
  await open()
  const shown = await page.evaluate<[string, string[], string][]>(
    `[...document.querySelectorAll('#operations details')].map((one) => [
      one.id,
      [...one.querySelectorAll('.choice option')].map((option) => option.textContent),
      one.querySelector('[aria-label="Example request"]').textContent,
    ])`,
  )
  expect(shown.map(([id]) => id).sort()).toEqual(Object.keys(OPERATIONS).sort())
  for (const [id, answers, request] of shown) {
    const { responses, method } = OPERATIONS[id] ?? { responses: {} }
    for (const status of Object.keys(responses))
      expect([id, answers]).toEqual([id, expect.arrayContaining([expect.stringMatching(`^${status}`)])])
    expect(request).toMatch(new RegExp(`^${method} /\\S+`))
    expect(request).not.toMatch(/[{}]\w|%7B|undefined/)
  }
  const answersOf = (id: string) => shown.find(([one]) => one === id)?.[1]
  expect(answersOf('verifyFactor')).toEqual(
    expect.arrayContaining(['200 MFA_CHALLENGE', '403 E0000068', '429 E0000109']),
  )
  expect(answersOf('getAccess')).toEqual(expect.arrayContaining(['304', '503 pam_team_disabled']))
})

test('a chosen example answer is shown with its request', async () => {
  await open('#authenticate')
  const authenticate = page.locator('#authenticate')
  const choose = (option: string) => authenticate.locator('.choice select').selectOption(option)
  const request = authenticate.getByLabel('Example request')
  const answer = authenticate.getByLabel('Example answer')
  await choose('200 PASSWORD_WARN')
  await request.getByText('warnBeforePasswordExpired').waitFor()
  await answer.getByText('"status": "PASSWORD_WARN"').waitFor()
  await choose('401 E0000004')
  await answer.getByText('Authentication failed').waitFor()
  await open('#followIdentityProvider')
  await page
    .locator('#followIdentityProvider')
    .getByLabel('Example answer')
    .getByText(/^302\nLocation: https:\/\/your-org.example.net\/sso/)
    .waitFor()
})

test('a union is shown with the value and the schema of each member', async () => {
  await open('#schema-KnownFactor')
  const row = page.locator('#schema-KnownFactor li').filter({ hasText: /^push PushFactor$/ })
  await clickOnce(row.getByRole('link'))
  await page.locator('#schema-PushFactor').getByText('factorResult').first().waitFor()
})

describe('Try it', () => {
  const operation = (id: string) => page.locator(`#${id}`)
  const send = (id: string) => clickOnce(operation(id).getByRole('button', { name: 'Send', exact: true }))
  const tryIt = async (id: string) => {
    await page.evaluate(`location.hash = '${id}'`)
    await clickOnce(operation(id).getByRole('button', { name: 'Try it' }))
  }
  const answered = (id: string, status: number) =>
    operation(id)
      .getByRole('status')
      .filter({ hasText: new RegExp(`^${status} after \\d+ ms. Request id: \\S+$`) })
      .waitFor()
  beforeEach(async () => {
    await page.context().clearCookies()
    demo.sandbox.reset()
    await open()
  })

  test('signs in with a password and a code, and reads the session and the groups', async () => {
    await clickOnce(page.getByRole('button', { name: 'tomas.berg@example.test' }))
    await send('authenticate')
    await answered('authenticate', 200)
    await page.getByText('The sign-in is in the state MFA_REQUIRED').waitFor()
    await clickOnce(
      operation('authenticate').getByRole('button', { name: /^verify, token:software:totp, \w+ POST/ }),
    )
    const body = operation('verifyFactor').getByRole('textbox', { name: 'Body' })
    const filled = JSON.parse(await body.inputValue()) as object
    expect(filled).toEqual({ stateToken: expect.stringMatching(/^00[\w-]{43}$/), passCode: '' })
    const code = await page.locator('#phone .code').first().textContent()
    await body.fill(JSON.stringify({ ...filled, passCode: code }))
    await send('verifyFactor')
    await answered('verifyFactor', 200)
    await page.getByText('Signed in as tomas.berg@example.test. No sign-in is in progress.').waitFor()

    await tryIt('getSession')
    await send('getSession')
    await operation('getSession')
      .getByLabel('Answer body')
      .getByText('"login": "tomas.berg@example.test"')
      .waitFor()
    await tryIt('getAccess')
    await send('getAccess')
    await operation('getAccess')
      .getByLabel('Answer headers')
      .getByText(/^etag: /m)
      .waitFor()
    await operation('getAccess').getByLabel('Answer body').getByText('"groups"').waitFor()
  })

  test('follows a link that needs no input at once, with the handle', async () => {
    await tryIt('authenticate')
    await operation('authenticate').getByLabel('Example that leads to').selectOption('MFA_REQUIRED')
    await send('authenticate')
    await clickOnce(operation('authenticate').getByRole('button', { name: /^verify, sms/ }))
    await answered('verifyFactor', 200)
    await clickOnce(operation('verifyFactor').getByRole('button', { name: /^prev/ }))
    await answered('previous', 200)
    await clickOnce(operation('previous').getByRole('button', { name: /^cancel/ }))
    await answered('cancel', 200)
    await page.getByText('No sign-in is in progress').waitFor()
  })

  test('shows an error with its meaning', async () => {
    await tryIt('skip')
    await send('skip')
    await answered('skip', 401)
    await operation('skip')
      .locator('.answer')
      .getByText('the handle is unknown, expired or belongs to another browser')
      .waitFor()
    await operation('skip').getByLabel('Answer body').getByText('"errorCode": "E0000011"').waitFor()
  })

  test('shows an image of an answer', async () => {
    await clickOnce(page.getByRole('button', { name: 'erin.enroll@example.test' }))
    await send('authenticate')
    await clickOnce(
      operation('authenticate')
        .getByRole('button', { name: /^enroll, token:software:totp, GOOGLE/ })
        .first(),
    )
    await clickOnce(operation('enrollFactor').getByRole('button', { name: /^qrcode/ }))
    await operation('getEnrollmentPicture').getByAltText('The image of the answer').waitFor()
    await until(() => page.evaluate<boolean>('document.querySelector(".answer img").naturalWidth > 0'))
  })

  test('opens a redirect as a navigation, in a new tab', async () => {
    await clickOnce(page.getByRole('button', { name: 'cleo.claims@example.test' }))
    await send('authenticate')
    await clickOnce(operation('authenticate').getByRole('button', { name: /^verify, claims_provider/ }))
    const opened = page.context().waitForEvent('page')
    await clickOnce(operation('verifyFactor').getByRole('button', { name: /^next: redirect/ }))
    const tab = await opened
    await tab.waitForURL(`${demo.sandboxUrl}/**`)
    await tab.close()
  })

  test('sends the example of every operation, and each answer is a documented one', async () => {
    for (const [id, { tag, responses }] of Object.entries(OPERATIONS)) {
      if (tag === 'Redirects') continue
      await tryIt(id)
      await send(id)
      const status = operation(id).getByRole('status')
      const words = (await status.textContent()) ?? ''
      expect([id, words]).toEqual([id, expect.stringMatching(/^[2-4]\d\d after/)])
      if (words.startsWith('2')) expect(Object.keys(responses)).toContain(words.slice(0, 3))
    }
  })
})

test('a URL fragment that names an operation opens it', async () => {
  await open('#changePassword')
  await page.locator('#changePassword').getByText('oldPassword', { exact: true }).waitFor()
})

test('on a phone, with everything expanded, it has no accessibility fault in light or dark mode', async () => {
  await open('#authenticate', { width: 360, height: 740 })
  const authenticate = page.locator('#authenticate')
  await clickOnce(authenticate.getByRole('button', { name: 'Try it' }))
  await authenticate.locator('form select').selectOption('MFA_REQUIRED')
  await clickOnce(authenticate.getByRole('button', { name: 'Send', exact: true }))
  await authenticate.getByRole('button', { name: /^verify, push/ }).waitFor()
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await page.evaluate(OPEN_ONE_OF_EACH_KIND)).toBeGreaterThan(1)
  const exclude = ['#tools'] // scanned by the tests of the tools
  expect(await faultsOf(page, { rules: COLOUR_RULES, exclude })).toEqual([])
  await page.emulateMedia({ colorScheme: 'light' })
  expect(await faultsOf(page, { exclude })).toEqual([])
  await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true')
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
})
