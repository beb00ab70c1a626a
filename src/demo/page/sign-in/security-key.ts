/** Calls WebAuthn in the browser. The results have the field names of Okta's Authentication API. */

export function signWithKey(asked: object | undefined, credentialIds: readonly string[]): Promise<object> {
  return askSecurityKey(async () => {
    const allowCredentials = credentialIds.map((id) => ({ type: 'public-key', id }))
    const options = { challenge: '', ...asked, allowCredentials }
    return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })
  })
}

export function registerKey(asked: object = {}): Promise<object> {
  return askSecurityKey(async () => {
    const options = asked as PublicKeyCredentialCreationOptionsJSON
    return navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
    })
  })
}

/** The API's field names, with WebAuthn's names. */
const RESPONSE_FIELDS = {
  clientData: 'clientDataJSON',
  attestation: 'attestationObject',
  authenticatorData: 'authenticatorData',
  signatureData: 'signature',
}

/** Rejects with a message for the user if no security key responded. */
async function askSecurityKey(ask: () => Promise<Credential | null>): Promise<object> {
  if (!('PublicKeyCredential' in window)) throw new Error('This browser does not support security keys.')
  const credential = await ask().catch(() => null) // the browser shows the reason itself
  if (credential === null) throw new Error('No security key responded. Please try again.')
  const { response } = credential as PublicKeyCredential
  const parts = Object.entries(RESPONSE_FIELDS).filter(([, part]) => part in response)
  return Object.fromEntries(parts.map(([name, part]) => [name, base64(Reflect.get(response, part))]))
}

function base64(buffer: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(buffer)))
}
