import { chooseLanguage } from '/demo/client/messages/index.js'
import { ENGLISH } from '../texts/english.js'
import { GERMAN } from '../texts/german.js'

/** Only the sign-in page can switch the language. The other pages are in English. */
const buttons = document.querySelectorAll<HTMLButtonElement>('#languages button')
/** A cookie, because signing out clears the storage of the origin. */
const [, kept] = /(?:^|; )language=(\w+)/.exec(document.cookie) ?? []
const choice = buttons.length > 0 ? kept : 'en'

/** The user's choice. Undefined: the browser's languages apply. */
export const chosenLanguage = choice === undefined ? undefined : chooseLanguage([choice])
export const language = chosenLanguage ?? chooseLanguage(navigator.languages)
export const texts = { en: ENGLISH, de: GERMAN }[language]

document.documentElement.lang = language

/** Shows the switch. A new language needs a reload. @param leave keeps what the reloaded page needs */
export function createLanguageSwitch(leave: () => void): void {
  for (const button of buttons) {
    button.ariaPressed = String(button.lang === language)
    button.addEventListener('click', () => {
      // biome-ignore lint/suspicious/noDocumentCookie: some browsers have no Cookie Store API
      document.cookie = `language=${button.lang}; Path=/; Max-Age=31536000; SameSite=Strict`
      leave()
      location.reload()
    })
  }
}

export function listOf(items: readonly string[]): string {
  return new Intl.ListFormat(language).format(items)
}

/** From a minute on in minutes, rounded up. */
export function durationOf(seconds: number): string {
  const [value, unit] = seconds < 60 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute']
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(value)
}

export function timeOf(iso: string): string {
  return new Date(iso).toLocaleString(language, { dateStyle: 'medium', timeStyle: 'short' })
}
