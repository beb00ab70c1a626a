import type { GatehouseError } from '../gatehouse-error.ts'
import type { SessionEnd } from '../session-watch.ts'
import { ACTIONS, type Action, CAUSES, CODES, type MessageName, RESULTS, SESSION_ENDS } from './catalogue.ts'
import { ENGLISH, TRY_AGAIN_ENGLISH } from './english.ts'
import { GERMAN, TRY_AGAIN_GERMAN } from './german.ts'

export type { Action }

/** A message for users. */
export interface Message {
  readonly title: string
  readonly text: string
  readonly action: Action
  /** BCP 47: the language of the title and the text. */
  readonly language: Language
  /**
   * What Gatehouse or Okta says besides, such as the broken rules of the password policy. May begin with a field's name, and
   * may be in another language: show each with `dir="auto"`. Empty if the text says everything.
   */
  readonly details: readonly string[]
}

export type Language = 'en' | 'de'

const TEXTS = { en: ENGLISH, de: GERMAN }
const TRY_AGAIN = { en: TRY_AGAIN_ENGLISH, de: TRY_AGAIN_GERMAN }

/** @param wanted BCP 47, the preferred first, such as `navigator.languages`. @returns the first that exists, else English */
export function chooseLanguage(wanted: readonly string[]): Language {
  const known = wanted
    .map((tag) => tag.toLowerCase().split('-')[0])
    .find((tag) => tag === 'en' || tag === 'de')
  return known ?? 'en'
}

/**
 * The message for an error, by its code and its causes. Without a code, by the HTTP status. If the user can try again and
 * `retryAfterSeconds` is set, the text ends with the time to wait.
 */
export function describeError(error: GatehouseError, language: Language = preferred()): Message {
  const { code, message, causes } = error
  const name = nameOf(error)
  if (name === 'unknown' && code !== undefined) return messageOf(name, language, [message, ...causes])
  const isPartial = name === 'invalidInput' || name === 'passwordRules'
  const answer = messageOf(name, language, isPartial ? causes : [])
  if (answer.action !== 'retry' || error.retryAfterSeconds === undefined) return answer
  return { ...answer, text: `${answer.text} ${tryAgainIn(error.retryAfterSeconds, language)}` }
}

/** The message for a `factorResult` other than `WAITING` and `CHALLENGE`. */
export function describeResult(factorResult: string, language: Language = preferred()): Message {
  return messageOf(entryOf(RESULTS, factorResult) ?? 'unknown', language)
}

/** The message for the reason that `onSessionEnd` gives. */
export function describeSessionEnd(reason: SessionEnd, language: Language = preferred()): Message {
  return messageOf(SESSION_ENDS[reason], language)
}

function nameOf({ code, status, message, causes }: GatehouseError): MessageName {
  if (code === undefined) return nameOfStatus(status)
  const texts = [message, ...causes]
  const cause = CAUSES.find(([of, pattern]) => of === code && texts.some((text) => pattern.test(text)))
  return cause?.[2] ?? entryOf(CODES, code) ?? 'unknown'
}

/** Without an answer of the broker: there is no connection, or a proxy has answered. */
function nameOfStatus(status: number): MessageName {
  if (status < 400 || status === 408) return 'offline'
  if (status === 429) return 'rateLimited'
  return status >= 500 ? 'unavailable' : 'unknown'
}

const MINUTE = 60
const HOUR = 3600

/** Rounded up: in seconds below a minute, in minutes up to 90, then in hours. */
function tryAgainIn(seconds: number, language: Language): string {
  const whole = Math.ceil(seconds)
  const [size, unit] =
    whole < MINUTE
      ? ([1, 'second'] as const)
      : whole <= 90 * MINUTE
        ? ([MINUTE, 'minute'] as const)
        : ([HOUR, 'hour'] as const)
  return TRY_AGAIN[language](new Intl.RelativeTimeFormat(language).format(Math.ceil(whole / size), unit))
}

function entryOf<Entry>(table: Readonly<Record<string, Entry>>, key: string): Entry | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}

function messageOf(name: MessageName, language: Language, details: readonly string[] = []): Message {
  const [title, text] = TEXTS[language][name]
  return { title, text, action: ACTIONS[name], language, details }
}

function preferred(): Language {
  return chooseLanguage(globalThis.navigator?.languages ?? [])
}
