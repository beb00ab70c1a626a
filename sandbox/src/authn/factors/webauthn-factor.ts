import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { z } from 'zod'
import type { FactorConfig } from '../../sandbox-config.ts'
import { randomChallenge } from '../issued-tokens.ts'
import { type Cbor, decodeCbor } from './cbor.ts'
import {
  type FactorHandler,
  type FactorOwner,
  type FactorStep,
  type Outcome,
  WRONG_CODE,
} from './factor-handler.ts'
import { relyingPartyHashes } from './trusted-origins.ts'
import { createVirtualAuthenticator, sha256 } from './virtual-authenticator.ts'

const WRONG: Outcome = { kind: 'wrong', cause: WRONG_CODE }

/** WebAuthn security keys, with real ES256 or RS256 signatures. */
export const webauthn: FactorHandler = {
  idPrefix: () => 'fwf',
  profile: (config, owner) => ({
    credentialId: createVirtualAuthenticator({ seed: keySeed(config, owner) }).credentialId,
    authenticatorName: config.authenticatorName ?? 'Sandbox key',
  }),
  publicKey: (config, owner) => createVirtualAuthenticator({ seed: keySeed(config, owner) }).publicKey,
  enroll: () => ({}),
  immediate: false,
  begin({ org, transaction, challenge }) {
    challenge.nonce = randomChallenge(org.random)
    transaction.factorResult = transaction.status === 'MFA_ENROLL_ACTIVATE' ? undefined : 'CHALLENGE'
  },
  hasAnswer: (body) => body.clientData !== undefined,
  check: (step) =>
    step.transaction.status === 'MFA_ENROLL_ACTIVATE' ? checkAttestation(step) : checkAssertion(step),
  poll: () => ({ kind: 'waiting', result: 'CHALLENGE' }),
  challengeObject: ({ challenge }) => ({
    challenge: { challenge: challenge.nonce, userVerification: 'preferred', extensions: {} },
  }),
  activationObject: ({ user, challenge, origin }) => ({
    attestation: 'direct',
    authenticatorSelection: { userVerification: 'preferred', requireResidentKey: false },
    challenge: challenge.nonce,
    excludeCredentials: user.factors
      .filter((factor) => factor.factorType === 'webauthn' && factor.publicKey !== undefined)
      .map((factor) => ({ type: 'public-key', id: factor.profile?.credentialId })),
    pubKeyCredParams: [
      { type: 'public-key', alg: -7 },
      { type: 'public-key', alg: -257 },
    ],
    rp: { name: 'Gatehouse sandbox' },
    u2fParams: { appid: origin },
    user: {
      displayName: `${user.config.firstName} ${user.config.lastName}`,
      name: user.login,
      id: user.id,
    },
  }),
}

const clientDataShape = z.object({ type: z.string(), challenge: z.string(), origin: z.url() })

function checkAttestation(step: FactorStep): Outcome {
  const { factor, body } = step
  try {
    const client = readClientData(body.clientData)
    const object = decodeCbor(Buffer.from(body.attestation ?? '', 'base64'))
    const authData = object instanceof Map ? object.get('authData') : undefined
    if (!Buffer.isBuffer(authData)) return WRONG
    const rpHash = verifyRelyingParty(client, 'webauthn.create', authData, step)
    if (rpHash === undefined) return WRONG
    const idLength = authData.readUInt16BE(53)
    const coseKey = decodeCbor(authData.subarray(55 + idLength))
    const jwk = jwkOf(coseKey)
    createPublicKey({ key: jwk, format: 'jwk' })
    factor.publicKey = JSON.stringify(jwk)
    factor.relyingPartyHash = rpHash
    factor.profile = {
      credentialId: authData.subarray(55, 55 + idLength).toString('base64url'),
      authenticatorName: 'Security key',
    }
    return { kind: 'verified' }
  } catch {
    return WRONG // malformed
  }
}

function checkAssertion(step: FactorStep): Outcome {
  const { factor, body } = step
  try {
    const client = readClientData(body.clientData)
    const authData = Buffer.from(body.authenticatorData ?? '', 'base64')
    const rpHash = verifyRelyingParty(client, 'webauthn.get', authData, step)
    if (rpHash === undefined || !rpHash.equals(factor.relyingPartyHash ?? rpHash)) return WRONG
    const signed = Buffer.concat([authData, sha256(Buffer.from(body.clientData ?? '', 'base64'))])
    return isSignatureValid(factor.publicKey, signed, body.signatureData) ? { kind: 'verified' } : WRONG
  } catch {
    return WRONG // malformed
  }
}

/** Throws if the key or the signature is malformed. */
export function isSignatureValid(
  publicKey: string | undefined,
  signed: Buffer,
  signature: string | Buffer | undefined,
): boolean {
  if (publicKey === undefined || signature === undefined) return false
  const jwk: JsonWebKey = z.record(z.string(), z.string()).parse(JSON.parse(publicKey))
  const bytes = typeof signature === 'string' ? Buffer.from(signature, 'base64') : signature
  return verify('sha256', signed, createPublicKey({ key: jwk, format: 'jwk' }), bytes)
}

/**
 * The relying party hash of a valid answer; undefined if the answer is for another challenge or
 * ceremony, comes from an origin that is not trusted, or lacks user presence.
 */
function verifyRelyingParty(
  client: z.output<typeof clientDataShape>,
  type: string,
  authData: Buffer,
  step: FactorStep,
): Buffer | undefined {
  const userPresentFlag = 0x01
  if (client.type !== type || client.challenge !== step.challenge.nonce) return undefined
  if (((authData[32] ?? 0) & userPresentFlag) === 0) return undefined
  return relyingPartyHashes(client.origin, step).find((hash) => hash.equals(authData.subarray(0, 32)))
}

/** The seed of a configured key; `key` distinguishes several keys of one user. */
export function keySeed({ key }: Pick<FactorConfig, 'key'>, { login }: FactorOwner): string {
  return key === undefined ? login : `${login} ${key}`
}

function readClientData(clientData: string | undefined): z.output<typeof clientDataShape> {
  return clientDataShape.parse(JSON.parse(Buffer.from(clientData ?? '', 'base64').toString('utf8')))
}

/** A COSE key (RFC 9053) of ES256 or RS256. */
function jwkOf(coseKey: Cbor): Record<string, string> {
  const parameter = (label: number): string => {
    const value = coseKey instanceof Map ? coseKey.get(label) : undefined
    if (!Buffer.isBuffer(value)) throw new TypeError('not a COSE key')
    return value.toString('base64url')
  }
  const kty = coseKey instanceof Map ? coseKey.get(1) : undefined
  if (kty === 2) return { kty: 'EC', crv: 'P-256', x: parameter(-2), y: parameter(-3) }
  if (kty === 3) return { kty: 'RSA', n: parameter(-1), e: parameter(-2) }
  throw new TypeError('not a COSE key')
}
