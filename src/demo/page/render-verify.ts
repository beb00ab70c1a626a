import {
  type Factor,
  factorOf,
  factorsOf,
  follow,
  type Link,
  linkOf,
  linksOf,
  type Transaction,
} from './broker.js'
import { element, text } from './elements.js'
import { adviceFor } from './errors.js'
import { actions, button, type Checkbox, form } from './forms.js'
import { poll } from './poll.js'
import { report, say, show } from './screen.js'
import { signWithKey } from './security-key.js'
import {
  cancelButton,
  type Render,
  type RenderFactor,
  renderInHand,
  type Steps,
  unknown,
  waysOut,
} from './steps.js'

/** One way to prove who one is: what it is called, and its screens before and after it was begun. */
interface Way {
  readonly name: (factor: Factor) => string
  /** MFA_REQUIRED: chosen, not begun. `link` is the factor's own. */
  readonly offer: RenderFactor
  /** MFA_CHALLENGE: begun. `link` is the transaction's `next`. */
  readonly challenge: RenderFactor
}

const WAYS: Readonly<Record<string, Way>> = {
  question: { name: () => 'My security question', offer: askAnswer, challenge: askAnswer },
  'token:software:totp': {
    name: ({ provider }) =>
      `A code from ${provider === 'OKTA' ? 'the verification app' : 'my authenticator app'}`,
    offer: askCode,
    challenge: askCode,
  },
  'token:hotp': { name: () => 'A code from my token', offer: askCode, challenge: askCode },
  'token:hardware': { name: () => 'A code from my hardware token', offer: askCode, challenge: askCode },
  token: {
    name: ({ provider = '', profile }) =>
      `A code from my ${provider} token ${profile?.credentialId ?? ''}`.trim(),
    offer: askCode,
    challenge: askCode,
  },
  sms: {
    name: ({ profile }) => `A text message to ${profile?.phoneNumber ?? 'my phone'}`,
    offer: offerToSend('Send the code'),
    challenge: askCode,
  },
  call: {
    name: ({ profile }) => `A phone call to ${profile?.phoneNumber ?? 'my phone'}`,
    offer: offerToSend('Call me'),
    challenge: askCode,
  },
  email: {
    name: ({ profile }) => `An e-mail to ${profile?.email ?? 'my address'}`,
    offer: offerToSend('Send the code'),
    challenge: askCode,
  },
  push: {
    name: () => 'A request on my phone',
    offer: offerToSend('Send the request'),
    challenge: waitForPush,
  },
  webauthn: {
    name: ({ profile }) => `My security key ${profile?.authenticatorName ?? ''}`.trim(),
    // nothing is sent anywhere by this: no screen is needed before it
    offer: (transaction, _factor, link, steps) => steps.take(transaction, link),
    challenge: touchKey,
  },
  u2f: { name: () => 'My older security key (U2F)', offer: tooOld, challenge: tooOld },
}

export const chooseFactor: Render = (transaction, steps) => {
  const factors = factorsOf(transaction)
  const [only] = factors
  if (only === undefined) return noWay(transaction, steps)
  if (factors.length === 1) return offer(transaction, only, steps)
  show(
    'How do you want to prove it is you?',
    actions(
      ...factors.map((factor) =>
        button(nameOf(factor), () => offer(transaction, factor, steps), 'quiet choice'),
      ),
    ),
    actions(...waysOut(transaction, steps)),
  )
}

/** The operator may hide factor types; then nothing may be left. */
function noWay(transaction: Transaction, steps: Steps): void {
  show(
    'There is no way to go on here',
    element(
      'p',
      {},
      'A second proof is needed, and none of yours may be used on this page. Ask your help desk.',
    ),
    actions(...waysOut(transaction, steps)),
  )
}

export const challenge: Render = (transaction, steps) =>
  renderInHand(
    transaction,
    steps,
    Object.fromEntries(Object.entries(WAYS).map(([factorType, way]) => [factorType, way.challenge])),
  )

function offer(transaction: Transaction, factor: Factor, steps: Steps): Promise<void> | void {
  const way = WAYS[factor.factorType]
  const link = linkOf(factor, 'verify')
  if (way === undefined || link === undefined) return unknown(transaction, steps)
  return way.offer(transaction, factor, link, steps)
}

function nameOf(factor: Factor): string {
  return WAYS[factor.factorType]?.name(factor) ?? factor.factorType
}

function askAnswer(transaction: Transaction, factor: Factor, link: Link, steps: Steps): void {
  show(
    nameOf(factor),
    form({
      fields: [{ name: 'answer', label: questionOf(factor) }],
      checkboxes: [rememberBox(transaction, steps)],
      submit: 'Verify',
      others: otherWays(transaction, steps),
      onSubmit: (values) => verify(transaction, link, values, steps),
    }),
  )
}

/** Some orgs send the question's text, others its name only: `favorite_toy`. */
function questionOf({ profile }: Factor): string {
  return profile?.questionText ?? profile?.question?.replaceAll('_', ' ') ?? 'Your answer'
}

