import { afterEach, expect, test } from '@jest/globals'
import { click } from 'gatehouse-test-support/click'
import { expectGoodScreen, hasFocus, useDemo } from 'gatehouse-test-support/demo-page'

/** "My access": the session, the user's other sessions, groups and roles. */
const harness = useDemo()
afterEach(async () => {
  // no session of the previous test is listed
  await fetch(`${harness.demo.url}/demo/reset`, { method: 'POST' })
})

async function signedIn(login = 'amelia.stone', firstName = 'Amelia') {
  const visitor = await harness.visit()
  await visitor.signIn(login)
  await visitor.screen(`Hello ${firstName}`)
  return visitor
}

test('shows session, roles and groups, also after a reload, until sign-out', async () => {
  const { main, page, screen, press } = await signedIn()
  await main.getByText('amelia.stone@example.test').waitFor()
  await main.getByRole('table', { name: 'My groups' }).waitFor()
  const roles = main.locator('.tags')
  expect(await roles.getByRole('listitem').allInnerTexts()).toEqual(['Resource administrator', 'User'])
  expect(await roles.innerText()).toBe('Resource administrator\nUser') // also when copied
  await main.getByText('You are not signed in anywhere else.').waitFor()
  await main.getByText('Browsers bind sessions to a device over https only.').waitFor()
  await expectGoodScreen(page)
  await press('Stay signed in')
  await page.reload()
  await screen('Hello Amelia')
  await press('Sign out')
  await screen('Sign in')
  await page.reload()
  await screen('Sign in')
})

test('a session that ends soon is announced', async () => {
  const { page, notice } = await signedIn()
  await page.route('**/api/v1/sessions/me', async (route) => {
    const idleExpiresAt = new Date(Date.now() + 90_000).toISOString()
    await route.fulfill({ json: { ...(await (await route.fetch()).json()), idleExpiresAt } })
  })
  await page.reload()
  await notice(/Your session ends in 2 min/)
})

test('the session of another browser is listed and can be ended: that browser is signed out', async () => {
  const here = await signedIn()
  const there = await signedIn()
  // the demo is on http, where no session is bound
  await here.page.route('**/api/v1/sessions', async (route) => {
    const { sessions } = await (await route.fetch()).json()
    const bound = sessions.map((one: { current: boolean }) => ({ ...one, deviceBound: !one.current }))
    await route.fulfill({ json: { sessions: bound } })
  })
  await here.page.reload()
  const own = here.main.getByRole('listitem').filter({ hasText: '(this one)' })
  await own.waitFor()
  expect(await own.innerText()).not.toContain('bound')
  await here.main.getByRole('listitem').filter({ hasText: '(bound to its device)' }).waitFor()
  await expectGoodScreen(here.page)
  await here.press(/^End the session of/)
  await here.main.getByText('You are not signed in anywhere else.').waitFor()
  await there.page.reload()
  await there.screen('Sign in')
})

test('after another user signs in in another tab, the page notices and shows that user', async () => {
  const visitor = await signedIn()
  const tab = await visitor.context.newPage()
  await tab.goto(harness.demo.url)
  await tab.getByRole('heading', { name: 'Hello Amelia' }).waitFor()
  await tab.evaluate(`fetch('/api/v1/authn', { method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'walter.warn', password: 'Demo-Password-1' }) })`)
  await tab.reload()
  await tab.getByRole('heading', { name: 'Hello Walter' }).waitFor()
  await visitor.screen('Hello Walter')
  await visitor.notice(/Another sign-in in this browser has replaced your session/)
})

test('groups can be searched, also with the keyboard, and more can be loaded', async () => {
  const { main, page } = await signedIn()
  const field = main.getByLabel('Part of the name')
  await field.focus()
  await page.keyboard.type('linux')
  await page.keyboard.press('Enter')
  const found = main.getByRole('table', { name: 'Groups found' })
  await found.getByText('Production Linux - View').waitFor()
  await expectGoodScreen(page)
  await field.fill('no such group')
  await page.keyboard.press('Enter')
  await main.getByText('No group has this text').waitFor()
  await field.fill('')
  await page.keyboard.press('Enter')
  await main.getByText('10 shown').waitFor()
  await click(main.getByRole('button', { name: 'More' }))
  await main.getByText('20 shown').waitFor()
  expect(await hasFocus(found.locator('tbody tr:nth-child(11) td:first-child'))).toBe(true)
})

test('a user without privileged access sees no error', async () => {
  const visitor = await harness.visit()
  const json = { errorCode: 'pam_user_unknown', errorSummary: 'unknown', errorCauses: [] }
  await visitor.page.route('**/api/v1/pam/me', (route) => route.fulfill({ status: 404, json }))
  await visitor.signIn('amelia.stone')
  await visitor.main.getByText('You have no account for privileged access.').waitFor()
  expect(await visitor.main.getByRole('alert').allInnerTexts()).not.toContainEqual(
    expect.stringMatching(/\w/),
  )
  await expectGoodScreen(visitor.page)
})

test('a failure of the PAM API does not affect the rest of the page', async () => {
  harness.sandbox.faults.pam.set({ kind: 'html', status: 500 })
  const { main } = await signedIn('liv.lockable', 'Liv')
  await main
    .getByRole('alert')
    .filter({ hasText: /groups cannot be read/ })
    .waitFor()
  await main.getByText('liv.lockable@example.test').waitFor()
  await main.getByText('You are not signed in anywhere else.').waitFor()
})
