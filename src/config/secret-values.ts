import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { parseRedisUrl } from '../store/redis-url.ts'
import { listOf, matching, readBy, visibleAscii } from './plain-values.ts'

export const redisUrl = readBy((url) => {
  if (url !== 'memory:') parseRedisUrl(url)
  return url
})

export const longSecret = visibleAscii.min(16, 'must have 16 characters or more')

/** `<name>:<token>`. Several tokens may have one name. */
const namedToken = matching(
  /^[a-z][a-z0-9_-]{0,31}:[\x21-\x7e]{32,}$/,
  'must be a name of at most 32 lower-case letters, digits, _ and -, a letter first, then a colon and a token of 32 visible ASCII characters or more',
).transform((entry) => {
  const [name = '', token = ''] = entry.split(/:(.*)/)
  return { name, token }
})

export const namedTokens = listOf(namedToken).refine(
  (all) => new Set(all.map(({ token }) => token)).size === all.length,
  'has the same token under two names',
)

/** Comma-separated headers, as W3C Baggage writes them; printable ASCII only. */
export const headers = listOf(
  matching(
    /^[\w.-]+=([\x21-\x24\x26-\x7e]|%(?!7f)[2-7][\da-f])+$/i,
    'must be a header as name=value, percent-encoded',
  ),
).transform(
  (entries): Readonly<Record<string, string>> =>
    Object.fromEntries(entries.map((entry) => entry.split(/=(.*)/).map(decodeURIComponent))),
)

/** Keys of 32 bytes, with padding or without. The first one seals and signs. */
export const secretKeys = listOf(
  matching(/^([A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=?$/, 'must be a key of exactly 32 bytes in base64')
    .transform((text) => Buffer.from(text, 'base64'))
    .refine((key) => key.some((byte) => byte !== key[0]), 'must be a random key, not one repeated byte'),
)

/** One or more PEM certificates, without the text between them, which may have a private key. */
export const certificates = readBy((text) => {
  const found = pemsIn(text)
  for (const pem of found) new X509Certificate(pem)
  return `${found.join('\n')}\n`
}, 'has no PEM certificate, or one that cannot be read')

const pemsIn = (text: string): readonly string[] =>
  text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? ['']

/** For each of the PEM certificates, in order. */
export const areExpired = (text: string, nowMs: number): readonly boolean[] =>
  pemsIn(text).map((pem) => Date.parse(new X509Certificate(pem).validTo) < nowMs)

export const privateKey = readBy((text) => {
  createPrivateKey(text)
  return text
}, 'must be a PEM private key without a passphrase')

/** A fresh key for `SECRET_KEYS`: 32 random bytes in base64. */
export const generateKey = (): string => randomBytes(32).toString('base64')
