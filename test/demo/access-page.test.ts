import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { click, clickOnce } from '../support/click.ts'
import { type DemoHarness, expectGoodScreen, hasFocus, openDemo } from '../support/demo-page.ts'

/** "My access": the session, where else one is signed in, and groups and roles. */
let harness: DemoHarness
beforeAll(async () => {
  harness = await openDemo()
})
afterAll(() => harness.stop())
afterEach(async () => {
  await harness.tidy()
  await fetch(`${harness.demo.url}/demo/reset`, { method: 'POST' }) // no session of the test before is listed
})

async function signedIn(login = 'amelia.stone', firstName = 'Amelia') {
  const visitor = await harness.visit()
  await visitor.signIn(login)
  if (firstName === 'Walter') await visitor.press('Skip')
  await visitor.screen(`Hello ${firstName}`)
  return visitor
}

test('shows session, roles and groups, also after a reload, until one signs out', async () => {
  const { main, page, screen, press } = await signedIn()
  await main.getByText('amelia.stone@example.test').waitFor()
  await main.getByRole('table', { name: 'My groups' }).waitFor()
  await main.getByText('You are not signed in anywhere else.').waitFor()
  await expectGoodScreen(page)
  await press('Stay signed in')
  await page.reload()
  await screen('Hello Amelia')
  await press('Sign out')
  await screen('Sign in')
  await page.reload()
  await screen('Sign in')
})

test('a session in another browser is seen, and ended: that browser is signed out', async () => {
  const here = await signedIn()
  const there = await signedIn()
  await here.page.reload()
  await here.main.getByText('(this one)').waitFor()
  await expectGoodScreen(here.page)
  await here.press(/^End the session of/)
  await here.main.getByText('You are not signed in anywhere else.').waitFor()
  await there.page.reload()
  await there.screen('Sign in')
})

test('all others are ended at once; a page that is open there says so', async () => {
  const here = await signedIn('nora.nopolicy', 'Nora')
  const there = [await signedIn('nora.nopolicy', 'Nora'), await signedIn('nora.nopolicy', 'Nora')]
  await here.page.reload()
  await here.press('End all others (2)')
  await here.main.getByText('You are not signed in anywhere else.').waitFor()
  for (const visitor of there) {
    await visitor.press('Search')
    await visitor.screen('Sign in')
    await visitor.alert(/signed out/)
  }
})

test('another tab has signed somebody else in: the page notices, and shows who it is now', async () => {
  const visitor = await signedIn()
  const tab = await visitor.context.newPage()
  await tab.goto(harness.demo.url)
  await clickOnce(tab.getByRole('button', { name: 'walter.warn@example.test' }))
  await clickOnce(tab.getByRole('main').getByRole('button', { name: 'Sign in' }))
  await clickOnce(tab.getByRole('main').getByRole('button', { name: 'Skip' }))
  await tab.getByRole('heading', { name: 'Hello Walter' }).waitFor()
  await visitor.press('Search')
  await visitor.screen('Hello Walter')
  await visitor.alert(/Another user has signed in/)
})

test('groups are searched, by keyboard too; more of them on request', async () => {
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

test('an access service in trouble does not take the rest of the page along', async () => {
  harness.sandbox.faults.pam.set({ kind: 'html', status: 500 })
  const { main } = await signedIn('liv.lockable', 'Liv')
  await main
    .getByRole('alert')
    .filter({ hasText: /access service/ })
    .waitFor()
  await main.getByText('liv.lockable@example.test').waitFor()
  await main.getByText('You are not signed in anywhere else.').waitFor()
})
