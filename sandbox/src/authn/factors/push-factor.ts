import type { FactorResult, PushAnswer } from '../transaction.ts'
import type { FactorHandler, FactorStep, Outcome } from './factor-handler.ts'

const RESULTS: Record<Exclude<PushAnswer, 'approve'>, FactorResult> = {
  reject: 'REJECTED',
  cancel: 'CANCELLED',
  error: 'ERROR',
}

/**
 * Okta Verify. Time-outs count polls, not time. The phone answers through the control API, or after
 * the configured number of polls.
 */
export const push: FactorHandler = {
  idPrefix: () => 'opf',
  profile: (_config, owner) => ({
    credentialId: owner.login,
    deviceType: 'SmartPhone_IPhone',
    keys: [{ kty: 'PKIX', use: 'sig', kid: 'default', x5c: ['c2FuZGJveA'] }],
    name: 'Sandbox phone',
    platform: 'IOS',
    version: '18.0',
  }),
  enroll: () => ({}),
  immediate: false,
  begin({ org, transaction, factor, challenge }) {
    challenge.polls = 0
    challenge.pushAnswer = undefined
    if (transaction.status === 'MFA_ENROLL_ACTIVATE') challenge.qrToken ??= org.tokens.issueLong()
    challenge.correctAnswer = factor.config.numberChallenge ? 10 + ((org.random(1)[0] ?? 0) % 90) : undefined
    transaction.factorResult = 'WAITING'
  },
  hasAnswer: () => false,
  check: () => ({ kind: 'waiting', result: 'WAITING' }),
  poll,
  challengeObject: ({ challenge, transaction }) =>
    challenge.correctAnswer === undefined || transaction.factorResult !== 'WAITING'
      ? undefined
      : { challenge: { correctAnswer: challenge.correctAnswer } },
  activationObject({ org, transaction, user, factor, challenge, origin }) {
    const factorUrl = `${origin}/api/v1/users/${user.id}/factors/${factor.id}`
    const post = { hints: { allow: ['POST'] } }
    const send = ['email', 'sms'].map((name) => ({
      name,
      href: `${factorUrl}/lifecycle/activate/${name}`,
      ...post,
    }))
    if (transaction.factorResult === 'TIMEOUT')
      return {
        factorResult: 'TIMEOUT',
        _links: { activate: { href: `${factorUrl}/lifecycle/activate`, ...post }, send },
      }
    return {
      expiresAt: new Date(org.now() + 5 * 60_000).toISOString(),
      factorResult: 'WAITING',
      _links: { qrcode: { href: `${factorUrl}/qr/${challenge.qrToken}`, type: 'image/png' }, send },
    }
  },
  resend: 'push',
}

function poll(step: FactorStep): Outcome {
  const { transaction, challenge, factor, org } = step
  // After a rejection or time-out, the next request sends a new push.
  if (transaction.factorResult !== 'WAITING') {
    push.begin(step)
    return { kind: 'waiting', result: 'WAITING' }
  }
  challenge.polls += 1
  const answer = challenge.pushAnswer ?? automaticAnswer(step)
  if (answer === 'approve') return { kind: 'verified' }
  if (answer !== undefined) return { kind: 'waiting', result: RESULTS[answer] }
  const timeout = factor.config.timeoutAfterPolls ?? org.config.limits.pushPolls
  return { kind: 'waiting', result: challenge.polls >= timeout ? 'TIMEOUT' : 'WAITING' }
}

function automaticAnswer({ factor, challenge }: FactorStep): PushAnswer | undefined {
  const after = factor.config.answersAfterPolls
  return after !== undefined && challenge.polls > after ? factor.config.answers : undefined
}
