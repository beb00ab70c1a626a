/**
 * Roles as a partial order (DESIGN §6): a user has the union of the roles of all groups, and the effective permission is the
 * maximal elements of that union. Pure: no package, no time, no network.
 */
export const ROLES = [
  'pam_admin',
  'resource_admin',
  'delegated_resource_admin',
  'security_admin',
  'delegated_security_admin',
  'end_user',
] as const

export type Role = (typeof ROLES)[number]

export interface CombinedRoles {
  /** The union of the known roles, in the order of `ROLES`. */
  readonly roles: readonly Role[]
  /** Those that no other role of the union covers. */
  readonly maximalRoles: readonly Role[]
  /** Sorted. They are shown separately, and compared with no other role. */
  readonly unknownRoles: readonly string[]
}

/**
 * Which roles each role covers. `pam_admin` ranks above all for display only: it assigns roles and does not have them, so this
 * table must not decide on access.
 */
const COVERS: Readonly<Record<Role, readonly Role[]>> = {
  pam_admin: [
    'resource_admin',
    'delegated_resource_admin',
    'security_admin',
    'delegated_security_admin',
    'end_user',
  ],
  resource_admin: ['delegated_resource_admin', 'end_user'],
  delegated_resource_admin: ['end_user'],
  security_admin: ['delegated_security_admin', 'end_user'],
  delegated_security_admin: ['end_user'],
  end_user: [],
}

/** Combines the roles of a user's groups; `end_user` is added, because every human user of a team has it. */
export function combineRoles(rolesOfGroups: Iterable<readonly string[]>): CombinedRoles {
  const granted = new Set<string>(['end_user'])
  for (const roles of rolesOfGroups) for (const role of roles) granted.add(role)

  const roles = ROLES.filter((role) => granted.has(role))
  return {
    roles,
    maximalRoles: roles.filter((role) => !roles.some((other) => COVERS[other].includes(role))),
    unknownRoles: [...granted].filter((role) => !isRole(role)).sort(),
  }
}

function isRole(name: string): name is Role {
  return (ROLES as readonly string[]).includes(name)
}
