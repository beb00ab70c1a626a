import { validationFailed } from '../authn-error.ts'
import type { Factor } from '../user.ts'
import { type FactorHandler, type FactorStep, type Outcome, WRONG_CODE } from './factor-handler.ts'
import {
  hardwareTokenSecret,
  nextHotpCode,
  nextTotpCode,
  type OtpResult,
  randomSecret,
  verifyHotp,
  verifyTotp,
} from './otp.ts'
import { checkRsaToken } from './rsa-token.ts'

/** Authenticator apps: Google Authenticator and Okta Verify. */
export const softwareToken: FactorHandler = {
  idPrefix: (provider) => (provider === 'OKTA' ? 'ost' : 'uft'),
  profile: (_config, owner) => ({ credentialId: owner.login }),
  enroll: (_body, _owner, org) => ({ secret: randomSecret(org.random) }),
  immediate: false,
  begin({ org, challenge }) {
    challenge.qrToken ??= org.tokens.issueLong()
  },
  hasAnswer: (body) => body.passCode !== undefined,
  check,
  poll: () => ({ kind: 'waiting' }),
  activationObject({ user, factor, challenge, origin }) {
    const qr = `${origin}/api/v1/users/${user.id}/factors/${factor.id}/qr/${challenge.qrToken}`
    return {
      timeStep: 30,
      sharedSecret: secretOf(factor),
      encoding: 'base32',
      keyLength: 6,
      _links: { qrcode: { href: qr, type: 'image/png' } },
    }
  },
}

/**
 * Enterprise tokens (RSA, Symantec) and hardware tokens. Enrollment takes a serial number and a
 * code.
 */
export function serialToken(idPrefixes: Readonly<Record<string, string>>): FactorHandler {
  return {
    idPrefix: (provider) => idPrefixes[provider] ?? 'tok',
    profile: (config, owner) => ({ credentialId: config.credentialId ?? owner.login }),
    enroll(body) {
      const credentialId = body.profile?.credentialId
      const missing = [
        ...(typeof credentialId === 'string' && credentialId !== '' ? [] : ['profile.credentialId']),
        ...(body.passCode === undefined ? ['passCode'] : []),
      ]
      if (missing.length > 0 || typeof credentialId !== 'string')
        throw validationFailed(
          'factorEnrollRequest',
          missing.map((field) => `${field}: The field cannot be left blank`),
        )
      return { credentialId }
    },
    immediate: true,
    begin: () => {},
    hasAnswer: (body) => body.passCode !== undefined,
    check: (step) => (step.factor.provider === 'RSA' ? checkRsaToken(step, check) : check(step)),
    poll: () => ({ kind: 'waiting' }),
  }
}

/**
 * A third-party HOTP token (RFC 4226). Only an administrator can enroll it, at another API
 * (https://developer.okta.com/docs/reference/api/authn/#enroll-custom-hotp-factor).
 */
export const hotpToken: FactorHandler = {
  ...softwareToken,
  idPrefix: () => 'chf',
  enroll() {
    throw validationFailed('factorEnrollRequest', [
      'factorType: This API cannot enroll a custom HOTP factor.',
    ])
  },
  check: ({ factor, body }) =>
    OUTCOMES[
      verifyHotp({
        secret: secretOf(factor),
        code: body.passCode ?? '',
        usedCounters: factor.usedSteps,
      })
    ],
}

/** The factor's next accepted code. */
export function nextFactorCode(factor: Factor, nowMs: number): string {
  const [secret, usedSteps] = [secretOf(factor), factor.usedSteps]
  return factor.factorType === 'token:hotp'
    ? nextHotpCode(secret, usedSteps)
    : nextTotpCode({ secret, nowMs, usedSteps })
}

export function secretOf(factor: Factor): string {
  return factor.config.secret ?? hardwareTokenSecret(String(factor.profile?.credentialId))
}

const OUTCOMES: Record<OtpResult, Outcome> = {
  valid: { kind: 'verified' },
  invalid: { kind: 'wrong', cause: WRONG_CODE },
  replayed: { kind: 'waiting', result: 'PASSCODE_REPLAYED' },
  'outside-window': { kind: 'waiting', result: 'TIME_WINDOW_EXCEEDED' },
}

function check({ org, factor, body }: FactorStep): Outcome {
  const usedSteps = factor.config.allowReplay ? new Set<number>() : factor.usedSteps
  const code = body.passCode ?? ''
  return OUTCOMES[verifyTotp({ secret: secretOf(factor), code, nowMs: org.now(), usedSteps })]
}
