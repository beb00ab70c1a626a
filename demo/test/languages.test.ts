import { describe, expect, test } from '@jest/globals'
import * as client from 'gatehouse-client/messages'
import { clickOnce } from 'gatehouse-test-support/click'
import { expectGoodScreen, PASSWORD, useDemo, type Visitor } from 'gatehouse-test-support/demo-page'
import type { Page } from 'playwright-core'
import { ENGLISH } from '../../examples/react/src/language/english.ts'
import { FRENCH } from '../../examples/react/src/language/french.ts'
import { GERMAN } from '../../examples/react/src/language/german.ts'
import { SPANISH } from '../../examples/react/src/language/spanish.ts'

/**
 * The texts of all languages, the sign-in page in German, its language switch, and names and
 * messages that are written from right to left.
 */
const harness = useDemo()

const langOf = (page: Page) => page.evaluate<string>('document.documentElement.lang')

async function signInGerman(visitor: Visitor, login: string, password = PASSWORD) {
  await visitor.screen('Anmelden')
  await visitor.type('Benutzername', login)
  await visitor.type('Passwort', password)
  await visitor.press('Anmelden')
}

function flat(texts: object): [name: string, text: string][] {
  return Object.entries(texts).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value]] : flat(value).map(([key, text]) => [`${name}.${key}`, text]),
  )
}

test('the texts have the same placeholders in each language', () => {
  const placeholders = (texts: object) =>
    flat(texts).map(([name, text]) => [name, ...(text.match(/\{\w+\}/g) ?? []).sort()].join(' '))
  for (const texts of [GERMAN, FRENCH, SPANISH])
    expect(placeholders(texts).sort()).toEqual(placeholders(ENGLISH).sort())
})

