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
  const own = factor?.factorType === 'webauthn' ? factor._embedded?.challenge : undefined
  const options = { ...challenge, ...own } as Json<PublicKeyCredentialRequestOptions, 'challenge'>
  const ids = factors.map(({ profile }) => ({ type: 'public-key' as const, id: `${profile?.credentialId}` }))
  const publicKey = { ...options, challenge: bytesOf(options.challenge), allowCredentials: withBytes(ids) }
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
  const options = activation as CreationJson
  const publicKey = {
    ...options,
    challenge: bytesOf(options.challenge),
    user: { ...options.user, id: bytesOf(options.user.id) },
    excludeCredentials: withBytes(options.excludeCredentials ?? []),
  }
  const { response } = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential
  const { clientDataJSON, attestationObject } = response as AuthenticatorAttestationResponse
  return { clientData: base64(clientDataJSON), attestation: base64(attestationObject) }
}

/** Okta's options are those of WebAuthn, with base64url for bytes. */
type Json<Options, Bytes extends keyof Options> = Omit<Options, Bytes> & Readonly<Record<Bytes, string>>
type CredentialJson = Json<PublicKeyCredentialDescriptor, 'id'>
type CreationJson = Json<
  Omit<PublicKeyCredentialCreationOptions, 'user' | 'excludeCredentials'>,
  'challenge'
> & {
  readonly user: Json<PublicKeyCredentialUserEntity, 'id'>
  readonly excludeCredentials?: readonly CredentialJson[]
}

const withBytes = (credentials: readonly CredentialJson[]) =>
  credentials.map((credential) => ({ ...credential, id: bytesOf(credential.id) }))

/** `PublicKeyCredential.parse…OptionsFromJSON` does the same, but is too new for some browsers. */
function bytesOf(base64Url: string) {
  const binary = atob(base64Url.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

function base64(buffer: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(buffer)))
}
