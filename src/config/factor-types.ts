import { oneOf } from './plain-values.ts'

/** Every factor type that the specification or real answers show. Another one is a mistake in the configuration. */
export const factorType = oneOf(
  'question',
  'sms',
  'call',
  'email',
  'push',
  'token',
  'token:software:totp',
  'token:hotp',
  'token:hardware',
  'webauthn',
  'u2f',
  'web',
  'password',
  'signed_nonce',
  'claims_provider',
  'assertion:oidc',
  'assertion:saml2',
)
