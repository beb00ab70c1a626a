import { createSigner, type MasterKeys, type Signer } from './crypto/keys.ts'

export type LoginNames = ReturnType<typeof createLoginNames>

/** Names that identify the users that a login may belong to. They are never sent upstream. */
export function createLoginNames(loginDomains: readonly string[]) {
  const suffixes = [...new Set(loginDomains.map((domain) => `@${foldLogin(domain)}`))]
  const canonical = (login: string) => {
    const name = foldLogin(login)
    const suffix = suffixes.find((domain) => name.endsWith(domain))
    return suffix === undefined ? name : name.slice(0, -suffix.length)
  }
  const isOneDomain = suffixes.length <= 1
  const distinct = isOneDomain ? canonical : foldLogin
  return {
    /**
     * The same for every spelling of a login, with and without any of LOGIN_DOMAINS. Limits are
     * counted by this name.
     */
    canonical,
    /**
     * Unique to a user. With several LOGIN_DOMAINS it keeps the domain, because each domain may
     * have a user with that name.
     */
    distinct,
    /**
     * The distinct names of all possible users: for a login without a domain, a user in each of the
     * LOGIN_DOMAINS.
     */
    candidates(login: string): readonly string[] {
      const name = distinct(login)
      return isOneDomain || name.includes('@') ? [name] : suffixes.map((suffix) => `${name}${suffix}`)
    },
    /**
     * Whether a typed login may belong to the user whom Okta names. Okta may accept a login without
     * its domain, even if the domain is not in LOGIN_DOMAINS.
     */
    isSameUser(typed: string, named: unknown): boolean {
      if (typeof named !== 'string') return false
      const [name, full] = [distinct(typed), distinct(named)]
      return name === full || (!typed.includes('@') && name === full.replace(/@.*$/, ''))
    },
  }
}

function foldLogin(login: string): string {
  return foldName(login).replace(/\s+/g, ' ').trim()
}

/**
 * Maps all spellings that a directory may treat as the same name (RFC 4518 §2) to one: NFKC,
 * without invisible characters, in lower case. The text is converted to upper case first, because
 * ß, ς and ı share their upper case with other characters. İ becomes an i with a combining dot,
 * which is removed.
 */
export function foldName(name: string): string {
  const visible = name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  const folded = visible.toLowerCase().toUpperCase().toLowerCase()
  return folded.replaceAll('i\u0307', 'i').normalize('NFKC')
}

const HASH_CHARS = 16

/** The hash of a login or a device in the log. `hashes` signs with the label `log-hashes`. */
export function logHash(hashes: Signer, value: string): string {
  return hashes.sign(value).slice(0, HASH_CHARS)
}

/**
 * Returns a function that makes the `loginHash` of the log: the same for every spelling of a login.
 */
export function createLoginHash(masterKeys: MasterKeys, loginDomains: readonly string[]) {
  const hashes = createSigner(masterKeys, 'log-hashes')
  const { canonical } = createLoginNames(loginDomains)
  return (login: string): string => logHash(hashes, canonical(login))
}
