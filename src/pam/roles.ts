/**
 * Roles as a partial order (DESIGN §6): what a person may do is the union of what the groups grant, and the
 * effective permission is that union's maximal elements. Pure: no package, no time, no network.
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
  /** Those of them that no other one covers. */
  readonly maximalRoles: readonly Role[]
  /** What we have not heard of: shown apart, compared with nothing; sorted. */
  readonly unknownRoles: readonly string[]
}

/**
 * What each role covers beside itself. `pam_admin` stands above all for display only: it assigns roles, it does not
 * hold them, so no decision may be taken from this table.
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

/** Combines the roles of a person's groups; `end_user` is added, as every human user of a team has it. */
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
