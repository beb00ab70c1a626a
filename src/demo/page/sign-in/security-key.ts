/** The browser's own part of a security key (WebAuthn), in the fields that the sign-in API takes. */

/** Rejects with a sentence when there is no such key, or nobody touched it. */
export async function signWithKey(asked: object, credentialIds: readonly string[]): Promise<object> {
  const allowCredentials = credentialIds.map((id) => ({ type: 'public-key', id }))
  const options = { challenge: '', ...asked, allowCredentials }
  const answer = await answerOf<AuthenticatorAssertionResponse>(() => {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
    return navigator.credentials.get({ publicKey })
  })
  return {
    clientData: base64(answer.clientDataJSON),
    authenticatorData: base64(answer.authenticatorData),
    signatureData: base64(answer.signature),
  }
}

export async function registerKey(asked: object): Promise<object> {
  const answer = await answerOf<AuthenticatorAttestationResponse>(() => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
      asked as PublicKeyCredentialCreationOptionsJSON,
    )
    return navigator.credentials.create({ publicKey })
  })
  return { clientData: base64(answer.clientDataJSON), attestation: base64(answer.attestationObject) }
}

async function answerOf<Answer>(ask: () => Promise<Credential | null>): Promise<Answer> {
  if (!('PublicKeyCredential' in window)) throw new Error('This browser does not support security keys.')
  const credential = await ask().catch(() => null) // the browser says why in its own window
  if (!credential) throw new Error('No security key has answered. Please try again.')
  return (credential as PublicKeyCredential).response as Answer
}

function base64(buffer: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(buffer)))
}
