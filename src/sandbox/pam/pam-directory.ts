import { v5 as uuidFromName } from 'uuid'
import type { GroupForm, PamGroup } from './pam-config.ts'
import { PamError } from './pam-errors.ts'

/** A group as it goes over the wire. */
export type GroupBody = {
  id: string
  name: string
  roles: string[]
  deleted_at?: string | null
  federated_from_team?: string | null
  federation_approved_at?: string | null
}

export type PamDirectory = {
  /** All groups of the team, deleted ones too, sorted by name. */
  groups(): readonly PamGroup[]
  /** @throws resource_does_not_exist when there is no such user */
  groupsOf(user: string): readonly PamGroup[]
  /** @throws resource_already_exists when a living group has the name */
  create(name: string, roles: readonly string[]): PamGroup
  put(group: PamGroup): void
  remove(name: string, deletedAt: string): void
  /** The names of the user's groups; undefined: there is no such user any more. */
  setUserGroups(user: string, names: readonly string[] | undefined): void
  /** The team holds so many generated groups from now on; with `user`, that user is in all of them. */
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
  /** Sorted lists by user ('' for the team): sorting 10,000 groups on each page would take its time. */
  const sorted = new Map<string, readonly PamGroup[]>()

  function sortedOnce(key: string, list: () => PamGroup[]): readonly PamGroup[] {
    const known = sorted.get(key) ?? list().sort((one, other) => compareKeys(sortKey(one), sortKey(other)))
    sorted.set(key, known)
    return known
  }

  function put(group: PamGroup) {
    groups.set(group.name, group)
    sorted.clear()
  }

  return {
    groups: () => sortedOnce('', () => [...groups.values()]),
    groupsOf(user) {
      const names = users.get(user)
      if (names === undefined) throw new PamError('resource_does_not_exist')
      return sortedOnce(user, () => names.flatMap((name) => groups.get(name) ?? []))
    },
    create(name, roles) {
      const there = groups.get(name)
      if (there !== undefined && there.deletedAt === undefined)
        throw new PamError('resource_already_exists', [{ path: 'name', message: 'is taken' }])
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
      generated = Array.from({ length: count }, (_, at) => `Generated ${String(at + 1).padStart(6, '0')}`)
      for (const [at, name] of generated.entries())
        groups.set(name, {
          id: generatedId(name),
          name,
          roles: [...(ROLES_IN_TURN[at % 4] ?? [])],
          disconnectedMode: false,
        })
      if (user !== undefined)
        users.set(user, [...(users.get(user) ?? []).filter((name) => groups.has(name)), ...generated])
      for (const [user, names] of users) users.set(user, [...new Set(names)])
      sorted.clear()
    },
  }
}

const ROLES_IN_TURN = [['end_user'], [], ['delegated_resource_admin'], ['end_user', 'security_admin']]

/** The order of every list, and what an offset stands for: the name, then the id. */
export function sortKey(group: PamGroup): string {
  return `${group.name}\u0000${group.id}`
}

/** By code unit, so that the order is the same on every machine. */
export function compareKeys(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

const ACTIVE_DELETED_AT: Record<GroupForm['activeDeletedAt'], { deleted_at?: string | null }> = {
  null: { deleted_at: null },
  missing: {},
  empty: { deleted_at: '' },
  zero: { deleted_at: '0001-01-01T00:00:00Z' },
}

export function groupBody(group: PamGroup, form: GroupForm): GroupBody {
  const federation = {
    federated_from_team: group.federatedFromTeam ?? null,
    federation_approved_at: group.federationApprovedAt ?? null,
  }
  return {
    id: group.id,
    name: group.name,
    roles: [...group.roles],
    ...(form.federation ? federation : {}),
    ...(group.deletedAt === undefined
      ? ACTIVE_DELETED_AT[form.activeDeletedAt]
      : { deleted_at: group.deletedAt }),
  }
}

const NAMESPACE = '3f0c1b52-7f55-4c4e-9a5e-0c8d1d6f2a11'

function generatedId(name: string): string {
  return uuidFromName(name, NAMESPACE)
}
