import type { ReactNode } from 'react'
import { texts } from './language/language.ts'

/** What a portal adds to the page. Without one, its place is not there. */
export interface Slots {
  /** At the top of the card. */
  readonly logo?: ReactNode
  /** Below the card: where users get help. */
  readonly help?: ReactNode
  /** Below the card, such as terms of use, or the address of the company. */
  readonly terms?: ReactNode
}

/** Put your own here. The sandbox's are examples. */
export const SLOTS: Slots = {
  logo: (
    <>
      <img src="/icon.svg" alt="" width="28" height="28" /> {texts.portal}
    </>
  ),
  help: <a href="mailto:help-desk@example.test">{texts.help}</a>,
  terms: (
    <a href="https://portal.example.test/terms" target="_blank" rel="noreferrer">
      {texts.terms}
    </a>
  ),
}
