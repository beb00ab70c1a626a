import { createECDH, createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto'

/** A security key in software, derived from a seed. For tests and the demo. */
export type VirtualAuthenticator = {
  /** base64url */
  credentialId: string
  /** The public key as serialized JWK. */
  publicKey: string
  /** PKCS #8 (DER) in base64. */
  privateKey(): string
  /**
   * The fields for activation. `origin` is the page's; `rpId` is its host name by default, as in a
   * browser.
   */
  registerWebauthn(
    challenge: string,
    origin: string,
    rpId?: string,
  ): { attestation: string; clientData: string }
  /** The fields for verification. */
  signWebauthn(
    challenge: string,
    origin: string,
    rpId?: string,
  ): { clientData: string; signatureData: string; authenticatorData: string }
  registerU2f(nonce: string, appId: string): { registrationData: string; clientData: string }
  signU2f(nonce: string, appId: string): { clientData: string; signatureData: string }
}

const PRESENT_AND_VERIFIED = 0x05
const ATTESTED_CREDENTIAL_DATA = 0x40

export function createVirtualAuthenticator({ seed }: { seed: string }): VirtualAuthenticator {
  const { privateKey, point, jwk } = keyPairFrom(seed)
  const handle = sha256(`credential ${seed}`)
  const signed = (data: Buffer) => sign('sha256', data, privateKey())

  return {
    credentialId: handle.toString('base64url'),
    publicKey: JSON.stringify(jwk),
    privateKey: () => privateKey().export({ format: 'der', type: 'pkcs8' }).toString('base64'),
    registerWebauthn(challenge, origin, rpId = new URL(origin).hostname) {
      const coseKey = Buffer.concat([
        Buffer.from('a5010203262001215820', 'hex'),
        point.subarray(1, 33),
        Buffer.from('225820', 'hex'),
        point.subarray(33),
      ])
      const length = Buffer.from([0, handle.length])
      const attested = Buffer.concat([Buffer.alloc(16), length, handle, coseKey])
      const data = Buffer.concat([
        authenticatorData(rpId, PRESENT_AND_VERIFIED | ATTESTED_CREDENTIAL_DATA),
        attested,
      ])
      return {
        attestation: attestationObject(data).toString('base64'),
        clientData: clientData({ type: 'webauthn.create', challenge, origin }).toString('base64'),
      }
    },
    signWebauthn(challenge, origin, rpId = new URL(origin).hostname) {
      const client = clientData({ type: 'webauthn.get', challenge, origin })
      const data = authenticatorData(rpId, PRESENT_AND_VERIFIED)
      return {
        clientData: client.toString('base64'),
        signatureData: signed(Buffer.concat([data, sha256(client)])).toString('base64'),
        authenticatorData: data.toString('base64'),
      }
    },
    registerU2f(nonce, appId) {
      const client = clientData({ typ: 'navigator.id.finishEnrollment', challenge: nonce, origin: appId })
      const signature = signed(Buffer.concat([Buffer.of(0), sha256(appId), sha256(client), handle, point]))
      return {
        registrationData: Buffer.concat([
          Buffer.of(5),
          point,
          Buffer.of(handle.length),
          handle,
          signature,
        ]).toString('base64url'),
        clientData: client.toString('base64url'),
      }
    },
    signU2f(nonce, appId) {
      const client = clientData({ typ: 'navigator.id.getAssertion', challenge: nonce, origin: appId })
      const presence = Buffer.from([1, 0, 0, 0, 1])
      const signature = signed(Buffer.concat([sha256(appId), presence, sha256(client)]))
      return {
        clientData: client.toString('base64url'),
        signatureData: Buffer.concat([presence, signature]).toString('base64url'),
      }
    },
  }
}

export function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}

function keyPairFrom(seed: string): { privateKey(): KeyObject; point: Buffer; jwk: Record<string, string> } {
  const secret = sha256(`virtual authenticator ${seed}`)
  const curve = createECDH('prime256v1')
  curve.setPrivateKey(secret)
  const point = curve.getPublicKey()
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  }
  const privateKey = () =>
    createPrivateKey({ key: { ...jwk, d: secret.toString('base64url') }, format: 'jwk' })
  return { privateKey, point, jwk }
}

function clientData(fields: Record<string, string>): Buffer {
  return Buffer.from(JSON.stringify(fields))
}

function authenticatorData(rpId: string, flags: number): Buffer {
  return Buffer.concat([sha256(rpId), Buffer.of(flags), Buffer.alloc(4)])
}

/** CBOR of `{fmt: "none", attStmt: {}, authData}`. */
function attestationObject(authData: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(authData.length)
  return Buffer.concat([
    Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex'),
    Buffer.of(0x59),
    length,
    authData,
  ])
}
