import { randomBytes, X509Certificate } from 'node:crypto'
import { InvalidValue } from './config-error.ts'
import { listOf, visibleAscii } from './plain-values.ts'

/** In a file, entries may also be on separate lines. */
const SEPARATOR = /[,\r\n]+/

/** A credential and, optionally, a standby; the current one comes first. */
export function currentAndStandby(text: string): readonly string[] {
  const values = listOf(visibleAscii, SEPARATOR)(text)
  if (values.length > 2) throw new InvalidValue('must have one value or two: the current one and a standby')
  return values
}

/** The SSWS token without its scheme, which the broker adds. */
export function apiTokens(text: string): readonly string[] {
  if (/\bSSWS\s/i.test(text)) throw new InvalidValue('must be the token alone, without SSWS before it')
  return currentAndStandby(text)
}

export function opsToken(text: string): string {
  if (text.length < 16) throw new InvalidValue('must have 16 characters or more')
  return visibleAscii(text)
}

/** Keys of 32 bytes in base64, standard or URL-safe, padded or not. The first one seals and signs. */
export function secretKeys(text: string): readonly Buffer[] {
  const entries = text.split(SEPARATOR).map((entry) => entry.trim())
  const keys = entries.filter((entry) => entry !== '').map(secretKey)
  if (keys.length === 0) throw new InvalidValue('has no key')
  if (new Set(keys.map((key) => key.toString('hex'))).size < keys.length) {
    throw new InvalidValue('has the same key twice')
  }
  return keys
}

function secretKey(text: string): Buffer {
  const key = /^([A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=?$/.test(text) ? Buffer.from(text, 'base64') : undefined
  if (key?.length !== 32)
    throw new InvalidValue('must be keys of exactly 32 bytes in base64, comma-separated')
  if (key.every((byte) => byte === key[0]))
    throw new InvalidValue('must be random keys, not one repeated byte')
  return key
}

export const isOverTls = (url: string): boolean => /^rediss[+:]/i.test(url)

/** `parse` is the store's parser. It throws an Error whose message names the problem without the value. */
export function redisUrl({
  production,
  parse,
}: {
  readonly production: boolean
  readonly parse: (url: string) => unknown
}): (text: string) => string {
  return (text) => {
    if (text === 'memory:') {
      if (production)
        throw new InvalidValue('must not be memory: in production: it works for one process only')
      return text
    }
    try {
      parse(text)
    } catch (error) {
      throw new InvalidValue(error instanceof Error ? error.message : 'cannot be parsed')
    }
    return text
  }
}

/** One or more PEM certificates, without the text between them. */
export function certificates(text: string): string {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    throw new InvalidValue('contains a private key: only certificates belong there')
  }
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (found.length === 0) throw new InvalidValue('has no PEM certificate')
  for (const [index, pem] of found.entries()) {
    try {
      new X509Certificate(pem)
    } catch {
      throw new InvalidValue(`certificate ${index + 1} cannot be read`) // Node's error has no further information
    }
  }
  return `${found.join('\n')}\n`
}

/** A fresh key for `SECRET_KEYS`: 32 random bytes in base64. */
export function generateKey(): string {
  return randomBytes(32).toString('base64')
}
