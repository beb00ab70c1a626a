import type { GatehouseError } from '../gatehouse-error.ts'
import { ACTIONS, type Action, CAUSES, type MessageName } from './actions.ts'
import { ENGLISH } from './english.ts'
import { GERMAN } from './german.ts'

export type { Action }

/** A message for users. */
export interface Message {
  readonly title: string
  readonly text: string
  readonly action: Action
  /** BCP 47: the language of the title and the text. */
  readonly language: Language
}

export type Language = 'en' | 'de'

const TEXTS = { en: ENGLISH, de: GERMAN }

/** @param wanted BCP 47, the preferred first, such as `navigator.languages`. @returns the first that exists, else English */
export function chooseLanguage(wanted: readonly string[]): Language {
  const known = wanted
    .map((tag) => tag.toLowerCase().split('-')[0])
    .find((tag) => tag === 'en' || tag === 'de')
  return known ?? 'en'
}

/** The message for an error, by its code and its causes. For an unknown code, by the HTTP status. */
export function describeError(error: GatehouseError, language: Language = preferred()): Message {
  return messageOf(nameOf(error), language)
}

/** The message for a `factorResult` other than `WAITING`. */
export function describeResult(factorResult: string, language: Language = preferred()): Message {
  return messageOf(isName(factorResult) ? factorResult : 'unknown', language)
}

function nameOf({ code, status, message, causes }: GatehouseError): MessageName {
  const texts = [message, ...causes]
  const cause = CAUSES.find(
    ([name, pattern]) => name.startsWith(`${code} `) && texts.some((text) => pattern.test(text)),
  )
  if (cause) return cause[0]
  if (code !== undefined && isName(code)) return code
  if (status === 0) return 'offline'
  if (status === 429) return 'E0000047'
  return status > 500 ? 'E0000009' : 'unknown'
}

function isName(name: string): name is MessageName {
  return Object.hasOwn(ACTIONS, name)
}

function messageOf(name: MessageName, language: Language): Message {
  const [title, text] = TEXTS[language][name]
  return { title, text, action: ACTIONS[name], language }
}

function preferred(): Language {
  return chooseLanguage(globalThis.navigator?.languages ?? [])
}
