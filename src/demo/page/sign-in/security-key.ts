/** The browser's own part of a security key (WebAuthn), in the fields that the sign-in API takes. */

export function signWithKey(asked: object | undefined, credentialIds: readonly string[]): Promise<object> {
  return touched(async () => {
    const allowCredentials = credentialIds.map((id) => ({ type: 'public-key', id }))
    const options = { challenge: '', ...asked, allowCredentials }
    return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })
  })
}

export function registerKey(asked: object = {}): Promise<object> {
  return touched(async () => {
    const options = asked as PublicKeyCredentialCreationOptionsJSON
    return navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
    })
  })
}

/** What the API calls the parts of the browser's answer. */
const PARTS = {
  clientData: 'clientDataJSON',
  attestation: 'attestationObject',
  authenticatorData: 'authenticatorData',
  signatureData: 'signature',
}

/** Rejects with a sentence when there is no such key, or nobody touched it. */
async function touched(ask: () => Promise<Credential | null>): Promise<object> {
  if (!('PublicKeyCredential' in window)) throw new Error('This browser does not support security keys.')
  const credential = await ask().catch(() => null) // the browser says why in its own window
  if (credential === null) throw new Error('No security key has answered. Please try again.')
  const { response } = credential as PublicKeyCredential
  const parts = Object.entries(PARTS).filter(([, part]) => part in response)
  return Object.fromEntries(parts.map(([name, part]) => [name, base64(Reflect.get(response, part))]))
}

function base64(buffer: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(buffer)))
}
