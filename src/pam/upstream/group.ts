import { z } from 'zod'
import { unreadable } from './pam-errors.ts'

/** The list of the team's groups, or of one user's groups. */
export type ListRef = { readonly kind: 'directory' } | { readonly kind: 'me'; readonly user: string }

/** As stored, and as in responses. Deleted groups are left out. */
export const Group = z.object({ id: z.string(), name: z.string(), roles: z.array(z.string()) })
export type Group = Readonly<z.output<typeof Group>>

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/**
 * Parses one element of a `list`; undefined if the group is deleted.
 *
 * @throws PamFailure if it is malformed: leaving a group out would make the list incomplete
 */
export function parseGroup(data: unknown): Group | undefined {
  if (typeof data !== 'object' || data === null) throw unreadable('group: not an object')
  const { id, name, roles, deleted_at } = data as Record<string, unknown>
  if (typeof id !== 'string' || !isUuid(id)) throw unreadable('group: id')
  if (typeof name !== 'string' || name === '') throw unreadable('group: name')
  // Some servers write an empty list as `null`.
  const list = roles ?? []
  if (!Array.isArray(list) || !list.every((role) => typeof role === 'string'))
    throw unreadable('group: roles')
  return isDeleted(deleted_at) ? undefined : { id: id.toLowerCase(), name, roles: list }
}

/** Older deployments write this instead of null for a group that is not deleted (docs/conformance.md F-7.8). */
const ZERO_TIME = Date.parse('0001-01-01T00:00:00Z')

/** @throws PamFailure if `deleted_at` is malformed */
function isDeleted(deletedAt: unknown): boolean {
  if (deletedAt === null || deletedAt === undefined || deletedAt === '') return false
  if (typeof deletedAt !== 'string') throw unreadable('group: deleted_at')
  return Date.parse(deletedAt) !== ZERO_TIME
}

/** Team names are case-insensitive. */
export function isSameTeam(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
