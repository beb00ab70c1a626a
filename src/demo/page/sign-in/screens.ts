import type { SignInStep } from '/demo/client/index.js'
import { byId, type Child, paragraph, type Words } from '../parts/elements.js'
import type { Field, Values } from '../parts/form.js'
import { texts } from '../parts/language.js'

/** One screen as data. */
export interface Screen {
  readonly title: Words
  readonly content?: readonly Child[]
  /** The screen's form. */
  readonly main?: Move | undefined
  /** Buttons below the form. */
  readonly others?: readonly Move[]
  /** The ways out. Default: those that the step allows, such as back and cancel. */
  readonly ways?: readonly Move[]
  /** A `factorResult`: why the user sees this screen. */
  readonly result?: string | undefined
  /** Resolves with what follows when the user has acted elsewhere, such as on the phone. */
  readonly wait?: (signal: AbortSignal) => Promise<Next>
}

export interface Move {
  readonly label: Words
  readonly fields?: readonly Field[]
  readonly go: (values: Values) => Promise<Next> | Next
  /** Shown after the move. */
  readonly notice?: string
}

/** A move leads to a step or a screen. Undefined: the first screen. */
export type Next = SignInStep | Screen | undefined

export function explanation(title: string, text: string): Screen {
  return { title, content: [paragraph(text)] }
}

/** The last username that was typed: it fills in the next form. Cleared after sign-in. */
let typedName = ''

export function userNameField(): Field {
  return ['username', texts.username, { autocomplete: 'username', value: typedName }]
}

/** Reads the username from the current screen before it is replaced. */
export function keepUserName(): void {
  typedName = byId('portal').querySelector<HTMLInputElement>('[name="username"]')?.value ?? typedName
}

export function forgetUserName(): void {
  typedName = ''
}
