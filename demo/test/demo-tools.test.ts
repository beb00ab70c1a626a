import { describe, expect, test } from '@jest/globals'
import { click, clickOnce } from 'gatehouse-test-support/click'
import { expectGoodScreen, useDemo, type Visitor } from 'gatehouse-test-support/demo-page'
import { until } from 'gatehouse-test-support/until'
import type { Locator, Page } from 'playwright-core'

/**
 * The demo's tools next to the sign-in page: the list of users, their phone, the reset and the API
 * page, which is Swagger UI.
 */
const demo = useDemo()

test('the users can be filtered by name and description', async () => {
  const { page } = await demo.visit()
  const list = page.getByRole('region', { name: 'Users to try' })
  const users = list.getByRole('listitem')
  const total = demo.sandbox.users().length
  await list.getByText(`${total} users`, { exact: true }).waitFor()
  expect(await users.count()).toBe(total)
  await expectGoodScreen(page, { exclude: [] })
  const filter = list.getByRole('searchbox', { name: 'Find a user' })
  await filter.fill('SECURITY key U2F')
  await list.getByText(`1 of ${total} users`).waitFor()
  expect(await users.allInnerTexts()).toEqual([expect.stringContaining('uwe.key@example.test')])
  await filter.fill('lindqvist')
  expect(await users.allInnerTexts()).toEqual([expect.stringContaining('olga.expired@example.test')])
  await filter.fill('no such user')
  await list.getByText(`0 of ${total} users`).waitFor()
  await expectGoodScreen(page)
  await filter.fill('')
  expect(await users.count()).toBe(total)
})

test('a chosen user replaces a sign-in and a session; /demo/ leads to the page', async () => {
  const visitor = await demo.visit({ path: '/demo/' })
  await visitor.signIn('tomas.berg')
  await visitor.screen('Authenticator app')
  for (const [login, name] of [
    ['amelia.stone', 'Amelia'],
    ['liv.lockable', 'Liv'],
  ] as const) {
    await visitor.choose(login)
    await until(async () => (await visitor.main.getByLabel('Username').inputValue()).startsWith(login))
    await visitor.press('Sign in')
    await visitor.screen(`Hello ${name}`)
  }
})

test('a suspended user’s open page says that the session has ended; the user can sign in again after the suspension', async () => {
  const { page, screen, signIn, notice, alert } = await demo.visit()
  const row = page
    .getByRole('region', { name: 'Users to try' })
    .getByRole('listitem')
    .filter({ hasText: 'amelia' })
  const press = (name: string) => clickOnce(row.getByRole('button', { name, exact: true }))
  await signIn('amelia.stone')
  await screen('Hello Amelia')
  await press('Suspend')
  await screen('Sign in')
  await notice(/ended elsewhere/)
  await page.getByText('amelia.stone@example.test is SUSPENDED.').waitFor()
  await signIn('amelia.stone')
  await alert(/Incorrect username or password/)
  await press('Unsuspend')
  await page.getByText('amelia.stone@example.test is ACTIVE.').waitFor()
  await signIn('amelia.stone')
  await screen('Hello Amelia')
  await press('Reset password')
  await screen('Sign in')
  await page.getByText('amelia.stone@example.test is RECOVERY.').waitFor()
  await press('Deactivate')
  await page.getByText('amelia.stone@example.test is DEPROVISIONED.').waitFor()
})

test('a reset signs everyone out and restores all users and their attempts', async () => {
  const here = await demo.visit()
  await here.signIn('amelia.stone')
  await here.screen('Hello Amelia')
  const there = await demo.visit()
  for (let attempt = 1; attempt <= 3; attempt += 1) await there.signIn('liv.lockable', 'wrong')
  await there.screen('Your account is locked')
  const device = await there.context.cookies()

  await click(there.page.getByRole('button', { name: 'Reset the demo' }))
  await there.screen('Sign in')
  await there.signIn('liv.lockable')
  await there.screen('Hello Liv')
  expect(device.length).toBeGreaterThan(0)
  await here.page.reload()
  await here.screen('Sign in')
})

test('a reset starts the broker again; other sites cannot cause it', async () => {
  const { url, opsUrl } = demo.demo
  const reset = async (headers: Record<string, string>) =>
    (await fetch(`${url}/demo/reset`, { method: 'POST', headers })).status
  expect(await reset({ origin: 'https://other.example' })).toBe(403)
  expect(await reset({})).toBe(204)
  await until(async () => (await fetch(`${opsUrl}/readyz`)).status === 200)
})

/** It scans QR codes, shows codes and answers push requests for the chosen user. */
describe('the phone', () => {
  async function choose(login: string): Promise<{ visitor: Visitor; phone: Locator }> {
    const visitor = await demo.visit()
    await visitor.choose(login)
    await visitor.press('Sign in')
    return { visitor, phone: visitor.page.getByRole('region', { name: 'The phone' }) }
  }

  describe('enrolling with the phone', () => {
    test('the phone of another user refuses the QR code', async () => {
      const { visitor } = await choose('erin.enroll')
      await visitor.press(/^Authenticator app/)
      const image = visitor.main.getByRole('img', { name: 'QR code to scan' })
      const src = (await image.getAttribute('src')) ?? ''
      const statuses = await visitor.page.evaluate<number[]>(`fetch(${JSON.stringify(src)})
      .then((picture) => picture.blob())
      .then((body) => Promise.all(['amelia.stone', 'nobody', 'erin.enroll'].map((login) =>
        fetch('/demo/phone/scan?login=' + login, { method: 'POST', body }).then(({ status }) => status))))`)
      expect(statuses).toEqual([400, 400, 204])
    })

    test('a hardware token: the phone shows the serial number and the code of a spare token', async () => {
      const { visitor, phone } = await choose('erin.enroll')
      await visitor.press(/^Hardware token/)
      const spare = phone.getByRole('group', { name: /^Spare token, serial number/ })
      const serial = /serial number (\S+)/.exec(await spare.innerText())?.[1] ?? ''
      await visitor.type('Serial number', serial)
      await visitor.type('Code', await spare.locator('.code').innerText())
      await clickOnce(visitor.main.getByRole('button', { name: 'Continue' }))
      await visitor.main.getByText('Set up: Hardware token').waitFor()
    })
  })

  test('the phone belongs to the user whose login, full or short, is typed', async () => {
    const visitor = await demo.visit()
    await visitor.signIn('sana.sms')
    await visitor.press('Send the code')
    const phone = visitor.page.getByRole('region', { name: 'The phone' })
    await phone.getByText('sana.sms@example.test').waitFor()
    await phone.getByText(/code is \d+/).waitFor()
    await until(() => visitor.page.getByRole('button', { name: 'sana.sms', pressed: true }).isVisible())
  })
})

describe('the API page', () => {
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
})
