/** Which users a login may mean. None of these names is sent upstream. */
export interface LoginNames {
  /** Limits count by this name: the same for every spelling of a login, with and without any of LOGIN_DOMAINS. */
  readonly canonical: (login: string) => string
  /** One name for one user. With several LOGIN_DOMAINS it keeps the domain, as each may have a user of that local part. */
  readonly distinct: (login: string) => string
  /** The distinct names of all users that it may mean: without a domain, a user in each of several LOGIN_DOMAINS. */
  readonly meant: (login: string) => readonly string[]
  /**
   * Whether a typed login may be the one that Okta names. Okta may accept a login without its domain, also under a domain that is
   * not in LOGIN_DOMAINS.
   */
  readonly isSame: (typed: string, named: unknown) => boolean
}

export function createLoginNames(loginDomains: readonly string[]): LoginNames {
  const suffixes = [...new Set(loginDomains.map((domain) => `@${foldLogin(domain)}`))]
  const canonical = (login: string) => {
    const name = foldLogin(login)
    const suffix = suffixes.find((one) => name.endsWith(one))
    return suffix === undefined ? name : name.slice(0, -suffix.length)
  }
  const isOneDomain = suffixes.length <= 1
  const distinct = isOneDomain ? canonical : foldLogin
  return {
    canonical,
    distinct,
    meant(login) {
      const name = distinct(login)
      return isOneDomain || name.includes('@') ? [name] : suffixes.map((suffix) => `${name}${suffix}`)
    },
    isSame(typed, named) {
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
 * Spellings that a directory may treat as the same name (RFC 4518 §2) become one: NFKC, without invisible characters, in lower
 * case. By way of upper case: ß, ς and ı share their capital letters with other characters; İ becomes an i with a dot.
 */
export function foldName(name: string): string {
  const seen = name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  const folded = seen.toLowerCase().toUpperCase().toLowerCase()
  return folded.replaceAll('i\u0307', 'i').normalize('NFKC')
}
