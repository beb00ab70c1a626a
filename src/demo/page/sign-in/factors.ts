import { call } from '../parts/call.js'
import { type Child, element, text } from '../parts/elements.js'
import { type Field, field } from '../parts/form.js'
import { registerKey, signWithKey } from './security-key.js'
import { type Action, CODE, type Step, unknownStep } from './step.js'
import { type Factor, factorsOf, type Link, linkOf, linksOf, type Transaction } from './transaction.js'

/** What it is called when it proves who one is, and when it is set up; `{x}` is a fact of its profile. */
type FactorType = readonly [verify: string, enroll: string, more?: More]
interface More {
  /** Has something sent to a phone or mailbox: nothing is before a person has said so. Empty: begun at once. */
  readonly send?: string
  /** What is asked before it is set up. */
  readonly ask?: (factor: Factor) => readonly Field[] | Promise<readonly Field[]>
  /** What proves it, if not a code. */
  readonly proof?: (factor: Factor) => Field
  /** Its step once it was begun, if not a form with the proof. */
  readonly begun?: (transaction: Transaction, factor: Factor) => Step
}

const TEL = { type: 'tel', autocomplete: 'tel' }
const PHONE = field('profile.phoneNumber', 'Phone number, with + and country code', TEL)

/** By type; where a type of one provider is another thing, by both. */
const FACTORS: Readonly<Record<string, FactorType>> = {
  question: ['My security question', 'Security question', { ask: askQuestion, proof: answerTo }],
  'token:software:totp': ['A code from my authenticator app', 'Authenticator app'],
  'token:software:totp OKTA': ['A code from the verification app', 'Verification app: codes'],
  'token:hotp': ['A code from my token', 'Token'],
  'token:hardware': ['A code from my hardware token', 'Hardware token', { ask: askSerialNumber }],
  token: ['A code from my {provider} token {credentialId}', '{provider} token', { ask: askSerialNumber }],
  sms: ['A text message to {phoneNumber}', 'Text message', { send: 'Send the code', ask: askPhone }],
  call: ['A phone call to {phoneNumber}', 'Phone call', { send: 'Call me', ask: askPhone }],
  email: ['An e-mail to {email}', 'E-mail', { send: 'Send the code' }],
  push: [
    'A request on my phone',
    'Verification app: requests',
    { send: 'Send the request', begun: pushStep },
  ],
  webauthn: ['My security key {authenticatorName}', 'Security key', { send: '', begun: keyStep }],
  u2f: ['My older security key (U2F)', 'Older security key (U2F)', { begun: tooOldStep }],
}

/** A factor that was chosen: to prove who one is, or to be set up. */
export async function chosenStep(transaction: Transaction, factor: Factor): Promise<Step> {
  const type = typeOf(factor)
  if (type === undefined) return unknownStep(transaction, factor)
  const title = nameOf(transaction, factor)
  const { factorType, provider } = factor
  const [, , { send, ask = () => [], proof = () => CODE, begun } = {}] = type
  if (begun === tooOldStep) return tooOldStep()
  if (isSetUp(transaction)) {
    const fields = await ask(factor)
    const label = fields.length === 0 ? '' : 'Go on'
    return { title, main: { label, link: linkOf(factor, 'enroll'), fields, sends: { factorType, provider } } }
  }
  const fields = [...(send === undefined ? [proof(factor)] : []), ...rememberBox(transaction)]
  return { title, main: { label: send ?? 'Verify', link: linkOf(factor, 'verify'), fields } }
}

/** The factor in hand: a code was sent, a request is on its way, or a key waits for its touch. */
export function begunStep(transaction: Transaction): Step {
  const [factor] = factorsOf(transaction)
  const type = factor && typeOf(factor)
  if (factor === undefined || type === undefined) return unknownStep(transaction, factor)
  const [, , { send, proof = () => CODE, begun } = {}] = type
  if (begun !== undefined) return begun(transaction, factor)
  const says = [isSetUp(transaction) && send !== undefined && 'We have sent you a code.', ...picture(factor)]
  const label = isSetUp(transaction) ? 'Activate' : 'Verify'
  const fields = [proof(factor), ...rememberBox(transaction)]
  const main = { label, link: linkOf(transaction, 'next'), fields }
  return { title: nameOf(transaction, factor), says, main }
}

export function nameOf(transaction: Transaction, factor: Factor): string {
  const { factorType, provider, profile } = factor
  const facts: Readonly<Record<string, string | undefined>> = { provider, ...profile }
  const name = typeOf(factor)?.[isSetUp(transaction) ? 1 : 0] ?? factorType
  return name.replace(/\{(\w+)\}/g, (_, fact: string) => facts[fact] ?? '').trim()
}

function typeOf({ factorType, provider }: Factor): FactorType | undefined {
  return FACTORS[`${factorType} ${provider}`] ?? FACTORS[factorType]
}

