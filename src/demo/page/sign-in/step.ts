import type { Child } from '../parts/elements.js'
import type { Field, Values } from '../parts/form.js'
import type { Link } from './transaction.js'

/** One screen as data: what it says and asks for, and which links it leads to. */
export interface Step {
  readonly title: string
  readonly says?: readonly Child[]
  /** The screen's form. */
  readonly main?: Action
  /** Further things that can be done here. */
  readonly others?: readonly Action[]
  /** Is asked again and again while the user is busy elsewhere. */
  readonly poll?: Link | undefined
  /** What the first poll waits for. */
  readonly first?: () => Promise<void>
}

export interface Action {
  /** Of its button. Empty: there is nothing to ask, so it is done at once. */
  readonly label: string
  /** Missing, when the answer has none: then this page cannot continue. */
  readonly link: Link | undefined
  readonly fields?: readonly Field[]
  /** What is sent, if not the fields as they are. */
  readonly sends?: (values: Values) => object | Promise<object>
  /** Said once it was done. */
  readonly notice?: string
}
