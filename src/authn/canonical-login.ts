/**
 * One name for one person, however it is typed: NFKC, trimmed, lower case, and a short name and a full name under
 * one of LOGIN_DOMAINS alike. Limits count by it; nothing of it goes upstream.
 */
export function createCanonicalLogin(loginDomains: readonly string[]): (login: string) => string {
  const suffixes = loginDomains.map((domain) => `@${domain.toLowerCase()}`)
  return (login) => {
    const name = login.normalize('NFKC').trim().toLowerCase()
    const suffix = suffixes.find((one) => name.endsWith(one))
    return suffix === undefined ? name : name.slice(0, -suffix.length)
  }
}
