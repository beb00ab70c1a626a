/**
 * One name for one person, however it is typed: NFKC, trimmed, lower case, without what nobody sees, and a short name
 * and a full name under one of LOGIN_DOMAINS alike. Limits count by it; nothing of it goes upstream. Directories differ
 * in what they overlook (RFC 4518 §2); a spelling that one of them takes for the same must not be a new person here.
 */
export function createCanonicalLogin(loginDomains: readonly string[]): (login: string) => string {
  const suffixes = loginDomains.map((domain) => `@${inOneSpelling(domain)}`)
  return (login) => {
    const name = inOneSpelling(login)
    const suffix = suffixes.find((one) => name.endsWith(one))
    return suffix === undefined ? name : name.slice(0, -suffix.length)
  }
}

/**
 * Whether a login that was typed is the one that the upstream names. It may take a name without its domain for the full one,
 * also under domains that nobody has told us.
 */
export function createIsSameLogin(canonicalLogin: (login: string) => string) {
  return (typed: string, named: unknown): boolean => {
    if (typeof named !== 'string') return false
    const [name, full] = [canonicalLogin(typed), canonicalLogin(named)]
    return name === full || (!typed.includes('@') && name === full.replace(/@.*$/, ''))
  }
}

function inOneSpelling(text: string): string {
  const seen = text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  const spaced = seen.replace(/\s+/g, ' ').trim()
  // by way of upper case: ß, ς and ı have large letters that others have too; İ becomes an i with a dot
  const folded = spaced.toLowerCase().toUpperCase().toLowerCase()
  return folded.replaceAll('i\u0307', 'i').normalize('NFKC')
}
