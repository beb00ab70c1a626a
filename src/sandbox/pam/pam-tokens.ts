import type { PamKey } from './pam-config.ts'
import { PamError } from './pam-errors.ts'

export type IssuedToken = { token: string; keyId: string; serviceUser: string; issuedAt: number }

/** A key that was shown with its secret. */
export type PamKeyHolder = { keyId: string; serviceUser: string }

export type PamTokens = {
  /** @throws authentication_error when the key is unknown, its secret wrong, or it has expired */
  checkKey(keyId: string, keySecret: string): PamKeyHolder
  mint(holder: PamKeyHolder): { token: string; expiresAt: number }
  /** The service user that a living token belongs to. */
  serviceUserOf(token: string): string | undefined
  /** The service user that a key belongs to, expired or not. */
  serviceUserOfKey(keyId: string): string | undefined
  issued(): readonly IssuedToken[]
  expireAll(): void
  revoke(token: string): void
  setLifetimeSeconds(seconds: number): void
  addKey(key: PamKey): void
  removeKey(keyId: string): void
  /** Now, or at a time in ms. */
  expireKey(keyId: string, at?: number): void
}

/** Service-user keys and the bearer tokens made from them. Several keys live side by side (rotation). */
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
  const living = new Map<string, { keyId: string; expiresAt: number }>()
  const issued: IssuedToken[] = []
  let lifetimeMs = lifetimeSeconds * 1000

  function usableKey(keyId: string) {
    const key = keys.get(keyId)
    return key !== undefined && now() < key.expiresAt ? key : undefined
  }

  return {
    checkKey(keyId, keySecret) {
      const key = usableKey(keyId)
      if (key?.keySecret !== keySecret) throw new PamError('authentication_error')
      return { keyId, serviceUser: key.serviceUser }
    },
    mint({ keyId, serviceUser }) {
      const token = `pamtok_${random(48).toString('base64url')}`
      const expiresAt = now() + lifetimeMs
      living.set(token, { keyId, expiresAt })
      issued.push({ token, keyId, serviceUser, issuedAt: now() })
      return { token, expiresAt }
    },
    serviceUserOf(token) {
      const record = living.get(token)
      if (record === undefined || now() >= record.expiresAt) return undefined
      return usableKey(record.keyId)?.serviceUser
    },
    serviceUserOfKey: (keyId) => keys.get(keyId)?.serviceUser,
    issued: () => issued,
    expireAll: () => living.clear(),
    revoke(token) {
      living.delete(token)
    },
    setLifetimeSeconds(seconds) {
      lifetimeMs = seconds * 1000
    },
    addKey(key) {
      keys.set(key.keyId, withExpiry(key))
    },
    removeKey(keyId) {
      keys.delete(keyId)
    },
    expireKey(keyId, at = now()) {
      const key = keys.get(keyId)
      if (key === undefined) throw new Error(`there is no key ${keyId}`)
      keys.set(keyId, { ...key, expiresAt: at })
    },
  }
}

function withExpiry(key: PamKey) {
  const expiresAt = key.expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(key.expiresAt)
  return { keySecret: key.keySecret, serviceUser: key.serviceUser, expiresAt }
}
