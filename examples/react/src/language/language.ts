import { ENGLISH } from './english.ts'
import { GERMAN } from './german.ts'

const TEXTS = { en: ENGLISH, de: GERMAN }
export type Language = keyof typeof TEXTS

const isKnown = (tag: string | undefined): tag is Language => tag !== undefined && Object.hasOwn(TEXTS, tag)

/** A cookie, because signing out clears the storage of the origin. */
const [, kept] = /(?:^|; )language=(\w+)/.exec(document.cookie) ?? []

/** The user's choice. Undefined: the browser's languages apply. */
export const chosenLanguage = isKnown(kept) ? kept : undefined
export const language =
  chosenLanguage ?? navigator.languages.map((tag) => tag.slice(0, 2)).find(isKnown) ?? 'en'
export const texts = TEXTS[language]

document.documentElement.lang = language

/** Reloads the page in another language. A sign-in in progress continues. */
export function switchTo(chosen: Language): void {
  // biome-ignore lint/suspicious/noDocumentCookie: some browsers have no Cookie Store API
  document.cookie = `language=${chosen}; Path=/; Max-Age=31536000; SameSite=Strict`
  location.reload()
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

/** Without the date. */
export function clockTimeOf(iso: string): string {
  return new Date(iso).toLocaleTimeString(language, { timeStyle: 'short' })
}
