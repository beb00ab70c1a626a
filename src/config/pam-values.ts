import { z } from 'zod'
import type { PamDirectory } from '../pam/directory-access.ts'
import type { PamUserDomain } from '../pam/pam-user-name.ts'
import { ConfigError } from './config-error.ts'
import { domain, entriesOf, listOf, matching, parsed } from './plain-values.ts'
import { hasUnsafePath } from './url-values.ts'

/** A team's name: one path segment that needs no encoding. */
export const teamName = matching(
  /^[A-Za-z0-9][A-Za-z0-9._~-]{0,254}$/,
  'must be a team name: letters, digits, and . _ ~ - after the first one',
)

/** A path; `{team_name}` is its only placeholder. */
export const tokenPath = matching(
  /^(\/([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2}|\{team_name\})+)+\/?$/,
  'must be an absolute path, such as /v1/teams/{team_name}/service_token',
).refine((path) => !hasUnsafePath(path), 'must have no dot segments and no encoded slashes')

/** A date and time of RFC 3339, offset included, in milliseconds since 1970. */
export const instant = z
  .string()
  .transform((text) => text.toUpperCase().replace(' ', 'T'))
  .pipe(z.iso.datetime({ offset: true, error: 'must be an RFC 3339 time, such as 2027-01-31T00:00:00Z' }))
  .transform(Date.parse)

const prefix = matching(/^[A-Za-z0-9._~@+-]{0,64}$/, 'a prefix must be of letters, digits and . _ ~ @ + -')

/** `<domain>` or `<domain>=<prefix>`. */
const userDomain = z
  .string()
  .transform((text): [string, (string | undefined)?] => {
    const [domain = '', ...rest] = text.split('=').map((part) => part.trim())
    return rest.length === 0 ? [domain] : [domain, rest.join('=')]
  })
  .pipe(z.tuple([domain, prefix.optional()]))

const isUnique = (values: readonly string[]) => new Set(values).size === values.length

/**
 * One domain, or several as `<domain>=<prefix>`. Refuses mappings that could give users of two domains the same name.
 * One prefix may be the beginning of another one: the lookup tells them apart.
 */
export const userDomains = listOf(userDomain).transform((entries, context): readonly PamUserDomain[] => {
  const mappings = [...new Map(entries.map((entry) => [entry.join('='), entry])).values()]
  const domains = mappings.map(([domain, prefix = '']) => ({ domain, prefix }))
  if (domains.length > 1 && mappings.some(([, prefix]) => prefix === undefined))
    context.addIssue('several domains need a prefix each, such as corp.example=,partner.example=partner-')
  else if (!isUnique(domains.map(({ domain }) => domain))) context.addIssue('has the same domain twice')
  else if (!isUnique(domains.map(({ prefix }) => prefix.toLowerCase())))
    context.addIssue('two domains have the same prefix: their users would have the same PAM user')
  return domains
})

const ROLE = /^role:([a-z][a-z0-9_]{0,63})$/
const GROUP = /^group:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i

/** `none`, `all`, or rules: `role:<role>` and `group:<uuid>`, comma-separated. */
export const directory = parsed((text): PamDirectory => {
  if (text === 'none' || text === 'all') return { kind: text }
  const rules = entriesOf(text)
  if (rules.length === 0 || !rules.every((rule) => ROLE.test(rule) || GROUP.test(rule)))
    throw new ConfigError('must be none, all, or a list of role:<role> and group:<uuid>')
  const named = (pattern: RegExp) => [
    ...new Set(rules.flatMap((rule) => pattern.exec(rule)?.[1]?.toLowerCase() ?? [])),
  ]
  return { kind: 'rules', roles: named(ROLE), groups: named(GROUP) }
})
