import type { Child } from '../parts/elements.js'
import { type Field, field } from '../parts/form.js'
import type { Factor, Link, Transaction } from './transaction.js'

/** One screen as data: what it says and asks for, and which links of the answer it leads to. */
export interface Step {
  readonly title: string
  /** Paragraphs. */
  readonly says?: readonly Child[]
  /** The screen's form. */
  readonly main?: Action
  /** Steps to choose from, before anything is sent. */
  readonly choices?: readonly Choice[]
  /** Further things that can be done here. */
  readonly also?: readonly Action[]
  /** Is asked again and again while somebody is busy with a phone. */
  readonly poll?: Link
  /** What `skip` is called here. */
  readonly skip?: string
}

/** A link to follow, and what goes with it. */
export interface Action {
  /** Of its button. Empty: there is nothing to ask, so the link is followed at once. */
  readonly label: string
  /** Missing, when the answer has none: then this page cannot go on. */
  readonly link: Link | undefined
  readonly fields?: readonly Field[]
  /** Sent beside the fields. */
  readonly sends?: object | (() => Promise<object>)
  /** Said once it was done. */
  readonly notice?: string
}

export interface Choice {
  readonly label: string
  readonly open: () => Step | Promise<Step>
}

const DIGITS = { autocomplete: 'one-time-code', inputmode: 'numeric', maxlength: '10', class: 'digits' }
export const CODE = field('passCode', 'Code', DIGITS)

/** A status, factor or shape that this page has never heard of. */
export function unknownStep({ status }: Transaction, factor?: Factor): Step {
  const what = factor === undefined ? status : `${status}, ${factor.factorType}`
  const says = [`The sign-in service asks for a step that this page does not know (${what}).`]
  return { title: 'This page cannot go on', says }
}
