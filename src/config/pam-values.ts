import type { PamDirectory } from '../pam/directory-access.ts'
import type { PamUserDomain } from '../pam/pam-user-name.ts'
import { InvalidValue } from './config-error.ts'
import { domain, listOf } from './plain-values.ts'
import { hasUnsafePath } from './url-values.ts'

/** A team's name: one path segment that needs no encoding. */
export function teamName(text: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._~-]{0,254}$/.test(text)) {
    throw new InvalidValue('must be a team name: letters, digits, and . _ ~ - after the first one')
  }
  return text
}

/** An absolute path; `{team_name}` is its only placeholder. */
export function tokenPath(text: string): string {
  if (/[?#]/.test(text)) throw new InvalidValue('must have no query and no fragment')
  const path = text.replaceAll('{team_name}', 'team')
  if (/[{}]/.test(path)) throw new InvalidValue('must have no placeholder but {team_name}')
  if (hasUnsafePath(path))
    throw new InvalidValue('must have no dot segments, empty segments or encoded slashes')
  if (!/^\/([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})+$/.test(path)) {
    throw new InvalidValue('must be an absolute path, such as /v1/teams/{team_name}/service_token')
  }
  return text
}

/** A date and time of RFC 3339, offset included, in milliseconds since 1970. */
export function instant(text: string): number {
  const parts = RFC_3339.exec(text)?.groups
  const ms = parts === undefined ? Number.NaN : Date.parse(text.toUpperCase().replace(' ', 'T'))
  const day = `${parts?.date}T00:00:00Z`
  // Date.parse reads 30 February as 2 March.
  if (Number.isNaN(ms) || new Date(day).toISOString().slice(0, 10) !== parts?.date) {
    throw new InvalidValue('must be a date and time of RFC 3339, such as 2027-01-31T00:00:00Z')
  }
  return ms
}

const RFC_3339 =
  /^(?<date>\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))[Tt ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/**
 * One domain, or several as `<domain>=<prefix>`. Refuses mappings that could give users of two domains the same name.
 * One prefix may be the beginning of another one: the lookup tells them apart.
 */
export function userDomains(text: string): readonly PamUserDomain[] {
  const entries = listOf(userDomain)(text)
  // As in every list, repeated entries are ignored.
  const domains = [...new Map(entries.map((entry) => [`${entry.domain}=${entry.prefix}`, entry])).values()]
  if (domains.length > 1 && domains.some(({ hasPrefix }) => !hasPrefix)) {
    throw new InvalidValue(
      'several domains need a prefix each, such as corp.example=,partner.example=partner-: ' +
        'without one, users of two domains would have the same PAM user',
    )
  }
  const isUnique = (values: readonly string[]) => new Set(values).size === domains.length
  if (!isUnique(domains.map((entry) => entry.domain))) throw new InvalidValue('has the same domain twice')
  if (!isUnique(domains.map(({ prefix }) => prefix.toLowerCase()))) {
    throw new InvalidValue('two domains have the same prefix: their users would have the same PAM user')
  }
  return domains.map(({ domain, prefix }) => ({ domain, prefix }))
}

function userDomain(text: string): PamUserDomain & { readonly hasPrefix: boolean } {
  const [name = '', ...rest] = text.split('=').map((part) => part.trim())
  const prefix = rest.join('=')
  if (!/^[A-Za-z0-9._~@+-]{0,64}$/.test(prefix)) {
    throw new InvalidValue('a prefix must be of letters, digits and . _ ~ @ + -')
  }
  return { domain: domain(name), prefix, hasPrefix: rest.length > 0 }
}

/** `none`, `all`, or rules: `role:<role>` and `group:<uuid>`, comma-separated. */
export function directory(text: string): PamDirectory {
  if (text === 'none' || text === 'all') return { kind: text }
  const rules = text
    .split(',')
    .map((rule) => rule.trim())
    .filter((rule) => rule !== '')
  const roles = rules.flatMap((rule) => /^role:([a-z][a-z0-9_]{0,63})$/.exec(rule)?.[1] ?? [])
  const groups = rules.flatMap((rule) => UUID_RULE.exec(rule)?.[1]?.toLowerCase() ?? [])
  if (rules.length === 0 || roles.length + groups.length !== rules.length) {
    throw new InvalidValue('must be none, all, or a list of role:<role> and group:<uuid>')
  }
  return { kind: 'rules', roles: [...new Set(roles)], groups: [...new Set(groups)] }
}

const UUID_RULE = /^group:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/i
