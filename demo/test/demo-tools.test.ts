import { expect, test } from '@jest/globals'
import { click, clickOnce } from 'gatehouse-test-support/click'
import { expectGoodScreen, useDemo } from 'gatehouse-test-support/demo-page'
import { until } from 'gatehouse-test-support/until'

/**
 * The demo's tools next to the sign-in page: the list of users, the reset and the link to the API
 * page.
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
  await visitor.screen(/authenticator app/)
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