/** Codes of every kind: from an app or a token, or sent. Only what was sent can be sent again. */
function askCode(transaction: Transaction, factor: Factor, link: Link, steps: Steps): void {
  show(
    nameOf(factor),
    form({
      fields: [{ name: 'passCode', label: 'Code', numeric: true, autocomplete: 'one-time-code' }],
      checkboxes: [rememberBox(transaction, steps)],
      submit: 'Verify',
      others: [
        ...linksOf(transaction, 'resend').map((resend) =>
          button('Send it again', async () => {
            await steps.take(transaction, resend)
            say('It is on its way.', [], 'good')
          }),
        ),
        ...otherWays(transaction, steps),
      ],
      onSubmit: (values) => verify(transaction, link, values, steps),
    }),
  )
  say(RESULTS[transaction.factorResult ?? ''] ?? '')
}

/** Nothing is sent to anybody's phone before a person has said so. */
function offerToSend(submit: string): RenderFactor {
  return (transaction, factor, link, steps) => {
    show(
      nameOf(factor),
      form({
        checkboxes: [rememberBox(transaction, steps)],
        submit,
        others: otherWays(transaction, steps),
        onSubmit: (values) => verify(transaction, link, values, steps),
      }),
    )
  }
}

/** While it waits, `next` is the poll; after an answer that was no approval, `resend` sends another. */
function waitForPush(transaction: Transaction, _factor: Factor, link: Link, steps: Steps): void {
  if (transaction.factorResult !== 'WAITING') {
    const [resend = link] = linksOf(transaction, 'resend')
    show(
      'That did not work',
      text(RESULTS[transaction.factorResult ?? ''] ?? 'The request was not approved.'),
      actions(
        button('Send another request', () => steps.take(transaction, resend, {}, rememberQuery(steps)), ''),
        ...waysOut(transaction, steps),
      ),
    )
    return
  }
  const number = factorOf(transaction)?._embedded?.challenge?.correctAnswer
  const screen = show(
    'Look at your phone',
    text('We have sent a request there. This page goes on by itself once you have answered it.'),
    number !== undefined && text('Choose this number on your phone:'),
    number !== undefined && element('p', { class: 'code' }, String(number)),
    element('p', { class: 'waiting' }, 'Waiting for your answer'),
    actions(...waysOut(transaction, steps)),
  )
  void poll({
    screen,
    ask: () => follow(transaction, link, {}, rememberQuery(steps)),
    isWaiting: (answer) => answer.factorResult === 'WAITING',
    onAnswer: (answer) => steps.go(answer),
    onError: report,
    onPause: (error) => say(error === undefined ? '' : adviceFor(error).text),
  })
}

function touchKey(transaction: Transaction, factor: Factor, link: Link, steps: Steps): void {
  const asked = factor._embedded?.challenge ?? transaction._embedded?.challenge ?? {}
  const keys = [factor, ...factorsOf(transaction)].flatMap(({ profile }) => profile?.credentialId ?? [])
  show(
    nameOf(factor),
    text('Plug your key in, or hold it ready, and touch it when your browser asks.'),
    form({
      checkboxes: [rememberBox(transaction, steps)],
      submit: 'Use my security key',
      others: waysOut(transaction, steps),
      onSubmit: async (values) =>
        verify(transaction, link, { ...values, ...(await signWithKey(asked, [...new Set(keys)])) }, steps),
    }),
  )
}

function tooOld(transaction: Transaction, _factor: Factor, _link: Link, steps: Steps): void {
  show(
    'This key is too old for browsers',
    text(
      'Browsers do not support U2F keys any more. Choose another way, or ask your help desk for a new key.',
    ),
    actions(...otherWays(transaction, steps)),
  )
}

/** `rememberDevice` is a query parameter, on every verify of the sign-in. */
function verify(
  transaction: Transaction,
  link: Link,
  { rememberDevice, ...fields }: Readonly<Record<string, string>>,
  steps: Steps,
): Promise<void> {
  steps.remember = rememberDevice === 'true'
  return steps.take(transaction, link, fields, rememberQuery(steps))
}

function rememberQuery(steps: Steps): string {
  return steps.remember ? '?rememberDevice=true' : ''
}

function rememberBox({ _embedded }: Transaction, steps: Steps): Checkbox | false {
  const { allowRememberDevice = false, rememberDeviceByDefault = false } = _embedded?.policy ?? {}
  return (
    allowRememberDevice && {
      name: 'rememberDevice',
      label: 'Do not ask again on this device',
      checked: steps.remember || rememberDeviceByDefault,
    }
  )
}

/** Before a factor was begun there is no `prev` link: the choice is in the answer that we hold. */
function otherWays(transaction: Transaction, steps: Steps): HTMLElement[] {
  const isChoice = transaction.status === 'MFA_REQUIRED' && factorsOf(transaction).length > 1
  if (!isChoice) return waysOut(transaction, steps)
  return [button('Choose another way', () => steps.go(transaction)), cancelButton(transaction, steps)]
}

const RESULTS: Readonly<Record<string, string>> = {
  REJECTED: 'The request was refused on the phone.',
  TIMEOUT: 'Nobody answered the request in time.',
  CANCELLED: 'The request was cancelled.',
  ERROR: 'The request could not be delivered.',
  PASSCODE_REPLAYED: 'Each code can be used once. Please wait for the next one.',
  TIME_WINDOW_EXCEEDED: 'That code is too old. Please enter the one that is shown now.',
}
