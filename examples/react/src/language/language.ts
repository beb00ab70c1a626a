import * as client from 'gatehouse-client/messages'
import { ENGLISH } from './english.ts'
import { FRENCH } from './french.ts'
import { GERMAN } from './german.ts'
import { SPANISH } from './spanish.ts'

/** To add a language, add its texts, its catalogue of messages, and a line here (BCP 47). */
const LANGUAGES = {
  en: { texts: ENGLISH, catalogue: client.ENGLISH },
  de: { texts: GERMAN, catalogue: client.GERMAN },
  fr: { texts: FRENCH, catalogue: client.FRENCH },
  es: { texts: SPANISH, catalogue: client.SPANISH },
}
export type Language = keyof typeof LANGUAGES

const isKnown = (tag: string | undefined): tag is Language =>
  tag !== undefined && Object.hasOwn(LANGUAGES, tag)

/** A cookie, because signing out clears the storage of the origin. */
const [, kept] = /(?:^|; )language=([\w-]+)/.exec(document.cookie) ?? []

/** The user's choice. Undefined: the browser's languages apply. */
export const chosenLanguage = isKnown(kept) ? kept : undefined
export const language =
  chosenLanguage ?? navigator.languages.flatMap((tag) => [tag, tag.split('-')[0]]).find(isKnown) ?? 'en'
export const { texts } = LANGUAGES[language]
/** The messages of gatehouse-client. */
export const messages = client.messages(LANGUAGES[language].catalogue)

document.documentElement.lang = language

/** Reloads the page in another language. A sign-in in progress continues. */
export function switchTo(chosen: Language): void {
  // biome-ignore lint/suspicious/noDocumentCookie: some browsers have no Cookie Store API
  document.cookie = `language=${chosen}; Path=/; Max-Age=31536000; SameSite=Strict`
  location.reload()
}

/** Each with its name in itself. */
export const languages = (Object.keys(LANGUAGES) as Language[]).map(
  (tag) => [tag, LANGUAGES[tag].texts.languageName] as const,
)

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
