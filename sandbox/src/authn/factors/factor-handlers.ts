import type { FactorConfig } from '../../sandbox-config.ts'
import { idFromSeed } from '../issued-tokens.ts'
import type { Factor } from '../user.ts'
import { duo } from './duo-factor.ts'
import type { FactorHandlers, FactorOwner } from './factor-handler.ts'
import { IDENTITY_PROVIDER_ID, identityProvider } from './identity-provider-factors.ts'
import { hotpToken, serialToken, softwareToken } from './otp-factors.ts'
import { password } from './password-factor.ts'
import { push } from './push-factor.ts'
import { question } from './question-factor.ts'
import { sentCode } from './sent-code-factors.ts'
import { signedNonce } from './signed-nonce-factor.ts'
import { u2f } from './u2f-factor.ts'
import { webauthn } from './webauthn-factor.ts'

export const FACTOR_HANDLERS: FactorHandlers = {
  question,
  sms: sentCode('sms', 'sms'),
  call: sentCode('call', 'clf'),
  email: sentCode('email', 'emf'),
  'token:software:totp': softwareToken,
  push,
  token: serialToken({ RSA: 'rsa', SYMANTEC: 'vip' }),
  'token:hardware': serialToken({ YUBICO: 'ykf' }),
  webauthn,
  u2f,
  password,
  web: duo,
  'token:hotp': hotpToken,
  signed_nonce: signedNonce,
  claims_provider: identityProvider({
    idPrefix: 'cpf',
    showsUser: false,
    pathOf: ({ stateToken }) => `/sso/idps/${IDENTITY_PROVIDER_ID}?stateToken=${stateToken}`,
  }),
  'assertion:saml2': identityProvider({
    idPrefix: 'sml',
    showsUser: true,
    pathOf: ({ key }) => `/policy/mfa-saml-idp-redirect?okta_key=${key}`,
  }),
  'assertion:oidc': identityProvider({
    idPrefix: 'oid',
    showsUser: true,
    pathOf: ({ key }) => `/policy/mfa-oidc-idp-redirect?okta_key=${key}`,
  }),
}

/** An enrolled factor from sandbox/sandbox.json. */
export function factorFromConfig(config: FactorConfig, owner: FactorOwner, seed: string): Factor {
  const handler = FACTOR_HANDLERS[config.type]
  return { ...newFactor(config, owner, seed), publicKey: handler.publicKey?.(config, owner) }
}

/** A factor that is being enrolled. A security key gets its public key at activation. */
export function newFactor(config: FactorConfig, owner: FactorOwner, seed: string): Factor {
  const handler = FACTOR_HANDLERS[config.type]
  return {
    id: idFromSeed(handler.idPrefix(config.provider), seed),
    factorType: config.type,
    provider: config.provider,
    profile: handler.profile(config, owner),
    config,
    wrongCodes: 0,
    usedSteps: new Set(),
    publicKey: undefined,
    relyingPartyHash: undefined,
  }
}
