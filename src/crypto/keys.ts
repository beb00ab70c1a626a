import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'

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
