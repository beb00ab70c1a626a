import { invalidPhoneNumber, validationFailed } from '../authn-error.ts'
import { randomCode } from '../issued-tokens.ts'
import type { Org } from '../org.ts'
import { type Channel, enforceSendLimits } from '../send-limits.ts'
import { emailOf } from '../user.ts'
import { type FactorBody, type FactorHandler, type FactorStep, WRONG_CODE } from './factor-handler.ts'

const MESSAGE_KIND = { sms: 'sms', call: 'call', email: 'mail' } as const

/** A code by text message, phone call or email. A verify request without a code sends it. */
export function sentCode(channel: Channel, idPrefix: string): FactorHandler {
  return {
    idPrefix: () => idPrefix,
    profile: (config, owner) =>
      channel === 'email'
        ? { email: maskEmail(config.email ?? owner.login) }
        : { phoneNumber: maskPhone(config.phoneNumber ?? '') },
    enroll: (body, owner, org) =>
      channel === 'email'
        ? { email: typeof body.profile?.email === 'string' ? body.profile.email : owner.login }
        : { phoneNumber: readPhoneNumber(body, org) },
    immediate: false,
    begin: (step) => sendCode(step, channel),
    // The sign-in widget sends an empty passCode to request a code. During a challenge, it is a
    // wrong code.
    hasAnswer: ({ passCode }, isNewChallenge) =>
      passCode !== undefined && !(isNewChallenge && passCode === ''),
    check: ({ challenge, body }) =>
      challenge.code !== undefined && body.passCode === challenge.code
        ? { kind: 'verified' }
        : { kind: 'wrong', cause: WRONG_CODE },
    poll(step) {
      sendCode(step, channel)
      return { kind: 'waiting' }
    },
    resend: channel,
  }
}

/** +1 XXX-XXX-1337 */
function maskPhone(phoneNumber: string): string {
  return `${phoneNumber.slice(0, 2)} XXX-XXX-${phoneNumber.slice(-4)}`
}

/** d...y@example.test */
function maskEmail(address: string): string {
  const [name = '', domain = ''] = address.split('@')
  return `${name.slice(0, 1)}...${name.slice(-1)}@${domain}`
}

/** @throws E0000001 for a malformed number, E0000098 for one that no carrier knows */
export function readPhoneNumber(body: FactorBody, org: Org): string {
  const { phoneNumber, validatePhone } = body.profile ?? {}
  const digits = typeof phoneNumber === 'string' ? phoneNumber.replace(/[\s().-]/g, '') : ''
  if (!/^\+\d{7,15}$/.test(digits))
    throw validationFailed('profile.phoneNumber', ['profile.phoneNumber: Invalid Phone Number.'])
  if (validatePhone !== false && org.config.invalidPhoneNumbers.includes(digits)) throw invalidPhoneNumber()
  return digits
}

function sendCode({ org, transaction, user, factor, challenge }: FactorStep, channel: Channel): void {
  enforceSendLimits(org, channel, challenge.sentAtMs)
  const code = randomCode(org.random)
  challenge.code = code
  challenge.sentAtMs = org.now()
  const to = channel === 'email' ? (factor.config.email ?? emailOf(user)) : factor.config.phoneNumber
  org.outbox.send({
    kind: MESSAGE_KIND[channel],
    login: user.login,
    to: to ?? '',
    purpose: transaction.status === 'MFA_ENROLL_ACTIVATE' ? 'factor-activation' : 'factor-code',
    text: `Your verification code is ${code}.`,
    code,
  })
}
