import { z } from 'zod'
import { PamFailure } from './pam-errors.ts'

/** Which list: the team's groups, or those of one user. */
export type ListOf = { readonly kind: 'directory' } | { readonly kind: 'me'; readonly user: string }

/** A group that is not deleted, as it is stored and shown. */
export interface Group {
  readonly id: string
  readonly name: string
  readonly roles: readonly string[]
}

export const StoredGroups = z.array(
  z.object({ id: z.string(), name: z.string(), roles: z.array(z.string()) }),
)

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** One element of a `list`; undefined if the group is deleted. Throws if it is malformed: such a group is never left out. */
export function parseGroup(data: unknown): Group | undefined {
  if (typeof data !== 'object' || data === null) throw malformed('not an object')
  const { id, name, roles, deleted_at } = data as Record<string, unknown>
  if (typeof id !== 'string' || !isUuid(id)) throw malformed('id')
  if (typeof name !== 'string' || name === '') throw malformed('name')
  // An empty list is `null` in the JSON of some servers.
  const list = roles ?? []
  if (!Array.isArray(list) || !list.every((role) => typeof role === 'string')) throw malformed('roles')
  return isDeleted(deleted_at) ? undefined : { id: id.toLowerCase(), name, roles: list }
}

/** In older deployments, groups that are not deleted have the zero time instead of null (field notes). */
const ZERO_TIME = Date.parse('0001-01-01T00:00:00Z')

function isDeleted(deletedAt: unknown): boolean {
  if (deletedAt === null || deletedAt === undefined || deletedAt === '') return false
  if (typeof deletedAt !== 'string') throw malformed('deleted_at')
  return Date.parse(deletedAt) !== ZERO_TIME
}

function malformed(what: string): PamFailure {
  return new PamFailure('unreadable', { reason: `group: ${what}` })
}

/** Letter case does not distinguish teams: the API may write the name in another one than `PAM_TEAM`. */
export function isSameTeam(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
