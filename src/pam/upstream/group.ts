import { z } from 'zod'
import { unreadable } from './pam-errors.ts'

/** The list of the team's groups, or of one user's groups. */
export type ListRef = { readonly kind: 'directory' } | { readonly kind: 'me'; readonly user: string }

/** As stored, and as in responses. Deleted groups are left out. */
export const Group = z.object({ id: z.string(), name: z.string(), roles: z.array(z.string()) })
export type Group = Readonly<z.output<typeof Group>>

const UpstreamGroup = z.object({
  id: z.guid(),
  name: z.string().min(1),
  /** Some servers write an empty list as `null`. */
  roles: z.array(z.string()).nullish(),
  deleted_at: z.string().nullish(),
})

/**
 * Parses one element of a `list`; undefined if the group is deleted.
 *
 * @throws PamFailure if it is malformed: leaving a group out would make the list incomplete
 */
export function parseGroup(data: unknown): Group | undefined {
  const { data: group, error } = UpstreamGroup.safeParse(data)
  if (error) throw unreadable(`group: ${String(error.issues[0]?.path[0] ?? 'not an object')}`)
  const { id, name, roles, deleted_at } = group
  const isDeleted = deleted_at ? Date.parse(deleted_at) !== ZERO_TIME : false
  return isDeleted ? undefined : { id: id.toLowerCase(), name, roles: roles ?? [] }
}

/**
 * Older deployments write this instead of null for a group that is not deleted (docs/conformance.md
 * F-7.8).
 */
const ZERO_TIME = Date.parse('0001-01-01T00:00:00Z')

/** Team names are case-insensitive. */
export function isSameTeam(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
