import { BrokerTrouble, call, type Factor, follow, type Link, linkOf, type Transaction } from './broker.js'
import { button, element, form, messageOf } from './elements.js'

/** Renders a transaction by its status and its links, and goes on until it is done. */
export interface SignIn {
  begin(login?: string, password?: string): void
}

export interface SignInParts {
  readonly show: (title: string, ...content: HTMLElement[]) => void
  readonly done: () => Promise<void>
}

const POLL_MS = 2000
const MAX_PAUSE_MS = 16_000

export function createSignIn({ show, done }: SignInParts): SignIn {
  /** Counts the pages shown, so that a poll whose page is gone stops. */
  let page = 0

  const begin: SignIn['begin'] = (login = '', password = '') => {
    page += 1
    show(
      'Sign in',
      form({
        fields: [
          { name: 'username', label: 'User name', autocomplete: 'username', value: login },
          {
            name: 'password',
            label: 'Password',
            type: 'password',
            autocomplete: 'current-password',
            value: password,
          },
        ],
        submit: 'Sign in',
        onSubmit: async (values) =>
          go(
            await call('POST', '/api/v1/authn', { ...values, options: { warnBeforePasswordExpired: true } }),
          ),
      }),
    )
  }

  const go = async (transaction: Transaction): Promise<void> => {
    page += 1
    const render = RENDERERS[transaction.status]
    if (render === undefined) return unknownStatus(transaction)
    await render(transaction)
  }

  const RENDERERS: Readonly<Record<string, (transaction: Transaction) => void | Promise<void>>> = {
    SUCCESS: () => done(),
    MFA_REQUIRED: chooseFactor,
    MFA_CHALLENGE: challenge,
    PASSWORD_EXPIRED: (transaction) => changePassword(transaction, 'Your password has expired'),
    PASSWORD_WARN: (transaction) => {
      const days = transaction._embedded?.policy?.expiration?.passwordExpireDays
      changePassword(
        transaction,
        days === undefined ? 'Your password expires soon' : `Your password expires in ${days} days`,
      )
    },
    LOCKED_OUT: () =>
      show(
        'Your account is locked',
        element('p', {}, 'Ask your help desk to unlock it.'),
        actions(startAgain()),
      ),
  }

  function chooseFactor(transaction: Transaction): void {
    const factors = (transaction._embedded?.factors ?? []).filter(
      (factor) => linkOf(factor, 'verify') !== undefined,
    )
    const [only] = factors
    if (factors.length === 1 && only !== undefined) {
      verifyFactor(transaction, only)
      return
    }
    show(
      'How do you want to prove it is you?',
      actions(
        ...factors.map((factor) =>
          button(NAMES[factor.factorType] ?? factor.factorType, () => verifyFactor(transaction, factor)),
        ),
      ),
      actions(cancelButton(transaction)),
    )
  }

  function verifyFactor(transaction: Transaction, factor: Factor): void {
    const link = linkOf(factor, 'verify')
    if (link === undefined) unknownStatus(transaction)
    else if (factor.factorType === 'push') offerPush(transaction, link)
    else askCode(transaction, factor, link)
  }

  function askCode(transaction: Transaction, factor: Factor, link: Link): void {
    const isQuestion = factor.factorType === 'question'
    show(
      NAMES[factor.factorType] ?? 'Your code',
      form({
        fields: [
          isQuestion
            ? { name: 'answer', label: factor.profile?.questionText ?? 'Your answer' }
            : { name: 'passCode', label: 'Code', numeric: true, autocomplete: 'one-time-code' },
        ],
        checkbox: REMEMBER,
        submit: 'Verify',
        others: [cancelButton(transaction)],
        onSubmit: async ({ rememberDevice, ...fields }) =>
          go(await follow(transaction, link, fields, remember(rememberDevice))),
      }),
    )
  }

  function offerPush(transaction: Transaction, link: Link): void {
    show(
      'Approve on your phone',
      form({
        fields: [],
        checkbox: REMEMBER,
        submit: 'Send the request',
        others: [cancelButton(transaction)],
        onSubmit: async ({ rememberDevice }) =>
          go(await follow(transaction, link, {}, remember(rememberDevice))),
      }),
    )
  }

  async function challenge(transaction: Transaction): Promise<void> {
    const next = linkOf(transaction, 'next')
    const factor = transaction._embedded?.factor
    if (next === undefined) return unknownStatus(transaction)
    if (transaction.factorResult === 'WAITING') return waitForPush(transaction, next)
    if (transaction.factorResult === 'REJECTED' || transaction.factorResult === 'TIMEOUT') {
      return pushRefused(transaction)
    }
    if (factor !== undefined) askCode(transaction, factor, next)
  }

  function waitForPush(transaction: Transaction, poll: Link): void {
    const shown = page
    const trouble = element('p', { class: 'trouble', role: 'alert' })
    show(
      'Look at your phone',
      element(
        'p',
        {},
        'We have sent a request there. This page goes on by itself once you have answered it.',
      ),
      trouble,
      actions(cancelButton(transaction)),
    )
    let pauseMs = POLL_MS
    const ask = async () => {
      if (page !== shown) return
      try {
        const answer = await follow(transaction, poll)
        if (page !== shown) return
        if (answer.factorResult !== 'WAITING') return go(answer)
        pauseMs = POLL_MS
        trouble.textContent = ''
      } catch (error) {
        if (page !== shown) return
        if (error instanceof BrokerTrouble && error.status === 401) return expired()
        trouble.textContent = messageOf(error)
        pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)
      }
      setTimeout(ask, pauseMs)
    }
    setTimeout(ask, pauseMs)
  }

  function pushRefused(transaction: Transaction): void {
    const resend = linkOf(transaction, 'resend')
    const text =
      transaction.factorResult === 'REJECTED' ? 'The request was refused.' : 'Nobody answered the request.'
    show(
      'That did not work',
      element('p', {}, text),
      actions(
        ...(resend === undefined
          ? []
          : [button('Send it again', async () => go(await follow(transaction, resend)))]),
        cancelButton(transaction),
      ),
    )
  }

  function changePassword(transaction: Transaction, title: string): void {
    const next = linkOf(transaction, 'next')
    const skip = linkOf(transaction, 'skip')
    if (next === undefined) {
      unknownStatus(transaction)
      return
    }
    show(
      title,
      form({
        fields: [
          {
            name: 'oldPassword',
            label: 'Current password',
            type: 'password',
            autocomplete: 'current-password',
          },
          { name: 'newPassword', label: 'New password', type: 'password', autocomplete: 'new-password' },
        ],
        submit: 'Change password',
        others: [
          ...(skip === undefined ? [] : [button('Not now', async () => go(await follow(transaction, skip)))]),
          cancelButton(transaction),
        ],
        onSubmit: async (fields) => go(await follow(transaction, next, fields)),
      }),
    )
  }

  function unknownStatus(transaction: Transaction): void {
    show(
      'This page cannot go on',
      element(
        'p',
        {},
        `The sign-in service asks for a step that this page does not know (${transaction.status}).`,
      ),
      actions(cancelButton(transaction)),
    )
  }

  function expired(): void {
    show('That took too long', element('p', {}, 'Please sign in again.'), actions(startAgain()))
  }

  function startAgain(): HTMLButtonElement {
    return button('Back to sign-in', () => begin())
  }

  function cancelButton(transaction: Transaction): HTMLButtonElement {
    return button('Cancel', async () => {
      const link = linkOf(transaction, 'cancel')
      if (link !== undefined) await follow(transaction, link).catch(() => undefined) // gone already is fine too
      begin()
    })
  }

  return { begin }
}

const NAMES: Readonly<Record<string, string>> = {
  push: 'A request on my phone',
  'token:software:totp': 'A code from my authenticator app',
  question: 'My security question',
  sms: 'A text message',
  call: 'A phone call',
  email: 'An e-mail',
}

const REMEMBER = { name: 'rememberDevice', label: 'Do not ask again on this device' }

function remember(checked: string | undefined): string {
  return checked === 'true' ? '?rememberDevice=true' : ''
}

function actions(...buttons: HTMLElement[]): HTMLElement {
  return element('p', { class: 'actions' }, ...buttons)
}
