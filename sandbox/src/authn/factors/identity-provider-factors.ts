import { randomChallenge } from '../issued-tokens.ts'
import { actionLink } from '../links.ts'
import type { FactorHandler, FactorStep, Outcome } from './factor-handler.ts'

/** The identity provider of `claims_provider` in the path of its redirect. */
export const IDENTITY_PROVIDER_ID = '0oasandboxidp000001'

/**
 * A factor that an external identity provider verifies and enrolls. The `redirect` or `activate`
 * link sends the browser there, and the provider's answer takes effect with the next request of the
 * transaction.
 *
 * @param pathOf the path at the org that redirects to the provider
 */
export function identityProvider({
  idPrefix,
  showsUser,
  pathOf,
}: {
  idPrefix: string
  showsUser: boolean
  pathOf: (step: { stateToken: string; key: string }) => string
}): FactorHandler {
  return {
    idPrefix: () => idPrefix,
    profile: (_config, owner) => (showsUser ? { user: owner.login } : undefined),
    enroll: () => ({}),
    immediate: false,
    begin,
    hasAnswer: () => false,
    check: poll,
    poll,
    redirect({ transaction: { stateToken, status }, challenge: { redirectKey = '' }, origin }) {
      const name = status === 'MFA_ENROLL_ACTIVATE' ? 'activate' : 'redirect'
      return actionLink(origin, pathOf({ stateToken, key: redirectKey }), 'GET', name)
    },
  }
}

function begin({ org, transaction, challenge }: FactorStep): void {
  challenge.redirectKey = randomChallenge(org.random)
  challenge.pushAnswer = undefined
  transaction.factorResult = undefined
}

function poll(step: FactorStep): Outcome {
  if (step.challenge.pushAnswer === 'approve') return { kind: 'verified' }
  if (step.transaction.factorResult === 'FAILED') begin(step) // the user tries again
  return { kind: 'waiting' }
}
