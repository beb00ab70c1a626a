import { call } from '../parts/call.js'
import { type Child, element } from '../parts/elements.js'
import { BOX, type Field, type Values } from '../parts/form.js'
import { openDuo } from './duo.js'
import { registerKey, signWithKey } from './security-key.js'
import type { Action, Step } from './step.js'
import { type Factor, factorsOf, type Link, linkOf, linksOf, type Transaction } from './transaction.js'

/** The names of a factor type when it is verified and when it is enrolled. `{x}` is a field of the factor or its profile. */
type FactorType = readonly [verify: string, enroll: string, more?: More]
interface More {
  /** The label of the button that starts the challenge, such as sending a message. Empty: the challenge starts at once. */
  readonly send?: string
  /** The fields to fill in before enrollment. */
  readonly ask?: readonly Field[]
  /** The step for its challenge. Default: a form for the code. */
  readonly challengeStep?: (answer: Transaction, factor: Factor) => Step | undefined
  /** An explanation for users, if this page cannot verify the factor. */
  readonly cannotVerify?: Step
  /** The same, if it cannot enroll it. */
  readonly cannotEnroll?: Step
}

const DIGITS = { autocomplete: 'one-time-code', inputmode: 'numeric', maxlength: '10', class: 'digits' }
export const CODE: Field = ['passCode', 'Code', DIGITS]
const NEW_PASSWORD: Field = ['password', 'New password', { type: 'password', autocomplete: 'new-password' }]
const PASSWORD: Field = ['password', 'Password', { type: 'password', autocomplete: 'current-password' }]
const SERIAL: Field = ['credentialId', 'Serial number']
const TEL = { type: 'tel', autocomplete: 'tel' }
const PHONE: Field = ['phoneNumber', 'Phone number, with + and country code', TEL]
const UPDATE: Field = ['updatePhone', 'Replace my current number', BOX]

const U2F_UNSUPPORTED: Step = {
  title: 'This key is too old for browsers',
  content: ['Browsers no longer support U2F keys. Ask your help desk for a new key.'],
}

const FASTPASS_UNSUPPORTED: Step = {
  title: 'Okta FastPass does not work here',
  content: [
    'Okta FastPass works only on Okta’s own sign-in page. Choose another way, or ask your help desk.',
  ],
}

const HELP_DESK_ONLY: Step = {
  title: 'Only your help desk can set up this token',
  content: ['Ask your help desk for a token, or choose another way.'],
}

/** Verified at another identity provider, which redirects the browser back to this page. */
const OTHER_PROVIDER: FactorType = [
  'Sign in with {vendorName}',
  'Sign in with {vendorName}',
  { send: '', challengeStep: redirectStep },
]

/** By factor type, or by factor type and provider. */
const FACTORS: Readonly<Record<string, FactorType>> = {
  question: ['My security question', 'Security question', { ask: [['answer', 'Your answer']] }],
  password: ['My password', 'Password', { ask: [NEW_PASSWORD] }],
  'token:software:totp': ['A code from my authenticator app', 'Authenticator app'],
  'token:software:totp OKTA': ['A code from Okta Verify', 'Okta Verify: codes'],
  'token:hotp': ['A code from my token', 'Token: {vendorName}', { cannotEnroll: HELP_DESK_ONLY }],
  'token:hardware': ['A code from my hardware token', 'Hardware token', { ask: [SERIAL, CODE] }],
  token: ['A code from my {provider} token {credentialId}', '{provider} token', { ask: [SERIAL, CODE] }],
  sms: ['A text message to {phoneNumber}', 'Text message', { send: 'Send the code', ask: [PHONE, UPDATE] }],
  call: ['A phone call to {phoneNumber}', 'Phone call', { send: 'Call me', ask: [PHONE, UPDATE] }],
  email: ['An email to {email}', 'Email', { send: 'Send the code' }],
  push: [
    'A request on my phone',
    'Okta Verify: requests',
    { send: 'Send the request', challengeStep: pushStep },
  ],
  webauthn: ['My security key {authenticatorName}', 'Security key', { send: '', challengeStep: keyStep }],
  signed_nonce: ['Okta FastPass', 'Okta FastPass', explained(FASTPASS_UNSUPPORTED)],
  u2f: ['My older security key (U2F)', 'Older security key (U2F)', explained(U2F_UNSUPPORTED)],
  web: ['Duo', 'Duo', { send: '', challengeStep: duoStep }],
  claims_provider: OTHER_PROVIDER,
  'assertion:saml2': OTHER_PROVIDER,
  'assertion:oidc': OTHER_PROVIDER,
}

