import { randomBytes, X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { parseRedisUrl } from '../store/redis-url.ts'
import { ConfigError } from './config-error.ts'
import { entriesOf, matching, parsed, visibleAscii } from './plain-values.ts'
import { createSecret } from './secret.ts'

/** Every placeholder for a secret in `.env.example` and `deploy/` begins with `replace-with-`. */
const notPlaceholder = matching(/^(?!.*replace-with-)/s, 'is still the placeholder of the example')

export const secret = <T>(schema: z.ZodType<T, string>) => notPlaceholder.pipe(schema).transform(createSecret)

/** The SSWS token without its scheme, which the broker adds. */
export const apiToken = matching(/^(?!.*\bSSWS\s)/is, 'must be the token alone, without SSWS before it').pipe(
  visibleAscii,
)

/** The errors of `parseRedisUrl` name the invalid part without its value. */
export const redisUrl = z.string().superRefine((url, context) => {
  try {
    if (url !== 'memory:') parseRedisUrl(url)
  } catch (error) {
    context.addIssue(String(Object(error).message))
  }
})

export const opsToken = z.string().min(16, 'must have 16 characters or more').pipe(visibleAscii)

/** Comma-separated headers, as W3C Baggage writes them: `name=value`, percent-encoded. */
export const headers = parsed(
  (text): Readonly<Record<string, string>> =>
    Object.fromEntries(
      entriesOf(text).map((entry) => {
        const [, name, value] = /^([\w.-]+) *= *([\x21-\x7e]+)$/.exec(entry) ?? []
        const decoded = value === undefined ? undefined : decodeURIComponent(value)
        if (name === undefined || decoded === undefined || !/^[\x20-\x7e]+$/.test(decoded))
          throw new ConfigError('must be headers as name=value, comma-separated and percent-encoded')
        return [name, decoded]
      }),
    ),
)

/** Keys of 32 bytes in base64, standard or URL-safe, padded or not. The first one seals and signs. */
export const secretKeys = parsed((text): readonly Buffer[] => {
  const keys = entriesOf(text, /[,\r\n]+/).map(secretKey) // in a file, also on separate lines
  if (keys.length === 0) throw new ConfigError('has no key')
  if (new Set(keys.map((key) => key.toString('hex'))).size < keys.length)
    throw new ConfigError('has the same key twice')
  return keys
})

function secretKey(text: string): Buffer {
  const key = /^([A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=?$/.test(text) ? Buffer.from(text, 'base64') : undefined
  if (key?.length !== 32) throw new ConfigError('must be keys of exactly 32 bytes in base64, comma-separated')
  if (key.every((byte) => byte === key[0]))
    throw new ConfigError('must be random keys, not one repeated byte')
  return key
}

/** One or more PEM certificates, without the text between them. */
export const certificates = parsed((text) => {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text))
    throw new ConfigError('contains a private key: only certificates belong there')
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (found.length === 0) throw new ConfigError('has no PEM certificate')
  for (const [index, pem] of found.entries()) {
    try {
      new X509Certificate(pem)
    } catch {
      throw new ConfigError(`certificate ${index + 1} cannot be read`) // Node's error has no further information
    }
  }
  return `${found.join('\n')}\n`
})

/** A fresh key for `SECRET_KEYS`: 32 random bytes in base64. */
export const generateKey = (): string => randomBytes(32).toString('base64')
