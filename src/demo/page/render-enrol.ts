import {
  type Activation,
  call,
  type Factor,
  factorsOf,
  follow,
  type Link,
  linkOf,
  linksOf,
  type Transaction,
} from './broker.js'
import { element, text } from './elements.js'
import { adviceFor } from './errors.js'
import { actions, button, type Field, type FormParts, form } from './forms.js'
import { poll } from './poll.js'
import { report, say, show } from './screen.js'
import { registerKey } from './security-key.js'
import { type Render, type RenderFactor, renderInHand, type Steps, unknown, waysOut } from './steps.js'

/** One factor to set up: what it is called, what is asked before the enrolment begins, and what activates it. */
interface Enrolment {
  readonly name: (factor: Factor) => string
  /** MFA_ENROLL. Missing: nothing has to be asked. */
  readonly ask?: (factor: Factor) => Promise<Asked> | Asked
  /** MFA_ENROLL_ACTIVATE. Missing: the first call has set it up already. */
  readonly activate?: RenderFactor
}
interface Asked extends Pick<FormParts, 'fields' | 'checkboxes'> {
  readonly fields: readonly Field[]
  /** What the values become in the request. */
  readonly body: (values: Readonly<Record<string, string>>) => object
}

const ENROLMENTS: Readonly<Record<string, Enrolment>> = {
  'token:software:totp': {
    name: ({ provider }) => (provider === 'OKTA' ? 'Verification app: codes' : 'Authenticator app'),
    activate: scanAndType,
  },
  push: { name: () => 'Verification app: requests on my phone', activate: scanAndWait },
  sms: { name: () => 'Text message', ask: askPhone, activate: typeCode },
  call: { name: () => 'Phone call', ask: askPhone, activate: typeCode },
  email: { name: () => 'E-mail', activate: typeCode },
  question: { name: () => 'Security question', ask: askQuestion },
  token: { name: ({ provider = '' }) => `${provider} token`, ask: askSerialNumber },
  'token:hardware': { name: () => 'Hardware token', ask: askSerialNumber },
  webauthn: { name: () => 'Security key', activate: touchKey },
  u2f: { name: () => 'Older security key (U2F)', activate: tooOld },
}

export const enrolChoice: Render = (transaction, steps) => {
  const factors = factorsOf(transaction)
  const ready = factors.filter(({ status }) => status === 'ACTIVE')
  const isDone = linkOf(transaction, 'skip') !== undefined && ready.length > 0
  show(
    'Set up how you prove it is you',
    text(
      ready.length > 0 && element('strong', {}, 'Set up: '),
      ready.map(nameOf).join(', ') || 'Choose one; you will be asked for it from now on.',
    ),
    actions(
      ...factors.flatMap((factor) => {
        const link = linkOf(factor, 'enroll')
        if (link === undefined) return []
        const label = factor.enrollment === 'REQUIRED' ? `${nameOf(factor)} (required)` : nameOf(factor)
        return [button(label, () => begin(transaction, factor, link, steps), 'quiet choice')]
      }),
    ),
    actions(...waysOut(transaction, steps, { skip: isDone ? 'That is enough' : 'Not now' })),
  )
}

export const enrolActivate: Render = (transaction, steps) =>
  renderInHand(
    transaction,
    steps,
    Object.fromEntries(
      Object.entries(ENROLMENTS).map(([factorType, { activate }]) => [factorType, activate ?? typeCode]),
    ),
  )

async function begin(transaction: Transaction, factor: Factor, link: Link, steps: Steps): Promise<void> {
  const enrolment = ENROLMENTS[factor.factorType]
  const { factorType, provider } = factor
  if (enrolment === undefined) return unknown(transaction, steps)
  if (factorType === 'u2f') return tooOld(transaction, factor, link, steps)
  const asked = await enrolment.ask?.(factor)
  if (asked === undefined) return steps.take(transaction, link, { factorType, provider })
  show(
    nameOf(factor),
    form({
      fields: asked.fields,
      checkboxes: asked.checkboxes ?? [],
      submit: 'Go on',
      others: [button('Choose another way', () => steps.go(transaction))],
      onSubmit: ({ updatePhone, ...values }) =>
        steps.take(
          transaction,
          link,
          { factorType, provider, ...asked.body(values) },
          updatePhone === 'true' ? '?updatePhone=true' : '',
        ),
    }),
  )
}

/** The questions stand behind a link of their own: the broker fetches them. */
async function askQuestion(factor: Factor): Promise<Asked> {
  const link = linkOf(factor, 'questions')
  const questions =
    link === undefined ? [] : await call<{ question: string; questionText: string }[]>('GET', link.href)
  return {
    fields: [
      {
        name: 'question',
        label: 'Question',
        options: questions.map(({ question, questionText }) => [question, questionText]),
      },
      { name: 'answer', label: 'Your answer' },
    ],
    body: (profile) => ({ profile }),
  }
}

function askPhone(): Asked {
  return {
    fields: [
      {
        name: 'phoneNumber',
        label: 'Phone number, with + and country code',
        type: 'tel',
        autocomplete: 'tel',
      },
    ],
    checkboxes: [{ name: 'updatePhone', label: 'Use it in the place of a number that is known already' }],
    body: (profile) => ({ profile }),
  }
}

