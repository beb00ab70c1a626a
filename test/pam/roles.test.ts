import { expect, test } from '@jest/globals'
import { combineRoles, ROLES, type Role } from '../../src/pam/roles.ts'

/** Roles that no document compares with the others. */
const OTHER_EDITIONS = ['access_admin', 'access_user', 'reporting_user', 'devops_admin'] as const

const cases: [granted: string[][], roles: string[], maximal: string[], unknown: string[]][] = [
  [[], ['end_user'], ['end_user'], []],
  [[[]], ['end_user'], ['end_user'], []],
  [[['end_user']], ['end_user'], ['end_user'], []],
  [[['devops_admin']], ['end_user', 'devops_admin'], ['end_user', 'devops_admin'], []],
  [
    [
      ['reporting_user', 'access_user'],
      ['access_admin', 'pam_admin'],
    ],
    ['pam_admin', 'end_user', 'access_admin', 'access_user', 'reporting_user'],
    ['pam_admin', 'access_admin', 'access_user', 'reporting_user'],
    [],
  ],
  [[['resource_admin']], ['resource_admin', 'end_user'], ['resource_admin'], []],
  [[[...ROLES]], [...ROLES], ['pam_admin', ...OTHER_EDITIONS], []],
  [
    [
      ['zebra', 'END_USER'],
      ['zebra', 'security_admin'],
    ],
    ['security_admin', 'end_user'],
    ['security_admin'],
    ['END_USER', 'zebra'],
  ],
]

// shows: P-2.8, P-2.9, P-3.1, P-3.2, P-3.3, P-3.4, P-3.5, P-3.6, P-10.8, D-5.3, D-5.4, D-5.5
test.each(cases)(
  'groups that grant %j: all %j, maximal %j, unknown %j',
  (granted, roles, maximal, unknown) => {
    expect(combineRoles(granted)).toEqual({ roles, maximalRoles: maximal, unknownRoles: unknown })
  },
)

// shows: D-5.5, V15.3.6
test('a role named like an object property is an unknown role', () => {
  expect(combineRoles([['constructor', '__proto__']]).unknownRoles).toEqual(['__proto__', 'constructor'])
})

/** The roles that each role covers (docs/conformance.md D-5.3). */
const COVERS = {
  pam_admin: ['resource_admin', 'delegated_resource_admin', 'security_admin', 'delegated_security_admin'],
  resource_admin: ['delegated_resource_admin'],
  delegated_resource_admin: [],
  security_admin: ['delegated_security_admin'],
  delegated_security_admin: [],
  end_user: [],
} as const satisfies Partial<Record<Role, readonly Role[]>>
type OrderedRole = keyof typeof COVERS
const ORDERED = Object.keys(COVERS) as OrderedRole[]

test('the six roles, the highest first, then the roles of other editions', () => {
  expect(ROLES).toEqual([...ORDERED, ...OTHER_EDITIONS])
})

test.each(OTHER_EDITIONS.flatMap((one) => ROLES.map((other) => [one, other] as const)))(
  '%s neither covers %s nor is covered by it',
  (one, other) => {
    const isOther = OTHER_EDITIONS.some((role) => role === other)
    const expected = new Set<Role>([one, other, ...(isOther ? (['end_user'] as const) : [])])
    expect(new Set(combineRoles([[one], [other]]).maximalRoles)).toEqual(expected)
  },
)

test.each(ORDERED.flatMap((one) => ORDERED.map((other) => [one, other] as const)))(
  '%s and %s: both are maximal unless one covers the other',
  (one, other) => {
    const covered: readonly Role[] = ['end_user', ...COVERS[one], ...COVERS[other]]
    const maximal = ORDERED.filter((role) => (role === one || role === other) && !covered.includes(role))
    expect(combineRoles([[one], [other]]).maximalRoles).toEqual(maximal.length === 0 ? ['end_user'] : maximal)
  },
)
