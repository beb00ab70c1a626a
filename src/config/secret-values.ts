import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { parseRedisUrl } from '../store/redis-url.ts'
import { ConfigError } from './config-error.ts'
import { entriesOf, listOf, matching, parsed, visibleAscii } from './plain-values.ts'
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

export const longSecret = z.string().min(16, 'must have 16 characters or more').pipe(visibleAscii)

/** In a file, several secrets may be on separate lines. */
const SECRETS = /[,\r\n]+/

export const longSecrets = listOf(longSecret, SECRETS)

const APP_NAME = /^[a-z][a-z0-9_-]{0,31}$/
const APP_TOKEN = /^[\x21-\x7e]{32,}$/

/** `<name>:<token>`. Several tokens may have one name. */
export const appTokens = parsed((text) => {
  const entries = entriesOf(text, /[,\r\n]+/).map((entry) => /^([^:]*):?(.*)$/s.exec(entry)?.slice(1) ?? [])
  const tokens = entries.map(([name = '', token = '']) => ({ name, token }))
  const isUnique = ({ token }: { token: string }, index: number) =>
    tokens.findIndex((other) => other.token === token) === index
  const problems = tokens.flatMap((each, index) => [
    ...(APP_NAME.test(each.name) ? [] : [`entry ${index + 1} ${WRONG_APP_NAME}`]),
    ...(APP_TOKEN.test(each.token) ? [] : [`entry ${index + 1} ${WRONG_APP_TOKEN}`]),
    ...(isUnique(each, index) ? [] : [`entry ${index + 1} has the token of another entry`]),
  ])
  if (tokens.length === 0) problems.push('has no entry')
  if (problems.length > 0) throw new ConfigError(...problems)
  return tokens
})

const WRONG_APP_NAME =
  'must begin with a name of at most 32 lower-case letters, digits, _ and -, a letter first, and a colon'
const WRONG_APP_TOKEN = 'must have a token of 32 visible ASCII characters or more after its name'

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

/** Keys of 32 bytes in base64, standard or URL-safe, padded or not. The first one seals and signs. */
export const secretKeys = parsed((text): readonly Buffer[] => {
  const keys = entriesOf(text, SECRETS).map(secretKey)
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

export const privateKey = parsed((text) => {
  try {
    createPrivateKey(text)
    return text
  } catch {
    throw new ConfigError('must be a PEM private key without a passphrase') // Node's error has no further information
  }
})

/** A fresh key for `SECRET_KEYS`: 32 random bytes in base64. */
export const generateKey = (): string => randomBytes(32).toString('base64')
