import { type Access, type ForwardAuthRules, hasGroup } from './forward-auth-rules.ts'

/** What an application learns of the user's groups and roles, as far as `headers` names them. */
export interface NamedAccess {
  readonly groups?: readonly string[]
  readonly roles?: readonly string[]
}

/** Of all names together. Servers accept at least 8 kB of headers, cookies and others included. */
const MAX_BYTES = 4096

/**
 * The groups and roles that the rule names and the user has, each as the rule names it: the length
 * of the headers is up to the rule, and not to anyone who may name groups or add members. Those of
 * `role` come first, then those of `group`, `showRoles` and `showGroups`. The first one that does
 * not fit is left out, with all after it.
 *
 * @param sizeOf the bytes that a name adds to the headers
 */
export function selectNamed(
  { headers, role, group, showRoles, showGroups }: ForwardAuthRules,
  access: Access,
  sizeOf: (name: string) => number,
): { readonly named: NamedAccess; readonly leftOut: number } {
  const has = {
    groups: (name: string) => hasGroup(access, name),
    roles: (name: string) => access.roles.includes(name),
  }
  const from = (list: keyof NamedAccess, names: readonly string[] = []) =>
    headers.includes(list) ? names.filter(has[list]).map((name) => ({ list, name })) : []
  const all = [
    ...from('roles', role),
    ...from('groups', group),
    ...from('roles', showRoles),
    ...from('groups', showGroups),
  ]
  const distinct = [...new Map(all.map((entry) => [`${entry.list} ${entry.name}`, entry])).values()]
  let bytes = 0
  const fitting = distinct.filter(({ name }) => {
    bytes += sizeOf(name)
    return bytes <= MAX_BYTES
  })
  const namesIn = (wanted: keyof NamedAccess) =>
    fitting.flatMap(({ list, name }) => (list === wanted ? [name] : []))
  const named = {
    ...(headers.includes('groups') ? { groups: namesIn('groups') } : {}),
    ...(headers.includes('roles') ? { roles: namesIn('roles') } : {}),
  }
  return { named, leftOut: distinct.length - fitting.length }
}

/** Whether the rule asks for groups or roles, and names none: the header is always empty. */
export function namesNone({ headers, role, group, showRoles, showGroups }: ForwardAuthRules): boolean {
  const groups = headers.includes('groups') && group === undefined && showGroups === undefined
  const roles = headers.includes('roles') && role === undefined && showRoles === undefined
  return groups || roles
}
