import type { PasswordPolicy } from '../answers.ts'
import type { Denial } from '../denial.ts'
import type { GatehouseError } from '../gatehouse-error.ts'
import type { ReauthenticationError } from '../reauthentication-error.ts'
import type { SessionEnd } from '../session-watch.ts'
import type { Catalogue, Plural } from './catalogue.ts'
import {
  ACTIONS,
  type Action,
  BROWSER_ERRORS,
  DENIALS,
  FIELDS,
  GATEHOUSE_CODES,
  METHODS_NEEDED,
  type MessageKey,
  REAUTHENTICATIONS,
  RESULTS,
  SESSION_ENDS,
} from './message-keys.ts'
import { OKTA_CODES, VARIANTS } from './okta-codes.ts'
import { type AppliedRule, isCounted, minimumAgeIn, rulesIn, rulesOf } from './password-rules.ts'

/** A message for users. */
export interface Message {
  readonly key: MessageKey
  readonly title: string
  readonly text: string
  readonly action: Action
  /**
   * The name of the field to correct, such as `oldPassword`, if it is known. The causes of an error
   * may name others.
   */
  readonly field: string | undefined
  /** BCP 47: the language of the title and the text. */
  readonly language: string
  /** The broken rules of the password policy, as far as they are known. */
  readonly rules: readonly AppliedRule[]
  /**
   * The broken rules as texts, and what Gatehouse or Okta says besides. May begin with a field's
   * name, and may be in another language: show each with `dir="auto"`. Empty if the text says
   * everything.
   */
  readonly details: readonly string[]
}

export type Messages = ReturnType<typeof messages>

/** The messages in the language of a catalogue. */
export function messages(catalogue: Catalogue) {
  const { language } = catalogue
  const messageOf = (key: MessageKey, retryAfterSeconds?: number): Message => {
    const [title, text] = catalogue.messages[key]
    const retry =
      retryAfterSeconds === undefined
        ? catalogue.tryAgainLater
        : catalogue.tryAgainIn.replace('{when}', inTime(retryAfterSeconds, language))
    const filled = text.replace('{retry}', retry)
    const [action, field] = [ACTIONS[key], FIELDS[key]]
    return { key, title, text: filled, action, field, language, rules: [], details: [] }
  }
  const textOf = (rule: AppliedRule) => textOfRule(rule, catalogue)

  return {
    /**
     * The message for whatever was thrown. For a `GatehouseError`, by its code and its causes;
     * without a code, by the HTTP status. It says when to try again, if `retryAfterSeconds` is set.
     */
    describeError(error: unknown): Message {
      if (!isNamed<GatehouseError>(error, 'GatehouseError')) return messageOf(keyOfOther(error))
      const { code, message: summary, causes, retryAfterSeconds } = error
      const isAboutPassword = entryOf(CODES, code ?? '') === 'passwordRules'
      const rules = isAboutPassword ? causes.flatMap(rulesIn) : []
      const key = rules.length > 1 ? 'passwordRules' : keyOf(error)
      const message = messageOf(key, retryAfterSeconds)
      if (key === 'unknown' && code !== undefined) return { ...message, details: [summary, ...causes] }
      if (key === 'tokenPrompt') return { ...message, details: [summary, ...causes] }
      if (key === 'invalidInput') return { ...message, details: causes }
      if (key !== 'passwordRules') return { ...message, rules }
      const others = causes.flatMap((cause) =>
        rulesIn(cause).length === 0 ? [cause] : (minimumAgeIn(cause) ?? []),
      )
      return { ...message, rules, details: [...rules.map(textOf), ...others] }
    },

    /** The message with this key. */
    describe: (key: MessageKey): Message => messageOf(key),

    /** The message for a `factorResult` other than `WAITING` and `CHALLENGE`. */
    describeResult: (factorResult: string): Message => messageOf(entryOf(RESULTS, factorResult) ?? 'unknown'),

    /** The message for the reason that `onSessionEnd` gives. */
    describeSessionEnd: (reason: SessionEnd): Message => messageOf(SESSION_ENDS[reason]),

    /** The message for the reason that `readDenial` gives. */
    describeDenial({ reason, amr }: Denial): Message {
      const ofMethod = Object.entries(METHODS_NEEDED).find(([method]) => amr.some((one) => one === method))
      return messageOf(ofMethod?.[1] ?? DENIALS[reason])
    },

    /** The rules for a new password, from `answer._embedded.policy`. */
    describePasswordPolicy: (policy: PasswordPolicy = {}): (AppliedRule & { readonly text: string })[] =>
      rulesOf(policy).map((rule) => ({ ...rule, text: textOf(rule) })),
  }
}

const CODES: Readonly<Record<string, MessageKey>> = { ...OKTA_CODES, ...GATEHOUSE_CODES }

function keyOf({ code, status, path, message, causes }: GatehouseError): MessageKey {
  if (code === undefined) return keyOfStatus(status)
  const texts = [message, ...causes]
  const variant = VARIANTS.find(
    (one) =>
      one.code === code &&
      (one.path === undefined || (one.path === path && causes.length === 0)) &&
      (one.status ?? status) === status &&
      (one.text === undefined || texts.some((text) => one.text?.test(text))),
  )
  return variant?.key ?? entryOf(CODES, code) ?? 'unknown'
}

/** By name, and not by class: a page may have two copies of the package. */
function isNamed<Named extends Error>(error: unknown, name: Named['name']): error is Named {
  return Object(error).name === name
}

/** As Chromium, Firefox, Safari and Node say that `fetch` has no connection. */
const NO_CONNECTION = /^(Failed to fetch|NetworkError when attempting|Load failed|fetch failed)/

/** Errors of the browser and of the page. */
function keyOfOther(error: unknown): MessageKey {
  if (isNamed<ReauthenticationError>(error, 'ReauthenticationError')) return REAUTHENTICATIONS[error.reason]
  const { name, message }: { name?: unknown; message?: unknown } = Object(error)
  if (name === 'TypeError' && NO_CONNECTION.test(`${message}`)) return 'offline'
  return entryOf(BROWSER_ERRORS, `${name}`) ?? 'unknown'
}

/** Without an answer of the broker: there is no connection, or a proxy has answered. */
function keyOfStatus(status: number): MessageKey {
  if (status < 400 || status === 408) return 'offline'
  if (status === 429) return 'rateLimited'
  return status >= 500 ? 'unavailable' : 'unknown'
}

const MINUTE = 60
const HOUR = 3600

/**
 * Such as `in 30 seconds`. Rounded up: in seconds below a minute, in minutes up to 90, then in
 * hours.
 */
function inTime(seconds: number, language: string): string {
  const whole = Math.ceil(seconds)
  const [size, unit] =
    whole < MINUTE
      ? ([1, 'second'] as const)
      : whole <= 90 * MINUTE
        ? ([MINUTE, 'minute'] as const)
        : ([HOUR, 'hour'] as const)
  return new Intl.RelativeTimeFormat(language).format(Math.ceil(whole / size), unit)
}

function textOfRule({ key, count = 0 }: AppliedRule, { passwordRules, language }: Catalogue): string {
  if (!isCounted(key)) return passwordRules[key]
  const forms: Plural = passwordRules[key]
  const text = forms[new Intl.PluralRules(language).select(count)] ?? forms.other
  return text.replace('{n}', new Intl.NumberFormat(language).format(count))
}

function entryOf<Entry>(table: Readonly<Record<string, Entry>>, key: string): Entry | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}
