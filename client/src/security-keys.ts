import type { MfaChallenge, MfaEnrollActivate } from './sign-in-step.ts'

/** The proof of a security key or passkey (WebAuthn), with the field names of Okta's Authentication API. */
export interface Assertion {
  readonly clientData: string
  readonly authenticatorData: string
  readonly signatureData: string
}

/** A new security key. */
export interface Attestation {
  readonly clientData: string
  readonly attestation: string
}

/**
 * Asks the user's security key, for `verify`.
 * @throws {DOMException} as `navigator.credentials.get`, such as `NotAllowedError` when the user cancels
 */
export async function getAssertion({ answer, factor }: MfaChallenge): Promise<Assertion> {
  const { factors = factor ? [factor] : [], challenge } = answer._embedded
  const ids = factors.map(({ profile }) => ({ type: 'public-key', id: profile?.credentialId }))
  const own = factor?.factorType === 'webauthn' ? factor._embedded?.challenge : undefined
  // Okta's options are JSON of WebAuthn without the credentials
  const options = { ...challenge, ...own, allowCredentials: ids } as PublicKeyCredentialRequestOptionsJSON
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const { response } = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential
  const { clientDataJSON, authenticatorData, signature } = response as AuthenticatorAssertionResponse
  return {
    clientData: base64(clientDataJSON),
    authenticatorData: base64(authenticatorData),
    signatureData: base64(signature),
  }
}

/**
 * Registers a security key, for `activate`.
 * @throws {DOMException} as `navigator.credentials.create`
 */
export async function createAttestation({ factor }: MfaEnrollActivate): Promise<Attestation> {
  const activation = factor?.factorType === 'webauthn' ? factor._embedded?.activation : undefined
  const options = activation as PublicKeyCredentialCreationOptionsJSON // Okta's options are JSON of WebAuthn
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const { response } = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential
  const { clientDataJSON, attestationObject } = response as AuthenticatorAttestationResponse
  return { clientData: base64(clientDataJSON), attestation: base64(attestationObject) }
}

function base64(buffer: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(buffer)))
}