function askSerialNumber(): Asked {
  return {
    fields: [
      { name: 'credentialId', label: 'Serial number' },
      { name: 'passCode', label: 'Code that it shows now', numeric: true, autocomplete: 'one-time-code' },
    ],
    body: ({ credentialId, passCode }) => ({ profile: { credentialId }, passCode }),
  }
}

function typeCode(transaction: Transaction, factor: Factor, link: Link, steps: Steps): void {
  show(nameOf(factor), text('We have sent you a code.'), codeForm(transaction, factor, link, steps))
}

function scanAndType(transaction: Transaction, factor: Factor, link: Link, steps: Steps): void {
  const { sharedSecret } = activationOf(factor)
  show(
    nameOf(factor),
    text('Scan this picture with the app, then type the code that it shows.'),
    picture(factor),
    sharedSecret !== undefined &&
      text('No camera? Type this key into the app: ', element('code', {}, sharedSecret)),
    codeForm(transaction, factor, link, steps),
  )
}

function codeForm(transaction: Transaction, factor: Factor, link: Link, steps: Steps): HTMLFormElement {
  const { factorType, provider } = factor
  return form({
    fields: [{ name: 'passCode', label: 'Code', numeric: true, autocomplete: 'one-time-code' }],
    submit: 'Activate',
    others: [
      ...linksOf(transaction, 'resend').map((resend) =>
        button('Send it again', async () => {
          await steps.take(transaction, resend, { factorType, provider })
          say('It is on its way.', [], 'good')
        }),
      ),
      ...waysOut(transaction, steps),
    ],
    onSubmit: (fields) => steps.take(transaction, link, fields),
  })
}

/** While it waits, `next` is the poll; once it is too late, the activation has a link to begin again. */
function scanAndWait(transaction: Transaction, factor: Factor, link: Link, steps: Steps): void {
  const activation = activationOf(factor)
  const again = linkOf(activation, 'activate')
  if (again !== undefined) {
    show(
      'That took too long',
      text('Nobody has set the app up in time.'),
      actions(
        button('Show a new picture', () => steps.take(transaction, again), ''),
        ...waysOut(transaction, steps),
      ),
    )
    return
  }
  const screen = show(
    nameOf(factor),
    text('Scan this picture with the app. This page goes on by itself once it is set up.'),
    picture(factor),
    element('p', { class: 'waiting' }, 'Waiting for the app'),
    ...linksOf(activation, 'send').map((send) => sendLink(transaction, send, steps)),
    actions(...waysOut(transaction, steps)),
  )
  void poll({
    screen,
    ask: () => follow(transaction, link),
    isWaiting: (answer) => answer.factorResult === 'WAITING' && answer.status === transaction.status,
    onAnswer: (answer) => steps.go(answer),
    onError: report,
    onPause: (error) => say(error === undefined ? '' : adviceFor(error).text),
  })
}

/** Who cannot scan gets a link to open on the phone. */
function sendLink(transaction: Transaction, link: Link, steps: Steps): HTMLElement {
  const send = async (fields: object) => {
    await steps.take(transaction, link, fields)
    say('A link is on its way to your phone.', [], 'good')
  }
  if (link.name !== 'sms') {
    return actions(button('Send me a link by e-mail instead', () => send({}), 'link'))
  }
  const made = element('details', {}, element('summary', {}, 'Send me a link by text message instead'))
  made.append(
    form({
      fields: askPhone().fields,
      submit: 'Send the link',
      onSubmit: (profile) => send({ profile }),
    }),
  )
  return made
}

function touchKey(transaction: Transaction, factor: Factor, link: Link, steps: Steps): void {
  show(
    nameOf(factor),
    text('Plug your key in, or hold it ready, and touch it when your browser asks.'),
    form({
      submit: 'Register my security key',
      others: waysOut(transaction, steps),
      onSubmit: async () => steps.take(transaction, link, await registerKey(activationOf(factor))),
    }),
  )
}

function tooOld(transaction: Transaction, _factor: Factor, _link: Link, steps: Steps): void {
  const back =
    transaction.status === 'MFA_ENROLL' && button('Choose another way', () => steps.go(transaction))
  show(
    'This key is too old for browsers',
    text('Browsers do not support U2F keys any more. Set a newer security key up, or another way.'),
    actions(back || undefined, ...(back ? [] : waysOut(transaction, steps))),
  )
}

/** Comes from the broker itself; its address holds no token of the upstream. */
function picture(factor: Factor): HTMLElement | undefined {
  const link = linkOf(activationOf(factor), 'qrcode')
  return (
    link &&
    element('img', {
      class: 'qr',
      src: link.href,
      alt: 'Picture to scan with the app',
      width: '196',
      height: '196',
    })
  )
}

function activationOf(factor: Factor): Activation {
  return factor._embedded?.activation ?? {}
}

function nameOf(factor: Factor): string {
  return ENROLMENTS[factor.factorType]?.name(factor) ?? factor.factorType
}
