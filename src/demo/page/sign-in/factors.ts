import type { Factor } from '/demo/client/index.js'
import { fill, type Words } from '../parts/elements.js'
import { BOX, type Field } from '../parts/form.js'
import { texts } from '../parts/language.js'
import { explanation, type Screen } from './screens.js'

/** How the page treats a factor type. */
interface Kind {
  /** The label of the button that starts the challenge, such as sending a message. Empty: the challenge starts at once. */
  readonly send?: string
  /** The fields to fill in before enrollment. */
  readonly ask?: readonly Field[]
  /** How its challenge is answered. Default: a code, or the answer to a question. */
  readonly answeredBy?: 'phone' | 'key' | 'duo'
  /** An explanation for users, if this page cannot verify the factor. */
  readonly cannotVerify?: Screen
  /** The same, if it cannot enroll it. */
  readonly cannotEnroll?: Screen
}

const DIGITS = { autocomplete: 'one-time-code', inputmode: 'numeric', maxlength: '10', class: 'digits' }
export const CODE: Field = ['passCode', texts.code, DIGITS]
export const PASSWORD = passwordField('password', texts.password, 'current')
const SERIAL: Field = ['credentialId', texts.serialNumber]
export const PHONE: Field = [
  'phoneNumber',
  texts.phoneNumber,
  { type: 'tel', autocomplete: 'tel', dir: 'ltr' },
]
const UPDATE: Field = ['updatePhone', texts.replaceNumber, BOX]
const U2F = explanation(texts.u2fTitle, texts.u2fText)
const FASTPASS = explanation(texts.fastPassTitle, texts.fastPassText)

type Name = keyof typeof texts.factors

const KINDS: Readonly<Record<Name, Kind>> = {
  question: { ask: [['answer', texts.yourAnswer]] },
  password: { ask: [passwordField('password', texts.newPassword, 'new')] },
  'token:software:totp': {},
  'token:software:totp OKTA': {},
  'token:hotp': { cannotEnroll: explanation(texts.tokenTitle, texts.tokenText) },
  'token:hardware': { ask: [SERIAL, CODE] },
  token: { ask: [SERIAL, CODE] },
  sms: { send: texts.sendCode, ask: [PHONE, UPDATE] },
  call: { send: texts.callMe, ask: [PHONE, UPDATE] },
  email: { send: texts.sendCode },
  push: { send: texts.sendRequest, answeredBy: 'phone' },
  webauthn: { send: '', answeredBy: 'key' },
  signed_nonce: { cannotVerify: FASTPASS, cannotEnroll: FASTPASS },
  u2f: { cannotVerify: U2F, cannotEnroll: U2F },
  web: { send: '', answeredBy: 'duo' },
  claims_provider: { send: '' },
}

export function passwordField(name: string, label: string, which: 'current' | 'new'): Field {
  return [name, label, { type: 'password', autocomplete: `${which}-password` }]
}

/** undefined if this page does not know the type. */
export function kindOf(factor: Factor): Kind | undefined {
  const name = nameInTables(factor)
  return name && KINDS[name]
}

export function isKnown(factor: Factor): boolean {
  return nameInTables(factor) !== undefined
}

export function nameOf(factor: Factor, use: 'verify' | 'enroll'): Words {
  const name = nameInTables(factor)
  const { profile, provider, vendorName } = factor
  return fill(name ? texts.factors[name][use] : factor.factorType, { provider, vendorName, ...profile })
}

function nameInTables({ factorType, provider }: Factor): Name | undefined {
  // other identity providers have one text and one behaviour
  const type = factorType.replace(/^assertion:(saml2|oidc)$/, 'claims_provider')
  return [`${type} ${provider}`, type].find((name): name is Name => Object.hasOwn(texts.factors, name))
}
