import { z } from 'zod'
import { randomChallenge } from '../issued-tokens.ts'
import { type FactorHandler, type FactorStep, type Outcome, WRONG_CODE } from './factor-handler.ts'
import { isTrustedOrigin, mayUseKeys } from './trusted-origins.ts'
import { createVirtualAuthenticator, sha256 } from './virtual-authenticator.ts'
import { isSignatureValid } from './webauthn-factor.ts'

const WRONG: Outcome = { kind: 'wrong', cause: WRONG_CODE }
const POINT_BYTES = 65

/**
 * U2F security keys: raw FIDO U2F messages, with signatures over the page's origin. `appId` is the
 * origin of the page that sends the request, if it is trusted
 * (https://developer.okta.com/docs/reference/api/authn/#enroll-u2f-factor).
 */
export const u2f: FactorHandler = {
  idPrefix: () => 'fuf',
  profile: (_config, owner) => ({
    credentialId: createVirtualAuthenticator({ seed: owner.login }).credentialId,
    version: 'U2F_V2',
  }),
  publicKey: (_config, owner) => createVirtualAuthenticator({ seed: owner.login }).publicKey,
  enroll: () => ({}),
  immediate: false,
  begin(step) {
    const { org, challenge, origin, pageOrigin } = step
    challenge.nonce = randomChallenge(org.random)
    challenge.appId = isTrustedOrigin(pageOrigin, step) ? pageOrigin : origin
  },
  hasAnswer: (body) => body.clientData !== undefined,
  check: (step) =>
    step.transaction.status === 'MFA_ENROLL_ACTIVATE' ? checkRegistration(step) : checkSignature(step),
  poll: () => ({ kind: 'waiting' }),
  challengeObject: ({ challenge }) => ({ challenge: { nonce: challenge.nonce, timeoutSeconds: 20 } }),
  activationObject: ({ challenge }) => ({
    version: 'U2F_V2',
    appId: challenge.appId,
    nonce: challenge.nonce,
    timeoutSeconds: 20,
  }),
}

const clientDataShape = z.object({ typ: z.string(), challenge: z.string(), origin: z.string() })

/**
 * A registration message: 0x05, the public key's point, length and bytes of the key handle,
 * certificate, signature.
 */
function checkRegistration(step: FactorStep): Outcome {
  const { factor, challenge, body } = step
  try {
    const client = readClientData(body.clientData)
    if (!mayUseKeys(client.origin, step)) return WRONG
    if (client.typ !== 'navigator.id.finishEnrollment' || client.challenge !== challenge.nonce) return WRONG
    const data = Buffer.from(body.registrationData ?? '', 'base64')
    const point = data.subarray(1, 1 + POINT_BYTES)
    const handleLength = data.readUInt8(1 + POINT_BYTES)
    const handle = data.subarray(2 + POINT_BYTES, 2 + POINT_BYTES + handleLength)
    if (data[0] !== 5 || point[0] !== 4 || handle.length !== handleLength || handleLength === 0) return WRONG
    factor.publicKey = JSON.stringify({
      kty: 'EC',
      crv: 'P-256',
      x: point.subarray(1, 33).toString('base64url'),
      y: point.subarray(33).toString('base64url'),
    })
    factor.profile = { credentialId: handle.toString('base64url'), appId: client.origin, version: 'U2F_V2' }
    return { kind: 'verified' }
  } catch {
    return WRONG // malformed
  }
}

/** The signature covers the origin, the presence byte and counter, and the client data. */
function checkSignature(step: FactorStep): Outcome {
  const { factor, challenge, body } = step
  try {
    const client = readClientData(body.clientData)
    if (!mayUseKeys(client.origin, step)) return WRONG
    if (client.typ !== 'navigator.id.getAssertion' || client.challenge !== challenge.nonce) return WRONG
    const data = Buffer.from(body.signatureData ?? '', 'base64')
    const presence = data.subarray(0, 5)
    const clientHash = sha256(Buffer.from(body.clientData ?? '', 'base64'))
    const signed = Buffer.concat([sha256(client.origin), presence, clientHash])
    return presence[0] === 1 && isSignatureValid(factor.publicKey, signed, data.subarray(5))
      ? { kind: 'verified' }
      : WRONG
  } catch {
    return WRONG // malformed
  }
}

function readClientData(clientData: string | undefined): z.output<typeof clientDataShape> {
  return clientDataShape.parse(JSON.parse(Buffer.from(clientData ?? '', 'base64').toString('utf8')))
}