/** The step that verifies or enrolls the chosen factor. undefined if this page does not know its type. */
export async function factorStep(answer: Transaction): Promise<Step | undefined> {
  const [factor] = factorsOf(answer)
  const type = factor && definitionOf(factor)
  if (!factor || !type) return undefined
  const { factorType, provider } = factor
  const [, , { send, ask, challengeStep, cannotVerify, cannotEnroll } = {}] = type
  const explanation = isSetUp(answer) ? cannotEnroll : cannotVerify
  if (explanation) return explanation
  const title = nameOf(answer, factor)
  const proof = [proofOf(factor), ...rememberBox(answer)]
  switch (answer.status) {
    case 'ENROLL': {
      const fields = [...(await questionsOf(factor)), ...(ask ?? [])]
      const sends = ({ passCode, updatePhone, ...profile }: Values) => {
        return { factorType, provider, passCode, updatePhone, ...(ask && { profile }) }
      }
      return { title, main: { label: ask ? 'Continue' : '', link: linkOf(factor, 'enroll'), fields, sends } }
    }
    case 'MFA_CHALLENGE':
    case 'MFA_ENROLL_ACTIVATE': {
      if (challengeStep) return challengeStep(answer, factor)
      const content = [send && 'We have sent you a code.', ...picture(factor)]
      const label = isSetUp(answer) ? 'Activate' : 'Verify'
      return { title, content, main: { label, link: linkOf(answer, 'next'), fields: proof } }
    }
    default: {
      const fields = send === undefined ? proof : rememberBox(answer)
      return { title, main: { label: send ?? 'Verify', link: linkOf(factor, 'verify'), fields } }
    }
  }
}

/** A factor type that this page supports neither for verification nor for enrollment. */
function explained(step: Step): More {
  return { cannotVerify: step, cannotEnroll: step }
}

export function nameOf(answer: Transaction, factor: Factor): string {
  const { factorType, provider, vendorName, profile } = factor
  const facts: Readonly<Record<string, string | undefined>> = { provider, vendorName, ...profile }
  const name = definitionOf(factor)?.[isSetUp(answer) ? 1 : 0] ?? factorType
  return name.replace(/\{(\w+)\}/g, (_, fact: string) => facts[fact] ?? '').trim()
}

export function isKnown(factor: Factor): boolean {
  return definitionOf(factor) !== undefined
}

function definitionOf({ factorType, provider }: Factor): FactorType | undefined {
  return FACTORS[`${factorType} ${provider}`] ?? FACTORS[factorType]
}

function isSetUp({ status }: Transaction): boolean {
  return status?.includes('ENROLL') ?? false
}

/** While Okta answers WAITING, `next` is the poll. After a rejection or timeout, the user can request another push or QR code. */
function pushStep(answer: Transaction, factor: Factor): Step {
  const { activation, challenge } = factor._embedded ?? {}
  const next = linkOf(answer, 'next')
  const renew = linkOf(activation, 'activate')
  if (renew) return { title: 'That took too long', main: { label: 'Show a new QR code', link: renew } }
  if (!isSetUp(answer) && answer.factorResult !== 'WAITING') {
    const link = linkOf(answer, 'resend') ?? next
    return { title: 'That did not work', main: { label: 'Send another request', link } }
  }
  const number = challenge?.correctAnswer?.toString()
  const content = [
    ...picture(factor),
    number && 'Choose this number on your phone:',
    number && element('p', { class: 'code' }, number),
    'This page continues automatically.',
  ]
  const title = isSetUp(answer) ? nameOf(answer, factor) : 'Look at your phone'
  return { title, content, others: linksOf(activation, 'send').map(sendAction), poll: next }
}

