import type { PamKey } from './pam-config.ts'
import { PamError } from './pam-errors.ts'

/** A key whose secret was checked. */
export type VerifiedPamKey = { keyId: string; serviceUser: string }

export type PamTokens = {
  /** @throws authentication_error for an unknown or expired key, or a wrong secret */
  checkKey(keyId: string, keySecret: string): VerifiedPamKey
  mint(key: VerifiedPamKey): { token: string; expiresAt: number }
  /** The service user of a valid token. */
  serviceUserOf(token: string): string | undefined
  /** The service user of a key, even if the key is expired. */
  serviceUserOfKey(keyId: string): string | undefined
  /** All tokens, the oldest first. */
  issued(): readonly string[]
  expireAll(): void
  addKey(key: PamKey): void
  removeKey(keyId: string): void
  /** Expires the key now, or at a time in milliseconds. */
  expireKey(keyId: string, at?: number): void
}

/** Service user keys and their bearer tokens. Several keys can be valid at once, for rotation. */
export function createPamTokens({
  keys: initialKeys,
  lifetimeSeconds,
  now,
  random,
}: {
  keys: readonly PamKey[]
  lifetimeSeconds: number
  now: () => number
  random: (bytes: number) => Buffer
}): PamTokens {
  const keys = new Map(initialKeys.map((key) => [key.keyId, withExpiry(key)]))
  const active = new Map<string, { keyId: string; expiresAt: number }>()
  const issued: string[] = []

  function validKey(keyId: string) {
    const key = keys.get(keyId)
    return key !== undefined && now() < key.expiresAt ? key : undefined
  }

  return {
    checkKey(keyId, keySecret) {
      const key = validKey(keyId)
      if (key?.keySecret !== keySecret) throw new PamError('authentication_error')
      return { keyId, serviceUser: key.serviceUser }
    },
    mint({ keyId }) {
      const token = `pamtok_${random(48).toString('base64url')}`
      const expiresAt = now() + lifetimeSeconds * 1000
      active.set(token, { keyId, expiresAt })
      issued.push(token)
      return { token, expiresAt }
    },
    serviceUserOf(token) {
      const record = active.get(token)
      if (record === undefined || now() >= record.expiresAt) return undefined
      return validKey(record.keyId)?.serviceUser
    },
    serviceUserOfKey: (keyId) => keys.get(keyId)?.serviceUser,
    issued: () => issued,
    expireAll: () => active.clear(),
    addKey(key) {
      keys.set(key.keyId, withExpiry(key))
    },
    removeKey(keyId) {
      keys.delete(keyId)
    },
    expireKey(keyId, at = now()) {
      const key = keys.get(keyId)
      if (key === undefined) throw new Error(`unknown key ${keyId}`)
      keys.set(keyId, { ...key, expiresAt: at })
    },
  }
}

function withExpiry(key: PamKey) {
  const expiresAt = key.expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(key.expiresAt)
  return { keySecret: key.keySecret, serviceUser: key.serviceUser, expiresAt }
}
