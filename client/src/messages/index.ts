import type { Denial } from '../denial.ts'
import type { SessionEnd } from '../session-watch.ts'
import type { Catalogue } from './catalogue.ts'
import { ENGLISH } from './english.ts'
import { FRENCH } from './french.ts'
import { GERMAN } from './german.ts'
import type { Action, MessageKey } from './message-keys.ts'
import { type Message, type Messages, messages } from './messages.ts'
import type { AppliedRule, PasswordRule } from './password-rules.ts'
import { SPANISH } from './spanish.ts'

export type { Action, AppliedRule, Catalogue, Message, MessageKey, Messages, PasswordRule }
export { ENGLISH, FRENCH, GERMAN, messages, SPANISH }

const BUILT_IN = {
  en: messages(ENGLISH),
  de: messages(GERMAN),
  fr: messages(FRENCH),
  es: messages(SPANISH),
}

/** The languages that are built in. */
export type Language = keyof typeof BUILT_IN

/**
 * @param wanted BCP 47, the preferred first, such as `navigator.languages`. @returns the first that
 * exists, else English
 */
export function chooseLanguage(wanted: readonly string[]): Language {
  const isBuiltIn = (language: string): language is Language => Object.hasOwn(BUILT_IN, language)
  return wanted.map((tag) => tag.toLowerCase().replace(/-.*/, '')).find(isBuiltIn) ?? 'en'
}

/** `messages(…).describeError` in a built-in language. */
export function describeError(error: unknown, language: Language = preferred()): Message {
  return BUILT_IN[language].describeError(error)
}

/** `messages(…).describe` in a built-in language. */
export function describe(key: MessageKey, language: Language = preferred()): Message {
  return BUILT_IN[language].describe(key)
}

/** `messages(…).describeResult` in a built-in language. */
export function describeResult(factorResult: string, language: Language = preferred()): Message {
  return BUILT_IN[language].describeResult(factorResult)
}

/** `messages(…).describeSessionEnd` in a built-in language. */
export function describeSessionEnd(reason: SessionEnd, language: Language = preferred()): Message {
  return BUILT_IN[language].describeSessionEnd(reason)
}

/** `messages(…).describeDenial` in a built-in language. */
export function describeDenial(denial: Denial, language: Language = preferred()): Message {
  return BUILT_IN[language].describeDenial(denial)
}

/** `messages(…).describePasswordPolicy` in a built-in language. */
export const describePasswordPolicy = (
  policy: Parameters<Messages['describePasswordPolicy']>[0],
  language: Language = preferred(),
) => BUILT_IN[language].describePasswordPolicy(policy)

function preferred(): Language {
  return chooseLanguage(globalThis.navigator?.languages ?? [])
}
