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
 * Keys derived for one purpose each (HKDF-SHA-256, RFC 5869): the key that seals sessions cannot
 * open transactions, and a signing key cannot seal. The first master key seals and signs; all of
 * them open and verify, so that keys can be rotated.
 */
export interface LabelledKey {
  /** Identifies the master key without revealing it: 4 bytes, in every sealed value. */
  readonly id: Buffer
  /** Not the bytes: Node 24 converts them at every use, which costs more than the use itself. */
  readonly key: KeyObject
}

/** 32 bytes each, newest first; never empty. */
export type MasterKeys = readonly Buffer[]

/** The keys of one label, newest first. */
export function labelledKeys(
  masterKeys: MasterKeys,
  label: string,
): readonly [LabelledKey, ...LabelledKey[]] {
  const [first, ...rest] = masterKeys.map((master) => deriveKey(master, label))
  if (first === undefined) throw new Error('no secret key is configured')
  return [first, ...rest]
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
 * Encrypts stored values: AES-256-GCM (NIST SP 800-38D) with a labelled key and a random 96-bit
 * nonce. The Redis key is the associated data, so a value that is copied to another key cannot be
 * opened.
 *
 * Format: base64url of `version (1) ‖ key id (4) ‖ nonce (12) ‖ ciphertext ‖ tag (16)`.
 */
export interface Seal {
  seal(plaintext: string, associatedData: string): string
  /** Undefined if the value is forged, damaged or moved, or if its key is no longer configured. */
  open(sealed: string, associatedData: string): string | undefined
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
    seal(plaintext, associatedData) {
      const { id, key } = keys[0]
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      cipher.setAAD(Buffer.from(associatedData))
      const body = [cipher.update(plaintext, 'utf8'), cipher.final()]
      return Buffer.concat([VERSION_BYTE, id, nonce, ...body, cipher.getAuthTag()]).toString('base64url')
    },

    open(sealed, associatedData) {
      const bytes = Buffer.from(sealed, 'base64url')
      if (bytes.length < NONCE_END + TAG_BYTES || bytes[0] !== VERSION) return undefined
      const id = bytes.subarray(1, KEY_ID_END)
      const match = keys.find((candidate) => candidate.id.equals(id))
      if (match === undefined) return undefined
      const decipher = createDecipheriv('aes-256-gcm', match.key, bytes.subarray(KEY_ID_END, NONCE_END))
      decipher.setAAD(Buffer.from(associatedData))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      try {
        const text = decipher.update(bytes.subarray(NONCE_END, -TAG_BYTES), undefined, 'utf8')
        return text + decipher.final('utf8')
      } catch {
        return undefined // wrong tag: forged, damaged or moved
      }
    },
  }
}

/** HMAC-SHA-256 with labelled keys, for the signatures of cookies and for names in the store. */
export interface Signer {
  /** With the newest key; base64url, 43 characters. */
  sign(value: string): string
  /** With every key, newest first, to find records from before a rotation. */
  signAll(value: string): readonly [string, ...string[]]
  /**
   * `current`: signed with the newest key; `retired`: with an older one, so it should be signed
   * again.
   */
  verify(value: string, signature: string): 'current' | 'retired' | 'wrong'
}

export function createSigner(masterKeys: MasterKeys, label: string): Signer {
  const keys = labelledKeys(masterKeys, `sign/${label}`)

  return {
    sign: (value) => signed(keys[0], value),

    signAll(value) {
      const [newest, ...older] = keys
      return [signed(newest, value), ...older.map((key) => signed(key, value))]
    },

    verify(value, signature) {
      const given = Buffer.from(signature)
      const index = keys.findIndex((key) => {
        const expected = Buffer.from(signed(key, value))
        return given.length === expected.length && timingSafeEqual(given, expected)
      })
      if (index < 0) return 'wrong'
      return index === 0 ? 'current' : 'retired'
    },
  }
}

function signed({ key }: LabelledKey, value: string): string {
  return createHmac('sha256', key).update(value).digest('base64url')
}
