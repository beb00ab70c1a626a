import { type Factor, factorOf, follow, type Link, linkOf, type Transaction } from './broker.js'
import { element } from './elements.js'
import { button } from './forms.js'
import { show } from './screen.js'

/** What every screen of a sign-in may do. */
export interface Steps {
  /** Follows a link of this transaction and shows what comes of it. */
  take(transaction: Transaction, link: Link, fields?: object, query?: string): Promise<void>
  /** Shows the screen that this answer asks for. */
  go(transaction: Transaction): Promise<void> | void
  /** The first screen. */
  begin(start?: Beginning): void
  /** Whether this device shall be remembered: said on one screen, sent with every verify. */
  remember: boolean
}

export interface Beginning {
  readonly username?: string
  readonly password?: string
  /** Said as an alert: why one is here again. */
  readonly notice?: string
}

export type Render = (transaction: Transaction, steps: Steps) => Promise<void> | void

/** The screens of one factor. */
export type RenderFactor = (
  transaction: Transaction,
  factor: Factor,
  link: Link,
  steps: Steps,
) => Promise<void> | void

/** Buttons for the links that lead away from a screen, as far as the answer has them. */
export function waysOut(transaction: Transaction, steps: Steps, { skip = 'Skip' } = {}): HTMLElement[] {
  const previous = linkOf(transaction, 'prev')
  const skipLink = linkOf(transaction, 'skip')
  return [
    ...(skipLink === undefined ? [] : [button(skip, () => steps.take(transaction, skipLink))]),
    ...(previous === undefined
      ? []
      : [button('Choose another way', () => steps.take(transaction, previous))]),
    cancelButton(transaction, steps),
  ]
}

/** Cancelling what is over already is fine too. */
export function cancelButton(transaction: Transaction, steps: Steps): HTMLElement {
  return button('Cancel', async () => {
    const link = linkOf(transaction, 'cancel')
    if (link !== undefined) await follow(transaction, link).catch(() => undefined)
    steps.begin()
  })
}

/** Reads the factor in hand and a link, which a screen cannot do without; says so when they are missing. */
export function renderInHand(
  transaction: Transaction,
  steps: Steps,
  table: Readonly<Record<string, RenderFactor>>,
): Promise<void> | void {
  const factor = factorOf(transaction)
  const link = linkOf(transaction, 'next')
  const render = factor === undefined ? undefined : table[factor.factorType]
  if (factor === undefined || link === undefined || render === undefined) return unknown(transaction, steps)
  return render(transaction, factor, link, steps)
}

/** A status, factor or shape that this page has never heard of. */
export function unknown(transaction: Transaction, steps: Steps): void {
  const { status } = transaction
  const factorType = factorOf(transaction)?.factorType
  const what = factorType === undefined ? status : `${status}, ${factorType}`
  show(
    'This page cannot go on',
    element('p', {}, `The sign-in service asks for a step that this page does not know (${what}).`),
    element('div', { class: 'actions' }, ...waysOut(transaction, steps)),
  )
}
