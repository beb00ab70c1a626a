import type { Child } from '../parts/elements.js'
import type { Field, Values } from '../parts/form.js'
import type { Link } from './transaction.js'

/** One screen as data. */
export interface Step {
  readonly title: string
  readonly content?: readonly Child[]
  /** The screen's form. */
  readonly main?: Action
  /** Buttons below the form. */
  readonly others?: readonly Action[]
  /** Polled while the user acts elsewhere, such as on the phone. */
  readonly poll?: Link | undefined
  /** The first poll starts when this resolves. */
  readonly first?: () => Promise<void>
}

export interface Action {
  /** The button's label. If empty, the action runs at once, without a screen. */
  readonly label: string
  /** undefined if the answer lacks the link: then the page cannot continue. */
  readonly link: Link | undefined
  readonly fields?: readonly Field[]
  /** Builds the body from the fields. Default: the fields themselves. */
  readonly sends?: (values: Values) => object | Promise<object>
  /** Shown after the action. */
  readonly notice?: string
}
