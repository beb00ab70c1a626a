import type { Factor, MfaRequired, SignInController } from 'gatehouse-client'
import type { ReactNode } from 'react'
import { fillText } from '../language/fill.ts'
import { texts } from '../language/language.ts'
import { Checkbox, CodeField, Field, HiddenUsername, PasscodeField, PasswordField } from '../parts/fields.tsx'
import type { IconName } from '../parts/icon.tsx'

interface Explained {
  readonly title: string
  readonly text: string
}

/** How the page treats a factor type. */
interface Kind {
  readonly icon: IconName
  /** The label of the button that requests the challenge, such as a message. */
  readonly send?: string
  /**
   * The challenge begins as soon as the factor is chosen, because it costs nothing and disturbs no
   * one.
   */
  readonly isAtOnce?: boolean
  /**
   * The challenge leads to another page. The user chooses before it whether to be asked again on
   * this device.
   */
  readonly leavesPage?: boolean
  /** The field of its code. Default: for six digits. */
  readonly code?: ReactNode
  /** The fields to fill in before the factor is set up. */
  readonly ask?: ReactNode
  /** How its challenge is answered. Default: a code, or the answer to a question. */
  readonly answeredBy?: 'phone' | 'key' | 'duo'
  /** An explanation for users, if this page cannot verify the factor. */
  readonly cannotVerify?: Explained
  /** The same, if it cannot set it up. */
  readonly cannotEnroll?: Explained
}

const SERIAL_NUMBER = <Field name="credentialId" label={texts.serialNumber} />
const PASSCODE = <PasscodeField label={texts.passcode} />
const HARDWARE_CODE = <PasscodeField label={texts.code} />
const PHONE = (
  <>
    <PhoneField />
    <Checkbox name="updatePhone" label={texts.replaceNumber} />
  </>
)
const U2F = { title: texts.u2fTitle, text: texts.u2fText }
const FASTPASS = { title: texts.fastPassTitle, text: texts.fastPassText }

type Name = keyof typeof texts.factors

const KINDS: Readonly<Record<Name, Kind>> = {
  question: { icon: 'question', ask: <Field name="answer" label={texts.yourAnswer} /> },
  password: {
    icon: 'lock',
    ask: <PasswordField name="password" label={texts.newPassword} which="new" />,
  },
  'token:software:totp': { icon: 'clock' },
  'token:software:totp OKTA': { icon: 'clock' },
  'token:hotp': { icon: 'token', cannotEnroll: { title: texts.tokenTitle, text: texts.tokenText } },
  'token:hardware': { icon: 'token', code: HARDWARE_CODE, ask: withSerialNumber(HARDWARE_CODE) },
  token: { icon: 'token', code: PASSCODE, ask: withSerialNumber(PASSCODE) },
  sms: { icon: 'message', send: texts.sendCode, ask: PHONE },
  call: { icon: 'call', send: texts.callMe, ask: PHONE },
  email: { icon: 'mail', send: texts.sendCode },
  push: { icon: 'phone', send: texts.sendRequest, answeredBy: 'phone' },
  webauthn: { icon: 'key', isAtOnce: true, answeredBy: 'key' },
  signed_nonce: { icon: 'shield', cannotVerify: FASTPASS, cannotEnroll: FASTPASS },
  u2f: { icon: 'key', cannotVerify: U2F, cannotEnroll: U2F },
  web: { icon: 'shield', isAtOnce: true, answeredBy: 'duo' },
  claims_provider: { icon: 'leave', send: texts.continue, isAtOnce: true, leavesPage: true },
}

function withSerialNumber(code: ReactNode): ReactNode {
  return (
    <>
      {SERIAL_NUMBER}
      {code}
    </>
  )
}

export function PhoneField() {
  return <Field name="phoneNumber" label={texts.phoneNumber} type="tel" autoComplete="tel" dir="ltr" />
}

interface ProofFieldProps {
  readonly factor: Factor
  readonly login: string | null | undefined
}

/** Some orgs send the question's text, others only its name, such as `favorite_toy`. */
export function ProofField({ factor, login }: ProofFieldProps) {
  if (factor.factorType === 'password')
    return (
      <>
        <HiddenUsername login={login} />
        <PasswordField name="password" label={texts.password} which="current" />
      </>
    )
  if (factor.factorType !== 'question') return kindOf(factor)?.code ?? <CodeField />
  const { questionText, question } = factor.profile ?? {}
  return <Field name="answer" label={questionText ?? question?.replaceAll('_', ' ') ?? texts.yourAnswer} />
}

/** Undefined if this page does not know the type. */
export function kindOf(factor: Factor): Kind | undefined {
  const name = nameInTables(factor)
  return name && KINDS[name]
}

export function nameOf(factor: Factor): string {
  const name = nameInTables(factor)
  return name ? fillText(texts.factors[name].name, valuesOf(factor)) : factor.factorType
}

/** What tells it from others of its type, or how it is used. May be empty. */
export function detailOf(factor: Factor, use: 'verify' | 'enroll'): string {
  const name = nameInTables(factor)
  return name ? fillText(texts.factors[name][use], valuesOf(factor)).trim() : ''
}

/** The products of the token makers whom Okta names. */
const PRODUCTS: Readonly<Record<string, string>> = { RSA: 'RSA SecurID', SYMANTEC: 'Symantec VIP' }

function valuesOf({ profile, provider = '', vendorName }: Factor) {
  return { provider: PRODUCTS[provider] ?? provider, vendorName, ...profile }
}

/** Begins the challenge of the only factor, if it begins at once. */
export async function beginOnlyChallenge({ getState, choose }: SignInController): Promise<void> {
  const { step } = getState()
  if (step?.status !== 'MFA_REQUIRED') return
  const [factor, ...others] = step.factors
  if (factor && others.length === 0 && beginsAtOnce(step, factor)) await choose(factor)
}

export function beginsAtOnce({ answer }: MfaRequired, factor: Factor): boolean {
  const { isAtOnce = false, leavesPage = false } = kindOf(factor) ?? {}
  return isAtOnce && !(leavesPage && answer._embedded.policy?.allowRememberDevice === true)
}

function nameInTables({ factorType, provider }: Factor): Name | undefined {
  // other identity providers have one text and one behaviour
  const type = factorType.replace(/^assertion:(saml2|oidc)$/, 'claims_provider')
  return [`${type} ${provider}`, type].find((name): name is Name => Object.hasOwn(texts.factors, name))
}
