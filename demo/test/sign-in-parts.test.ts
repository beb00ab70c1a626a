import { describe, expect, test } from '@jest/globals'
import { clickOnce } from 'gatehouse-test-support/click'
import { expectGoodScreen, faultsOf, hasFocus, useDemo } from 'gatehouse-test-support/demo-page'
import { until } from 'gatehouse-test-support/until'
import { isMet } from '../../examples/react/src/sign-in/password-check.ts'

/** The parts of the sign-in page that several screens have, and the demo's tools on a phone. */
const harness = useDemo()

describe('a new password', () => {
  test('the rules of the policy are ticked while the user types', async () => {
    const visitor = await harness.visit()
    await visitor.signIn('olga.expired')
    await visitor.screen('Your password has expired')
    const rules = visitor.main.getByRole('listitem')
    const met = async () =>
      (await rules.allTextContents())
        .filter((text) => text.includes('(met)'))
        .map((text) => text.split(' (')[0])
    expect(await met()).toEqual([])
    const field = visitor.main.getByLabel('New password')
    await field.pressSequentially('lightHouse')
    const letters = ['at least 8 characters', 'a lowercase letter', 'an uppercase letter']
    await until(async () => (await met()).join() === [...letters, 'no part of your username'].join())
    await visitor.notice(/^4 of 5 met$/)
    await expectGoodScreen(visitor.page)
    await field.pressSequentially('-expired-1')
    await until(async () => (await met()).join() === [...letters, 'a digit'].join())
    await field.fill('')
    await until(async () => (await met()).length === 0)
    const described = (await field.getAttribute('aria-describedby')) ?? ''
    const ids = described.split(' ').map((id) => visitor.main.locator(`[id="${id}"]`))
    expect(await Promise.all(ids.map((found) => found.count()))).toEqual([1, 1])
  })

  const USER = { login: 'ann.o-hara@example.test', firstName: 'Ann', lastName: 'O’Hara' }
  test.each([
    ['minLength', 8, 'abcdefgh', 'abcdefg'],
    ['minLowerCase', 2, 'aB1ß', 'AB1c'],
    ['minUpperCase', 1, 'É', 'é1!'],
    ['minNumber', 2, '1a2', '1a!'],
    ['minSymbol', 1, 'a b', 'aB1é'],
    ['excludeUsername', undefined, 'annual-o-1', 'my-HARA-1'],
    ['excludeFirstName', undefined, 'ann', ''],
    ['excludeLastName', undefined, 'hara', 'to’o’HARA'],
  ] as const)('%s is met or not', (key, count, right, wrong) => {
    const rule = { key, ...(count && { count }) }
    expect([isMet(rule, right, USER), isMet(rule, wrong, USER)]).toEqual([true, false])
  })

  test('whether a password was used before, only Okta can tell', () => {
    expect(isMet({ key: 'historyCount', count: 4 }, 'Lighthouse-42', USER)).toBeUndefined()
  })
})

test('the button that shows the password is in the field, and keeps the focus', async () => {
  const { page, main } = await harness.visit()
  const field = main.getByLabel('Password')
  const button = main.getByRole('button', { name: 'Show password' })
  await field.fill('Lighthouse-42')
  const [outer, inner] = [await field.boundingBox(), await button.boundingBox()]
  if (!outer || !inner) throw new Error('not shown')
  expect(inner.x).toBeGreaterThan(outer.x)
  expect(inner.x + inner.width).toBeLessThanOrEqual(outer.x + outer.width)
  expect(inner.y + inner.height).toBeLessThanOrEqual(outer.y + outer.height + 1)
  await field.focus()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Space')
  expect(await field.getAttribute('type')).toBe('text')
  expect(await button.getAttribute('aria-pressed')).toBe('true')
  expect([await hasFocus(button), await field.inputValue()]).toEqual([true, 'Lighthouse-42'])
  await page.keyboard.press('Space')
  expect(await field.getAttribute('type')).toBe('password')
  expect(await button.getAttribute('aria-pressed')).toBe('false')
})

test('the card is about 400 px wide; it has the portal’s logo, help and terms', async () => {
  const { page } = await harness.visit()
  const card = await page.locator('.card').boundingBox()
  expect(card?.width).toBe(400)
  await page.getByRole('banner').getByText('Portal').waitFor()
  const footer = page.getByRole('contentinfo')
  expect(await footer.getByRole('link').allInnerTexts()).toEqual(['Help', 'Terms of use'])
})

