/**
 * Roles are a partial order: each with those that it covers. A user has the roles of all their
 * groups; the maximal ones are the effective permission. `pam_admin` covers all others for display
 * only: it assigns roles without having them, so this table must not be used for access decisions.
 * The last four are roles of Advanced Server Access, and one that Okta's own client lists. They are
 * not part of the order: nothing documents how they compare with the others.
 */
const COVERS = {
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
  access_admin: [],
  access_user: [],
  reporting_user: [],
  devops_admin: [],
} as const

export type Role = keyof typeof COVERS

export const ROLES = Object.keys(COVERS) as Role[] // of the table above

/**
 * The union of the known roles in the order of `ROLES`, those that no other one covers, and the
 * unknown ones. `end_user` is added, because every human user of a team has it.
 */
export function combineRoles(rolesOfGroups: Iterable<readonly string[]>) {
  const granted = new Set<string>(['end_user'])
  for (const roles of rolesOfGroups) for (const role of roles) granted.add(role)

  const roles = ROLES.filter((role) => granted.has(role))
  const covered = new Set<Role>(roles.flatMap((role) => COVERS[role]))
  return {
    roles,
    maximalRoles: roles.filter((role) => !covered.has(role)),
    unknownRoles: [...granted].filter((role) => !Object.hasOwn(COVERS, role)).sort(),
  }
}
