import { call, type Link, linkOf, linksOf, type Transaction } from './broker.js'
import { text } from './elements.js'
import { actions, button, form } from './forms.js'
import { show } from './screen.js'
import { type Render, type Steps, unknown, waysOut } from './steps.js'

type Kind = 'password' | 'unlock'

const TITLES: Readonly<Record<Kind, string>> = {
  password: 'Forgot your password?',
  unlock: 'Unlock your account',
}

/** The answer is the same for everybody, whether there is such a person or not: this page must not promise more. */
const WAYS = [
  ['EMAIL', 'A link by e-mail'],
  ['SMS', 'A code by text message'],
  ['CALL', 'A code by phone call'],
] as const

/** A recovery begins with a name and a way; the broker refuses one without a way. */
export function askRecovery(kind: Kind, steps: Steps, link?: Link): void {
  const href = link?.href ?? `/api/v1/authn/recovery/${kind}`
  show(
    TITLES[kind],
    text('If the account may be recovered this way, you will hear from us.'),
    form({
      fields: [
        { name: 'username', label: 'User name', autocomplete: 'username' },
        { name: 'factorType', label: 'Send me', options: WAYS },
      ],
      submit: 'Send',
      others: [button('Back to sign-in', () => steps.begin())],
      onSubmit: async (body) => steps.go(await call('POST', href, { body })),
    }),
  )
}

/** There is no handle in this answer: unlocking begins with a name, like a forgotten password. */
export const lockedOut: Render = (transaction, steps) => {
  const next = linkOf(transaction, 'next')
  show(
    'Your account is locked',
    text(
      next === undefined
        ? 'Ask your help desk to unlock it.'
        : 'Too many sign-ins have failed. You can unlock it yourself.',
    ),
    actions(
      next && button('Unlock your account', () => askRecovery('unlock', steps, next), ''),
      button('Back to sign-in', () => steps.begin()),
    ),
  )
}

/** By mail there is nothing to type: the link in it leads back to this page. */
export const recoveryChallenge: Render = (transaction, steps) => {
  const next = linkOf(transaction, 'next')
  if (next === undefined) {
    show(
      'Look into your mail',
      text('If there is such an account, a link is on its way. Open it on this device.'),
      actions(button('Back to sign-in', () => steps.begin())),
    )
    return
  }
  show(
    'Enter the code',
    text('If there is such an account, a code is on its way to its phone.'),
    form({
      fields: [{ name: 'passCode', label: 'Code', numeric: true, autocomplete: 'one-time-code' }],
      submit: 'Verify',
      others: [...resendButtons(transaction, steps), ...waysOut(transaction, steps)],
      onSubmit: (fields) => steps.take(transaction, next, fields),
    }),
  )
}

export const recoveryQuestion: Render = (transaction, steps) => {
  const next = linkOf(transaction, 'next')
  if (next === undefined) {
    unknown(transaction, steps)
    return
  }
  const question = transaction._embedded?.user?.recovery_question?.question
  show(
    'Your recovery question',
    form({
      fields: [{ name: 'answer', label: question ?? 'Your answer' }],
      submit: 'Go on',
      others: waysOut(transaction, steps),
      onSubmit: (fields) => steps.take(transaction, next, fields),
    }),
  )
}

function resendButtons(transaction: Transaction, steps: Steps): HTMLElement[] {
  return linksOf(transaction, 'resend').map((link) =>
    button('Send it again', () => steps.take(transaction, link)),
  )
}
