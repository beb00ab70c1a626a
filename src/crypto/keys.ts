import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/**
 * Labelled keys (HKDF-SHA-256, RFC 5869): what seals sessions can't open transactions, what signs cookies can't
 * seal anything. The first master key seals and signs; all of them open and verify, so that keys can be rotated.
 */
export interface LabelledKey {
  /** Names the master key without telling anything of it: 4 bytes, in every sealed value. */
  readonly id: Buffer
  /** Not the bytes: Node 24 turns them into one of these at every use, which costs more than the use. */
  readonly key: KeyObject
}

/** `masterKeys`: 32 bytes each, newest first; never empty. */
export type MasterKeys = () => readonly Buffer[]

/** Derives the keys of one label, newest first; derived anew only when the master keys changed. */
export function labelledKeys(
  masterKeys: MasterKeys,
  label: string,
): () => readonly [LabelledKey, ...LabelledKey[]] {
  let from: readonly Buffer[] | undefined
  let derived: readonly [LabelledKey, ...LabelledKey[]] | undefined
  return () => {
    const current = masterKeys()
    if (derived !== undefined && from === current) return derived
    const [first, ...rest] = current.map((master) => deriveKey(master, label))
    if (first === undefined) throw new Error('no secret key is configured')
    from = current
    derived = [first, ...rest]
    return derived
  }
}

function deriveKey(master: Buffer, label: string): LabelledKey {
  return {
    id: hkdf(master, 'gatehouse/v1/key-id', 4),
    key: createSecretKey(hkdf(master, `gatehouse/v1/${label}`, 32)),
  }
}

function hkdf(master: Buffer, info: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', master, '', info, length))
}

/**
 * Seals what the store keeps: AES-256-GCM (NIST SP 800-38D) under a labelled key, a random 96-bit nonce, and the
 * place where the value lies as associated data, so that a value copied to another key does not open.
 *
 * Form: base64url of `version (1) ‖ key id (4) ‖ nonce (12) ‖ ciphertext ‖ tag (16)`.
 */
export interface Seal {
  seal(plaintext: string, place: string): string
  /** undefined: forged, truncated, moved, or sealed with a key that is no longer configured. */
  open(sealed: string, place: string): string | undefined
}

const VERSION = 1
const VERSION_BYTE = Buffer.of(VERSION)
const KEY_ID_END = 5
const NONCE_BYTES = 12
const NONCE_END = KEY_ID_END + NONCE_BYTES
const TAG_BYTES = 16

export function createSeal(masterKeys: MasterKeys, label: string): Seal {
  const keys = labelledKeys(masterKeys, `seal/${label}`)

  return {
    seal(plaintext, place) {
      const { id, key } = keys()[0]
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      cipher.setAAD(Buffer.from(place))
      const body = [cipher.update(plaintext, 'utf8'), cipher.final()]
      return Buffer.concat([VERSION_BYTE, id, nonce, ...body, cipher.getAuthTag()]).toString('base64url')
    },

    open(sealed, place) {
      const bytes = Buffer.from(sealed, 'base64url')
      if (bytes.length < NONCE_END + TAG_BYTES || bytes[0] !== VERSION) return undefined
      const id = bytes.subarray(1, KEY_ID_END)
      const match = keys().find((candidate) => candidate.id.equals(id))
      if (match === undefined) return undefined
      const decipher = createDecipheriv('aes-256-gcm', match.key, bytes.subarray(KEY_ID_END, NONCE_END))
      decipher.setAAD(Buffer.from(place))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      try {
        const body = bytes.subarray(NONCE_END, -TAG_BYTES)
        return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
      } catch {
        return undefined // the tag does not fit: forged, damaged or moved
      }
    },
  }
}

/** HMAC-SHA-256 under labelled keys: signatures of cookies, and the names under which things lie in the store. */
export interface Signer {
  /** base64url, 43 characters, by the newest key. */
  sign(value: string): string
  /** By every key, newest first: where a thing may lie that was written before a rotation. */
  signAll(value: string): readonly [string, ...string[]]
  /** `current`: by the newest key; `retired`: by an older one, so that it should be signed anew. */
  verify(value: string, signature: string): 'current' | 'retired' | 'wrong'
}

export function createSigner(masterKeys: MasterKeys, label: string): Signer {
  const keys = labelledKeys(masterKeys, `sign/${label}`)

  return {
    sign: (value) => hmac(keys()[0], value).toString('base64url'),

    signAll(value) {
      const [newest, ...older] = keys()
      return [
        hmac(newest, value).toString('base64url'),
        ...older.map((key) => hmac(key, value).toString('base64url')),
      ]
    },

    verify(value, signature) {
      const given = Buffer.from(signature, 'base64url')
      const index = keys().findIndex((key) => {
        const expected = hmac(key, value)
        return given.length === expected.length && timingSafeEqual(given, expected)
      })
      if (index < 0 || given.toString('base64url') !== signature) return 'wrong'
      return index === 0 ? 'current' : 'retired'
    },
  }
}

function hmac({ key }: LabelledKey, value: string): Buffer {
  return createHmac('sha256', key).update(value).digest()
}
