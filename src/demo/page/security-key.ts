import type { Activation, Challenge } from './broker.js'

/** The browser's own part of a security key (WebAuthn), in the fields that the sign-in API takes. */

/** Rejects with a sentence when there is no such key, or nobody touched it. */
export async function signWithKey(challenge: Challenge, credentialIds: readonly string[]): Promise<object> {
  const credential = await ask(() =>
    navigator.credentials.get({
      publicKey: {
        challenge: bytesOf(challenge.challenge ?? ''),
        userVerification: challenge.userVerification ?? 'preferred',
        allowCredentials: credentialIds.map((id) => ({ type: 'public-key', id: bytesOf(id) })),
      },
    }),
  )
  const { clientDataJSON, authenticatorData, signature } =
    credential.response as AuthenticatorAssertionResponse
  return {
    clientData: base64(clientDataJSON),
    authenticatorData: base64(authenticatorData),
    signatureData: base64(signature),
  }
}

export async function registerKey(activation: Activation): Promise<object> {
  const { challenge = '', rp, user, pubKeyCredParams, excludeCredentials = [], ...rest } = activation
  const credential = await ask(() =>
    navigator.credentials.create({
      publicKey: {
        challenge: bytesOf(challenge),
        rp: { name: rp?.name ?? document.title },
        user: {
          id: new TextEncoder().encode(user?.id ?? ''),
          name: user?.name ?? '',
          displayName: user?.displayName ?? '',
        },
        pubKeyCredParams: pubKeyCredParams ?? [{ type: 'public-key', alg: -7 }],
        excludeCredentials: excludeCredentials.map(({ id }) => ({ type: 'public-key', id: bytesOf(id) })),
        attestation: rest.attestation ?? 'none',
        authenticatorSelection: rest.authenticatorSelection ?? {},
      },
    }),
  )
  const { clientDataJSON, attestationObject } = credential.response as AuthenticatorAttestationResponse
  return { clientData: base64(clientDataJSON), attestation: base64(attestationObject) }
}

async function ask(request: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  if (!('credentials' in navigator)) throw new Error('This browser does not support security keys.')
  const credential = await request().catch(() => null) // the browser says why in its own window
  if (credential === null) throw new Error('No security key has answered. Please try again.')
  return credential as PublicKeyCredential
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

function base64(buffer: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(buffer)))
}
