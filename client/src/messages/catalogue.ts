import type { MessageKey } from './message-keys.ts'
import type { CountedRule, PasswordRule } from './password-rules.ts'

/** The texts of one language, as a plain object. `{…}` marks where a parameter goes. */
export interface Catalogue {
  /** BCP 47. */
  readonly language: string
  readonly messages: {
    readonly [Key in MessageKey]: readonly [
      title: string,
      text: Key extends WithRetry ? With<'retry'> : string,
    ]
  }
  /**
   * What `{retry}` becomes: without a known time to wait, and with one, such as `in 30 seconds`.
   */
  readonly tryAgainLater: string
  readonly tryAgainIn: With<'when'>
  readonly passwordRules: {
    readonly [Rule in PasswordRule]: Rule extends CountedRule ? Plural : string
  }
}

/** The messages that say when to try again. */
export type WithRetry =
  | 'unavailable'
  | 'stepInProgress'
  | 'rateLimited'
  | 'directoryUnavailable'
  | 'smsSent'
  | 'callMade'
  | 'emailSent'
  | 'tooManyMessages'
  | 'groupsNotAvailableNow'

type With<Parameter extends string> = `${string}{${Parameter}}${string}`

/** By the categories of `Intl.PluralRules`. `{n}` is the number. */
export type Plural = { readonly other: With<'n'> } & {
  readonly [Category in Exclude<Intl.LDMLPluralRule, 'other'>]?: string
}