/** Two spaces, one at an end, or a typewriter's quotation mark. */
const UNTIDY = /\s\s|^\s|\s$|['"]/
const TYPOGRAPHY = {
  en: [UNTIDY, { ENGLISH, messages: client.ENGLISH }],
  de: [UNTIDY, { GERMAN, messages: client.GERMAN }],
  fr: [RegExp(`${UNTIDY.source}|[^\u202f][:;!?»]|«[^\u202f]`), { FRENCH, messages: client.FRENCH }],
  /** Each question begins with its mark. Not those that the rule for symbols names. */
  es: [RegExp(`${UNTIDY.source}|^[^¿]*(?<! )\\?|^[^¡]*(?<! )!`), { SPANISH, messages: client.SPANISH }],
} as const

test.each(Object.entries(TYPOGRAPHY))(
  'the texts follow the typography of %s',
  (_language, [wrong, texts]) => {
    expect(flat(texts).filter(([, text]) => wrong.test(text))).toEqual([])
  },
)

test('a browser that prefers German: sign-in with a second factor, errors, groups, dates and sign-out', async () => {
  const visitor = await harness.visit({ locale: 'de-AT' })
  const { page, main } = visitor
  await visitor.screen('Anmelden')
  expect(await langOf(page)).toBe('de')
  expect(await page.title()).toBe('Anmelden · Portal')
  await expectGoodScreen(page)
  await signInGerman(visitor, 'tomas.berg', 'wrong')
  await visitor.alert(/Benutzername oder Passwort ist falsch/)
  await expectGoodScreen(page)
  await signInGerman(visitor, 'tomas.berg')
  await visitor.screen('Authenticator-App')
  await expectGoodScreen(page)
  await visitor.type('Code', harness.sandbox.totpCode('tomas.berg'))
  await visitor.press('Weiter')
  await visitor.screen('Hallo Tomas')
  await main.getByRole('table', { name: 'Meine Gruppen' }).waitFor()
  await main.getByText('Sie sind nirgendwo sonst angemeldet.').waitFor()
  await main.getByText('Passwort, Einmalcode und mehr als ein Faktor').waitFor()
  expect(await main.locator('time').first().innerText()).toMatch(/^\d\d\.\d\d\.\d{4}, \d\d:\d\d$/)
  await main.getByText(/^Endet bei Inaktivität\s*um \d\d:\d\d$/).waitFor()
  await expectGoodScreen(page)
  await visitor.press('Abmelden')
  await visitor.screen('Anmelden')
  await visitor.notice(/abgemeldet/)
})

test('the switch keeps the sign-in, is remembered, and tells the broker', async () => {
  const visitor = await harness.visit({ isNew: true })
  const { page, main } = visitor
  const accepted: (string | undefined)[] = []
  page.on('request', (request) => {
    if (request.url().includes('/api/v1/')) accepted.push(request.headers()['accept-language'])
  })
  await visitor.signIn('tomas.berg')
  await visitor.screen('Authenticator app')
  expect(await langOf(page)).toBe('en')
  accepted.splice(0)
  await clickOnce(page.getByRole('button', { name: 'Deutsch' }))
  await visitor.screen('Authenticator-App')
  expect(await langOf(page)).toBe('de')
  expect(await page.getByRole('button', { name: 'Deutsch' }).getAttribute('aria-pressed')).toBe('true')
  await visitor.type('Code', harness.sandbox.totpCode('tomas.berg'))
  await visitor.press('Weiter')
  await visitor.screen('Hallo Tomas')
  await main.getByText('Sie sind nirgendwo sonst angemeldet.').waitFor()
  expect(new Set(accepted)).toEqual(new Set(['de']))
  await visitor.press('Abmelden') // which clears the storage of the origin
  await visitor.screen('Anmelden')
  await page.reload()
  await visitor.screen('Anmelden')
  for (const [name, title, language] of [
    ['Français', 'Se connecter', 'fr'],
    ['Español', 'Iniciar sesión', 'es'],
    ['English', 'Sign in', 'en'],
  ] as const) {
    await clickOnce(page.getByRole('button', { name }))
    await visitor.screen(title)
    expect(await langOf(page)).toBe(language)
  }
})

describe('from right to left', () => {
  const ARABIC = 'قسم تقنية المعلومات ‎(IT) للوصول إلى جميع الخوادم الإنتاجية'
  const HEBREW = 'יש לבחור סיסמה אחרת: הסיסמה קצרה מדי (8)'

  const isRightToLeft = (visitor: Visitor, text: string) =>
    visitor.main
      .getByText(text)
      .first()
      .evaluate((found) => found.matches(':dir(rtl)'))

  test('names of users and groups, on a page that is written from right to left', async () => {
    const visitor = await harness.visit({ isNew: true })
    const { page } = visitor
    await page.route('**/api/v1/sessions/me', async (route) => {
      const response = await route.fetch()
      const session = await response.json()
      await route.fulfill({
        response,
        json: { ...session, profile: { ...session.profile, firstName: 'نورة' } },
      })
    })
    const groups = [{ id: '1', name: ARABIC, roles: ['end_user'] }]
    const meta = { fetchedAt: '2026-11-23T10:00:00.000Z', stale: true }
    const json = { user: '', groups, roles: ['end_user'], maximalRoles: [], unknownRoles: [HEBREW], meta }
    await page.route('**/api/v1/pam/me', (route) => route.fulfill({ json }))
    await page.evaluate(`document.documentElement.dir = 'rtl'`)
    await visitor.screen('Sign in')
    await visitor.signIn('max.many')
    await visitor.screen(/Choose how to verify/)
    await visitor.press(/^Security question/)
    await visitor.main.getByRole('textbox').fill('lighthouse')
    await visitor.press('Continue')
    await visitor.screen('Hello Max')
    await page.reload() // asks for the session
    await visitor.screen('Hello نورة')
    await page.evaluate(`document.documentElement.dir = 'rtl'`)
    await visitor.main.getByRole('table', { name: 'My groups' }).waitFor()
    expect(await isRightToLeft(visitor, ARABIC)).toBe(true)
    expect(await isRightToLeft(visitor, 'max.many@example.test')).toBe(false)
    await expectGoodScreen(page)
  })
})