function isSetUp({ status }: Transaction): boolean {
  return status.startsWith('MFA_ENROLL')
}

/** While it waits, `next` is the poll; afterwards, another request or picture can be asked for. */
function pushStep(transaction: Transaction, factor: Factor): Step {
  const next = linkOf(transaction, 'next')
  const { activation, challenge } = factor._embedded ?? {}
  const renew = linkOf(activation, 'activate')
  if (renew !== undefined)
    return { title: 'That took too long', main: { label: 'Show a new picture', link: renew } }
  if (next === undefined) return unknownStep(transaction, factor)
  if (isSetUp(transaction)) {
    const also = linksOf(activation, 'send').map(sendAction)
    const goesOn = 'This page goes on by itself once it is set up.'
    const says = [...picture(factor), goesOn, waiting('Waiting for the app')]
    return { title: nameOf(transaction, factor), says, also, poll: next }
  }
  if (transaction.factorResult !== 'WAITING') {
    const link = linkOf(transaction, 'resend') ?? next
    const sends = { rememberDevice: transaction.remember }
    return { title: 'That did not work', main: { label: 'Send another request', link, sends } }
  }
  const number = challenge?.correctAnswer
  const says = [
    'We have sent a request there. This page goes on by itself once you have answered it.',
    number !== undefined && 'Choose this number on your phone:',
    number !== undefined && element('p', { class: 'code' }, String(number)),
    waiting('Waiting for your answer'),
  ]
  return { title: 'Look at your phone', says, poll: next }
}
/** Who cannot scan gets a link to open on the phone. */
function sendAction(link: Link): Action {
  const bySms = link.name === 'sms'
  const label = `Send me a link by ${bySms ? 'text message' : 'e-mail'} instead`
  return { label, link, fields: bySms ? [PHONE] : [], notice: 'A link is on its way to your phone.' }
}

function keyStep(transaction: Transaction, factor: Factor): Step {
  const challenge = factor._embedded?.challenge ?? transaction._embedded?.challenge ?? {}
  const ids = factorsOf(transaction).flatMap(({ profile }) => profile?.credentialId ?? [])
  const act = isSetUp(transaction)
    ? { label: 'Register my security key', sends: () => registerKey(factor._embedded?.activation ?? {}) }
    : { label: 'Use my security key', sends: () => signWithKey(challenge, ids) }
  const says = ['Plug your key in, or hold it ready, and touch it when your browser asks.']
  const main = { ...act, link: linkOf(transaction, 'next'), fields: rememberBox(transaction) }
  return { title: nameOf(transaction, factor), says, main }
}

function tooOldStep(): Step {
  const says = ['Browsers do not support U2F keys any more. Choose another way, or ask for a new key.']
  return { title: 'This key is too old for browsers', says }
}

/** Some orgs send the question's text, others its name only: `favorite_toy`. */
function answerTo({ profile }: Factor): Field {
  return field('answer', profile?.questionText ?? profile?.question?.replaceAll('_', ' ') ?? 'Your answer')
}

/** The questions stand behind a link of their own: the broker fetches them. */
async function askQuestion(factor: Factor): Promise<Field[]> {
  const link = linkOf(factor, 'questions')
  const questions = link && (await call<{ question: string; questionText: string }[]>('GET', link.href))
  const options = questions?.map(({ question, questionText }) => [question, questionText] as const) ?? []
  return [{ ...field('profile.question', 'Question'), options }, field('profile.answer', 'Your answer')]
}

function askPhone(): Field[] {
  return [PHONE, field('updatePhone', 'Use it in the place of a known number', { type: 'checkbox' })]
}

function askSerialNumber(): Field[] {
  return [field('profile.credentialId', 'Serial number'), { ...CODE, label: 'Code that it shows now' }]
}

function rememberBox({ _embedded, remember }: Transaction): Field[] {
  const { allowRememberDevice, rememberDeviceByDefault = false } = _embedded?.policy ?? {}
  const attributes = { type: 'checkbox', checked: remember ?? rememberDeviceByDefault }
  return allowRememberDevice ? [field('rememberDevice', 'Do not ask again on this device', attributes)] : []
}

/** The picture comes from the broker itself; its address holds no token of the upstream. */
function picture({ _embedded }: Factor): Child[] {
  const { activation } = _embedded ?? {}
  const src = linkOf(activation, 'qrcode')?.href
  const secret = activation?.sharedSecret
  const attributes = { class: 'qr', alt: 'Picture to scan with the app', width: '196', height: '196' }
  return [
    src !== undefined && 'Scan this picture with the app.',
    src !== undefined && element('img', { src, ...attributes }),
    secret !== undefined && text('No camera? Type this key into the app: ', element('code', {}, secret)),
  ]
}

function waiting(words: string): HTMLElement {
  return element('p', { class: 'waiting' }, words)
}
