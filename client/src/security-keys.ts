import type { MfaChallenge, MfaEnrollActivate } from './sign-in-step.ts'

/**
 * The proof of a security key or passkey (WebAuthn), with the field names of Okta's Authentication
 * API.
 */
export interface Assertion {
  readonly clientData: string
  readonly authenticatorData: string
  readonly signatureData: string
}

/** A new security key. */
export interface Attestation {
  readonly clientData: string
  readonly attestation: string
  /** JSON, such as `["usb","nfc"]`, if the browser tells it. */
  readonly transports?: string
  /** JSON, such as `{"credProps":{"rk":true}}`, if the browser tells it. */
  readonly clientExtensions?: string
}

export interface SecurityKeyOptions {
  /**
   * The relying party id that the keys belong to, such as `example.com` for keys of all its hosts.
   * Default: the one that Okta names, else the page's host. A key can only be used with the id with
   * which it was set up.
   */
  readonly rpId?: string | undefined
}

/**
 * Asks the user's security key, for `verify`.
 * @throws {DOMException} as `navigator.credentials.get`, such as `NotAllowedError` when the user
 * cancels
 */
export async function getAssertion(
  { answer, factor }: MfaChallenge,
  { rpId }: SecurityKeyOptions = {},
): Promise<Assertion> {
  const { factors = factor ? [factor] : [], challenge } = answer._embedded
  const own = factor?.factorType === 'webauthn' ? factor._embedded?.challenge : undefined
  const options = { ...challenge, ...own } as Json<PublicKeyCredentialRequestOptions, 'challenge'>
  const ids = factors.map(({ profile }) => ({ type: 'public-key' as const, id: `${profile?.credentialId}` }))
  const publicKey = {
    ...options,
    ...(rpId !== undefined && { rpId }),
    challenge: bytesOf(options.challenge),
    allowCredentials: withBytes(ids),
  }
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
export async function createAttestation(
  { factor }: MfaEnrollActivate,
  { rpId }: SecurityKeyOptions = {},
): Promise<Attestation> {
  const activation = factor?.factorType === 'webauthn' ? factor._embedded?.activation : undefined
  const options = activation as CreationJson
  const publicKey = {
    ...options,
    ...(rpId !== undefined && { rp: { ...options.rp, id: rpId } }),
    challenge: bytesOf(options.challenge),
    user: { ...options.user, id: bytesOf(options.user.id) },
    excludeCredentials: withBytes(options.excludeCredentials ?? []),
  }
  const credential = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential
  const response = credential.response as AuthenticatorAttestationResponse
  return {
    clientData: base64(response.clientDataJSON),
    attestation: base64(response.attestationObject),
    // missing in some browsers, and in extensions that replace `navigator.credentials`
    ...told('transports', response.getTransports?.()),
    ...told('clientExtensions', credential.getClientExtensionResults?.()),
  }
}

/** As Okta's widget sends what the browser tells: as JSON in a text. */
function told<Name extends string>(name: Name, value: unknown): { readonly [Key in Name]?: string } {
  return value === undefined || value === null ? {} : ({ [name]: JSON.stringify(value) } as never)
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
