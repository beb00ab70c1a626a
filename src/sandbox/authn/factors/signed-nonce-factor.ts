import { operationNotAllowed } from '../authn-error.ts'
import type { FactorHandler } from './factor-handler.ts'
import { push } from './push-factor.ts'

/** The verification app without a password (`signed_nonce`): listed, but this API has no way to verify it. */
export const signedNonce: FactorHandler = {
  idPrefix: push.idPrefix,
  profile: push.profile,
  enroll: () => ({}),
  immediate: false,
  begin: refuse,
  answers: () => true,
  check: refuse,
  poll: refuse,
}

function refuse(): never {
  throw operationNotAllowed()
}
