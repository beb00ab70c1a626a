import { X509Certificate } from 'node:crypto'
import { listOf, visibleAscii } from './plain-values.ts'
import { Refusal } from './refusal.ts'

/** In files, one a line is as good as one a comma. */
const SEPARATOR = /[,\r\n]+/

/** A credential and, if wanted, its standby: the current one first. */
export function currentAndStandby(text: string): readonly string[] {
  const values = listOf(visibleAscii, SEPARATOR)(text)
  if (values.length > 2) throw new Refusal('must hold one value, or two: the current one and a standby')
  return values
}

/** The SSWS token without its scheme, which the broker writes itself. */
export function apiTokens(text: string): readonly string[] {
  if (/\bSSWS\s/i.test(text)) throw new Refusal('must be the token alone, without SSWS before it')
  return currentAndStandby(text)
}

export function opsToken(text: string): string {
  if (text.length < 16) throw new Refusal('must have 16 characters or more')
  return visibleAscii(text)
}

/** 32 bytes each in base64, standard or URL-safe, padded or not; the first one seals and signs. */
export function secretKeys(text: string): readonly Buffer[] {
  const entries = text.split(SEPARATOR).map((entry) => entry.trim())
  const keys = entries.filter((entry) => entry !== '').map(secretKey)
  if (keys.length === 0) throw new Refusal('holds no key')
  if (new Set(keys.map((key) => key.toString('hex'))).size < keys.length) {
    throw new Refusal('holds the same key twice')
  }
  return keys
}

function secretKey(text: string): Buffer {
  const key = /^([A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=?$/.test(text) ? Buffer.from(text, 'base64') : undefined
  if (key?.length !== 32) throw new Refusal('must be keys of exactly 32 bytes in base64, comma-separated')
  if (key.every((byte) => byte === key[0]))
    throw new Refusal('must be random keys, not one byte over and over')
  return key
}

/** The schemes of `REDIS_URL`; `memory:` is the embedded store. */
export const REDIS_SCHEMES = [
  'redis',
  'rediss',
  'redis+sentinel',
  'rediss+sentinel',
  'redis+cluster',
  'rediss+cluster',
] as const

export const isOverTls = (url: string): boolean => /^rediss[+:]/i.test(url)

/**
 * The outline of a `REDIS_URL`. `parse` is the store's own reader: it throws an Error whose message names what is
 * wrong without repeating a value.
 */
export function redisUrl(options: { production: boolean; parse?: ((url: string) => unknown) | undefined }) {
  return (text: string): string => {
    if (text === 'memory:') {
      if (options.production) throw new Refusal('must not be memory: in production: it holds for one process')
      return text
    }
    const scheme = /^([a-z+]+):\/\//i.exec(text)?.[1]?.toLowerCase()
    if (!REDIS_SCHEMES.some((each) => each === scheme)) {
      throw new Refusal(`must begin with one of ${REDIS_SCHEMES.join(', ')} and ://, or be memory:`)
    }
    if (!/^[^/]+:\/\/([^/?#\s]*@)?[^/?#@\s]+([/?]\S*)?$/.test(text)) {
      throw new Refusal('must name a host; a password in it must be percent-encoded')
    }
    if (scheme?.endsWith('sentinel') && !/[?&]name=[^&]/.test(text)) {
      throw new Refusal('must have ?name= with the name that the sentinels know the primary by')
    }
    checkWith(options.parse, text)
    return text
  }
}

function checkWith(parse: ((url: string) => unknown) | undefined, text: string): void {
  try {
    parse?.(text)
  } catch (error) {
    throw new Refusal(error instanceof Error ? error.message : 'is not understood')
  }
}

/** PEM certificates, one or many; comments between them are dropped. */
export function certificates(text: string): string {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    throw new Refusal('holds a private key: only certificates belong there')
  }
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (found.length === 0) throw new Refusal('holds no PEM certificate')
  for (const [index, pem] of found.entries()) {
    try {
      new X509Certificate(pem)
    } catch {
      throw new Refusal(`certificate ${index + 1} in it cannot be read`) // the platform's error says no more
    }
  }
  return `${found.join('\n')}\n`
}
