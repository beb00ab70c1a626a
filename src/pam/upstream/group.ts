import { z } from 'zod'
import { type PamFailure, unreadable } from './pam-errors.ts'

/** The list of the team's groups, or of one user's groups. */
export type ListRef = { readonly kind: 'directory' } | { readonly kind: 'me'; readonly user: string }

const attributeText = z.string().min(1).max(255).optional()

/** Attributes on servers. Both editions list them apart from groups, but a group may contain them. */
export const GroupAttributes = z.object({
  unix_gid: z.int().min(0).max(2_147_483_647).optional(),
  unix_group_name: attributeText,
  windows_group_name: attributeText,
})
export type GroupAttributes = Readonly<z.output<typeof GroupAttributes>>
const ATTRIBUTES = ['unix_gid', 'unix_group_name', 'windows_group_name'] as const

/** As stored, and as in responses. Deleted groups are left out. */
export type Group = Readonly<z.output<typeof StoredGroups>[number]>

export const StoredGroups = z.array(
  GroupAttributes.extend({ id: z.string(), name: z.string(), roles: z.array(z.string()) }),
)

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
  if (typeof data !== 'object' || data === null) throw malformed('not an object')
  const { id, name, roles, deleted_at } = data as Record<string, unknown>
  if (typeof id !== 'string' || !isUuid(id)) throw malformed('id')
  if (typeof name !== 'string' || name === '') throw malformed('name')
  // Some servers write an empty list as `null`.
  const list = roles ?? []
  if (!Array.isArray(list) || !list.every((role) => typeof role === 'string')) throw malformed('roles')
  return isDeleted(deleted_at, 'group')
    ? undefined
    : { id: id.toLowerCase(), name, roles: list, ...parseAttributes(data) }
}

export function hasAttributes(group: Group): boolean {
  return ATTRIBUTES.some((name) => group[name] !== undefined)
}

/** An attribute that is malformed is left out: it does not make the group useless. */
export function parseAttributes(data: object): GroupAttributes {
  const fields: Record<string, unknown> = { ...data }
  const valid = ATTRIBUTES.filter(
    (name) => fields[name] !== undefined && GroupAttributes.shape[name].safeParse(fields[name]).success,
  )
  return Object.fromEntries(valid.map((name) => [name, fields[name]]))
}

/** Older deployments write this instead of null for a group that is not deleted (docs/conformance.md F-7.8). */
const ZERO_TIME = Date.parse('0001-01-01T00:00:00Z')

/** @throws PamFailure if `deleted_at` is malformed */
export function isDeleted(deletedAt: unknown, of: 'group' | 'user'): boolean {
  if (deletedAt === null || deletedAt === undefined || deletedAt === '') return false
  if (typeof deletedAt !== 'string') throw malformed('deleted_at', of)
  return Date.parse(deletedAt) !== ZERO_TIME
}

export function malformed(field: string, of: 'group' | 'user' = 'group'): PamFailure {
  return unreadable(`${of}: ${field}`)
}

/** Team names are case-insensitive. */
export function isSameTeam(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