test('after the first step, the page shows who is signing in; another user can begin instead', async () => {
  const visitor = await harness.visit()
  await visitor.signIn('tomas.berg')
  await visitor.screen('Authenticator app')
  await visitor.main.getByText('tomas.berg@example.test').waitFor()
  const cancelled = visitor.page.waitForResponse('**/api/v1/authn/cancel')
  await visitor.press('Not you? Sign in as another user')
  expect((await cancelled).status()).toBe(200)
  await visitor.screen('Sign in')
  const field = visitor.main.getByLabel('Username')
  expect([await field.inputValue(), await hasFocus(field)]).toEqual(['', true])
  await visitor.signIn('amelia.stone')
  await visitor.screen('Hello Amelia')
})

test('factors to choose from have a name, a detail and an icon, and no raw type', async () => {
  const visitor = await harness.visit()
  await visitor.signIn('max.many')
  await visitor.screen(/Choose how to verify/)
  const choices = visitor.main.locator('.choices button')
  const texts = await choices.allInnerTexts()
  expect(texts.map((text) => text.split('\n')[0]?.trim())).toEqual(
    expect.arrayContaining(['Authenticator app', 'Okta Verify', 'Text message', 'Security key']),
  )
  expect(texts.join()).toContain('A code to +1 XXX-XXX-')
  expect(texts.join()).not.toMatch(/token:|signed_nonce|webauthn|sms/)
  expect(await choices.locator('svg[aria-hidden="true"]').count()).toBe(2 * texts.length)
})

describe('a push', () => {
  test('is sent at once if it is the recommended factor, and not again after going back or a reload', async () => {
    const visitor = await harness.visit()
    const sent: string[] = []
    visitor.page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (/\/factors\/[^/]+\/verify$/.test(pathname)) sent.push(pathname)
    })
    await visitor.signIn('priya.nair')
    await visitor.screen('Look at your phone')
    expect(harness.sandbox.phone.request('priya.nair')).toBeDefined()
    await expectGoodScreen(visitor.page)
    await visitor.press('Back')
    await visitor.screen(/Choose how to verify/)
    sent.splice(0)
    await visitor.page.reload()
    await visitor.screen(/Choose how to verify/)
    await visitor.press(/^Okta Verify code/)
    await visitor.main.getByLabel('Code').waitFor()
    expect(sent).toEqual([])
  })

  test('that waits can still remember the device', async () => {
    const visitor = await harness.visit()
    await visitor.signIn('priya.nair')
    await visitor.screen('Look at your phone')
    const polled = visitor.page.waitForRequest((request) => request.url().includes('rememberDevice=true'))
    await visitor.main.getByLabel('Do not ask again on this device').check()
    await polled
    harness.sandbox.answerPush('priya.nair', 'approve')
    await visitor.screen('Hello Priya')
    await visitor.press('Sign out')
    await visitor.signIn('priya.nair')
    await visitor.screen('Hello Priya')
  })

  test('is not sent at once if a security key is recommended', async () => {
    const visitor = await harness.visit()
    await visitor.signIn('max.many')
    await visitor.screen(/Choose how to verify/)
    expect(harness.sandbox.phone.request('max.many')).toBeUndefined()
  })
})

describe('on a phone', () => {
  test('the demo’s users are in a sheet that opens at the bottom, and closes once one is chosen', async () => {
    const visitor = await harness.visit({ isNew: true })
    const { page, main } = visitor
    await page.setViewportSize({ width: 320, height: 640 })
    const list = page.getByRole('region', { name: 'Users to try' })
    const open = page.getByRole('button', { name: 'Demo: users and their phones' })
    await open.waitFor()
    expect(await list.isVisible()).toBe(false)
    await clickOnce(open)
    await list.waitFor()
    expect(await open.getAttribute('aria-expanded')).toBe('true')
    expect(await faultsOf(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    await clickOnce(list.getByRole('button', { name: 'nina.number' }))
    await list.waitFor({ state: 'hidden' })
    expect(await main.getByLabel('Username').inputValue()).toBe('nina.number@example.test')
    await visitor.press('Sign in')
    const number = await main.getByText(/^\d\d$/).innerText()
    await clickOnce(page.getByRole('button', { name: 'Demo: the phone has a request' }))
    await clickOnce(page.getByRole('button', { name: number, exact: true }))
    await visitor.screen('Hello Nina')
  })
})
