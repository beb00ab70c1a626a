import { nextTokenCode, tokenPrompt } from '../authn-error.ts'
import type { Org, RsaToken } from '../org.ts'
import type { Factor } from '../user.ts'
import { type FactorStep, type Outcome, WRONG_CODE } from './factor-handler.ts'

/** As in the widget's RSA_ERROR_change_pin.js. */
const ENTER_PIN = 'Enter a new PIN having from 4 to 8 digits:'
/** As in the widget's error-authenticator-verification-passcode-change-rsa.json. */
const PIN_ACCEPTED = 'Pin accepted, Wait for token to change, then enter new passcode'
const PIN = /^\d{4,8}$/
/** A token with such a serial number is in new-PIN mode when it is set up. */
const NEW_PIN_SERIAL = /^NEWPIN-/

/**
 * Checks the PIN, if the token has one, and the code after it. Throws the prompt of the RSA server
 * (S11).
 */
export function checkRsaToken(step: FactorStep, checkCode: (step: FactorStep) => Outcome): Outcome {
  const token = tokenOf(step.org, step.factor)
  const { passCode = '' } = step.body
  if (token.mode === 'pin-asked') {
    if (!PIN.test(passCode)) throw tokenPrompt(ENTER_PIN)
    token.mode = undefined
    token.pin = passCode
    throw tokenPrompt(PIN_ACCEPTED)
  }
  if (!passCode.startsWith(token.pin)) return { kind: 'wrong', cause: WRONG_CODE }
  const outcome = checkCode({ ...step, body: { passCode: passCode.slice(token.pin.length) } })
  if (outcome.kind !== 'verified') return outcome
  const { mode } = token
  token.mode = mode === 'new-pin' ? 'pin-asked' : undefined
  if (mode === 'new-pin') throw tokenPrompt(ENTER_PIN)
  if (mode === 'next-code') throw nextTokenCode()
  return outcome
}

function tokenOf(org: Org, { profile, config }: Factor): RsaToken {
  const serial = String(profile?.credentialId)
  const mode = config.tokenMode ?? (NEW_PIN_SERIAL.test(serial) ? 'new-pin' : undefined)
  const token = org.rsaTokens.get(serial) ?? { mode, pin: '' }
  org.rsaTokens.set(serial, token)
  return token
}
