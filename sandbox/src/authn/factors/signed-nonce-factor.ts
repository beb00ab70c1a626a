import { operationNotAllowed } from '../authn-error.ts'
import type { FactorHandler } from './factor-handler.ts'
import { push } from './push-factor.ts'

/** Okta FastPass (`signed_nonce`) is listed, but this API cannot verify it. */
export const signedNonce: FactorHandler = {
  idPrefix: push.idPrefix,
  profile: push.profile,
  enroll: reject,
  immediate: false,
  begin: reject,
  hasAnswer: () => true,
  check: reject,
  poll: reject,
}

function reject(): never {
  throw operationNotAllowed()
}
