import { foldName } from '../../session/fold-name.ts'

/** What a login as it is typed says of its user. None of these names goes upstream. */
export interface LoginNames {
  /** Limits count by it: one name however it is typed, with and without any of LOGIN_DOMAINS. */
  readonly canonical: (login: string) => string
  /**
   * One name for one user, for what a sign-in has proved. With several LOGIN_DOMAINS a domain stays in it, as the org may have a
   * user of that local part in each.
   */
  readonly distinct: (login: string) => string
  /** The distinct names of all users that it may mean: without a domain, a user in each of several LOGIN_DOMAINS. */
  readonly meant: (login: string) => readonly string[]
  /**
   * Whether a login that was typed is the one that the upstream names. The upstream may take a name without its domain for the full
   * one, also under a domain that is none of LOGIN_DOMAINS.
   */
  readonly isSame: (typed: string, named: unknown) => boolean
}

export function createLoginNames(loginDomains: readonly string[]): LoginNames {
  const canonical = createCanonicalLogin(loginDomains)
  const suffixes = suffixesOf(loginDomains)
  const distinct = suffixes.length <= 1 ? canonical : inOneSpelling
  return {
    canonical,
    distinct,
    meant(login) {
      const name = distinct(login)
      return suffixes.length <= 1 || name.includes('@')
        ? [name]
        : suffixes.map((suffix) => `${name}${suffix}`)
    },
    isSame(typed, named) {
      if (typeof named !== 'string') return false
      const [name, full] = [distinct(typed), distinct(named)]
      return name === full || (!typed.includes('@') && name === full.replace(/@.*$/, ''))
    },
  }
}

export function createCanonicalLogin(loginDomains: readonly string[]): (login: string) => string {
  const suffixes = suffixesOf(loginDomains)
  return (login) => {
    const name = inOneSpelling(login)
    const suffix = suffixes.find((one) => name.endsWith(one))
    return suffix === undefined ? name : name.slice(0, -suffix.length)
  }
}

function suffixesOf(loginDomains: readonly string[]): string[] {
  return [...new Set(loginDomains.map((domain) => `@${inOneSpelling(domain)}`))]
}

/** A spelling that some directory takes for the same must not be a new user here. */
function inOneSpelling(text: string): string {
  return foldName(text).replace(/\s+/g, ' ').trim()
}
