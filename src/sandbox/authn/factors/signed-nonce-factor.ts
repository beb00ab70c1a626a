import { notAllowedNow } from '../authn-error.ts'
import type { FactorKind } from './factor-kind.ts'
import { push } from './push-factor.ts'

/** The verification app without a password (`signed_nonce`): listed, but this API has no way to verify it. */
export const signedNonce: FactorKind = {
  idPrefix: push.idPrefix,
  profile: push.profile,
  enrol: () => ({}),
  immediate: false,
  begin: refuse,
  answers: () => true,
  check: refuse,
  poll: refuse,
}

function refuse(): never {
  throw notAllowedNow()
}