/** Users who cannot scan the QR code can have a link sent to their phone. */
function sendAction(link: Link): Action {
  const label = `Send me a link by ${link.name === 'sms' ? 'text message' : 'email'} instead`
  const asks = { fields: [PHONE], sends: (profile: Values) => ({ profile }) }
  return { label, link, notice: 'We have sent a link to your phone.', ...(link.name === 'sms' && asks) }
}

function keyStep(answer: Transaction, factor: Factor): Step {
  const { activation, challenge = answer._embedded?.challenge } = factor._embedded ?? {}
  const ids = factorsOf(answer).flatMap(({ profile }) => profile?.credentialId ?? [])
  const label = isSetUp(answer) ? 'Register my security key' : 'Use my security key'
  const touch = () => (isSetUp(answer) ? registerKey(activation) : signWithKey(challenge, ids))
  const sends = async (values: Values) => ({ ...values, ...(await touch()) })
  const content = ['Insert your security key, and touch it when your browser asks.']
  const main = { label, link: linkOf(answer, 'next'), fields: rememberBox(answer), sends }
  return { title: nameOf(answer, factor), content, main }
}

/** After the user approves in Duo's frame, the page posts Duo's response as a form. The next poll returns the result. */
function duoStep(answer: Transaction, { id = '', _embedded }: Factor): Step | undefined {
  const next = linkOf(answer, 'next')
  if (answer.factorResult !== 'WAITING')
    return { title: 'That did not work', main: { label: 'Try again', link: next } }
  const request = isSetUp(answer) ? _embedded?.activation : _embedded?.verification
  const complete = linkOf(request, 'complete')?.href
  const duo = openDuo(request)
  if (!duo || complete === undefined) return undefined
  const first = async () => {
    const form = { id, stateToken: answer.stateToken ?? '', sig_response: await duo.approval() }
    await call('POST', complete, new URLSearchParams(form))
  }
  const content = ['Approve the request in Duo’s frame.', duo.frame]
  return { title: 'Duo', content, others: [{ label: 'Try again', link: { answer } }], poll: next, first }
}

/** After a refusal, only the answer's other links are offered. */
function redirectStep(answer: Transaction, factor: Factor): Step {
  const title = nameOf(answer, factor)
  if (answer.factorResult === 'FAILED') return { title, content: [answer.factorResultMessage] }
  const content = ['You sign in on another page, which returns you here.']
  const next = linkOf(answer, 'next') // named `activate` during enrollment, but a redirect too
  return { title, content, main: { label: 'Continue', link: next && { ...next, name: 'redirect' } } }
}

/** Some orgs send the question's text, others only its name, such as `favorite_toy`. */
function proofOf({ factorType, profile }: Factor): Field {
  if (factorType === 'password') return PASSWORD
  if (factorType !== 'question') return CODE
  return ['answer', profile?.questionText ?? profile?.question?.replaceAll('_', ' ') ?? 'Your answer']
}

/** The answer only has a link to the questions. */
async function questionsOf(factor: Factor): Promise<Field[]> {
  const href = linkOf(factor, 'questions')?.href
  if (href === undefined) return []
  const questions = await call<{ question: string; questionText: string }[]>('GET', href)
  const options = questions.map(({ question, questionText }) => [question, questionText] as const)
  return [['question', 'Question', {}, options]]
}

function rememberBox({ _embedded, remember }: Transaction): Field[] {
  const { allowRememberDevice, rememberDeviceByDefault = false } = _embedded?.policy ?? {}
  const attributes = { ...BOX, checked: remember ?? rememberDeviceByDefault }
  return allowRememberDevice ? [['rememberDevice', 'Do not ask again on this device', attributes]] : []
}

/** The broker serves the QR code; its URL has no upstream token. */
function picture({ _embedded }: Factor): Child[] {
  const src = linkOf(_embedded?.activation, 'qrcode')?.href
  const secret = _embedded?.activation?.sharedSecret
  const alt = 'QR code to scan with the app'
  return [
    src && 'Scan this QR code with the app.',
    src && element('img', { src, alt, class: 'qr', width: '196', height: '196' }),
    secret && element('p', {}, 'No camera? Enter this key in the app: ', element('code', {}, secret)),
  ]
}
