import { v5 as uuidFromName } from 'uuid'
import type { EmptyLists, GroupForm, PamGroup } from './pam-config.ts'
import { PamError } from './pam-errors.ts'

/** A group in a response. */
export type GroupBody = {
  id: string
  name: string
  roles: string[] | null
  deleted_at?: string | null
  federated_from_team?: string | null
  federation_approved_at?: string | null
}

export type PamDirectory = {
  /** All groups of the team, including deleted ones, sorted by name. */
  groups(): readonly PamGroup[]
  /** @throws resource_does_not_exist for an unknown user */
  groupsOf(user: string): readonly PamGroup[]
  /** @throws resource_already_exists if another group has the name, unless it is deleted */
  create(name: string, roles: readonly string[]): PamGroup
  put(group: PamGroup): void
  remove(name: string, deletedAt: string): void
  /** undefined deletes the user. */
  setUserGroups(user: string, names: readonly string[] | undefined): void
  /**
   * Replaces the generated groups with `count` new ones. With `user`, adds this user to all of
   * them.
   */
  generate(count: number, user?: string): void
}

export function createPamDirectory({
  groups: initialGroups,
  users: initialUsers,
}: {
  groups: readonly PamGroup[]
  users: Readonly<Record<string, readonly string[]>>
}): PamDirectory {
  const groups = new Map(initialGroups.map((group) => [group.name, group]))
  const users = new Map(Object.entries(initialUsers).map(([user, names]) => [user, [...names]]))
  let generated: string[] = []
  /**
   * Caches sorted lists by user ('' for the team): sorting 10,000 groups for each page would be
   * slow.
   */
  const sorted = new Map<string, readonly PamGroup[]>()

  function cachedSort(key: string, list: () => PamGroup[]): readonly PamGroup[] {
    const result = sorted.get(key) ?? list().sort((a, b) => compareKeys(sortKey(a), sortKey(b)))
    sorted.set(key, result)
    return result
  }

  function put(group: PamGroup) {
    groups.set(group.name, group)
    sorted.clear()
  }

  return {
    groups: () => cachedSort('', () => [...groups.values()]),
    groupsOf(user) {
      const names = users.get(user)
      if (names === undefined) throw new PamError('resource_does_not_exist')
      return cachedSort(user, () => names.flatMap((name) => groups.get(name) ?? []))
    },
    create(name, roles) {
      const existing = groups.get(name)
      if (existing !== undefined && existing.deletedAt === undefined)
        throw new PamError('resource_already_exists', [{ path: 'name', message: 'is already in use' }])
      const id = generatedId(`${name}#${groups.size}`)
      const group = { id, name, roles: [...roles], disconnectedMode: false }
      put(group)
      return group
    },
    put,
    remove(name, deletedAt) {
      const group = groups.get(name)
      if (group === undefined) throw new Error(`there is no group "${name}"`)
      put({ ...group, deletedAt })
    },
    setUserGroups(user, names) {
      const unknown = names?.find((name) => !groups.has(name))
      if (unknown !== undefined) throw new Error(`there is no group "${unknown}"`)
      if (names === undefined) users.delete(user)
      else users.set(user, [...names])
      sorted.clear()
    },
    generate(count, user) {
      for (const name of generated) groups.delete(name)
      generated = Array.from(
        { length: count },
        (_, index) => `Generated ${String(index + 1).padStart(6, '0')}`,
      )
      for (const [index, name] of generated.entries())
        groups.set(name, {
          id: generatedId(name),
          name,
          roles: [...(GENERATED_ROLES[index % 4] ?? [])],
          disconnectedMode: false,
        })
      if (user !== undefined)
        users.set(user, [...(users.get(user) ?? []).filter((name) => groups.has(name)), ...generated])
      for (const [member, names] of users) users.set(member, [...new Set(names)])
      sorted.clear()
    },
  }
}

const GENERATED_ROLES = [['end_user'], [], ['delegated_resource_admin'], ['end_user', 'security_admin']]

/** The sort key of lists, which offsets encode: the name, then the id. */
export function sortKey({ name, id }: { name: string; id: string }): string {
  return `${name}\u0000${id}`
}

/** Compares by code unit, so that the order does not depend on the locale. */
export function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const ACTIVE_DELETED_AT: Record<GroupForm['activeDeletedAt'], { deleted_at?: string | null }> = {
  null: { deleted_at: null },
  missing: {},
  empty: { deleted_at: '' },
  zero: { deleted_at: '0001-01-01T00:00:00Z' },
}

export function groupBody(group: PamGroup, form: GroupForm, emptyLists: EmptyLists): GroupBody {
  const federation = {
    federated_from_team: group.federatedFromTeam ?? null,
    federation_approved_at: group.federationApprovedAt ?? null,
  }
  return {
    id: group.id,
    name: group.name,
    roles: listBody(group.roles, emptyLists),
    ...(form.federation ? federation : {}),
    ...(group.deletedAt === undefined
      ? ACTIVE_DELETED_AT[form.activeDeletedAt]
      : { deleted_at: group.deletedAt }),
  }
}

/** The elements as they are sent. */
export function listBody<Item>(items: readonly Item[], emptyLists: EmptyLists): Item[] | null {
  return items.length === 0 && emptyLists === 'null' ? null : [...items]
}

const NAMESPACE = '3f0c1b52-7f55-4c4e-9a5e-0c8d1d6f2a11'

export function generatedId(name: string): string {
  return uuidFromName(name, NAMESPACE)
}
