import { expect, test } from '@jest/globals'
import { combineRoles, ROLES, type Role } from '../../src/pam/roles.ts'

const cases: [granted: string[][], roles: string[], maximal: string[], unknown: string[]][] = [
  [[], ['end_user'], ['end_user'], []],
  [[[]], ['end_user'], ['end_user'], []],
  [[['end_user']], ['end_user'], ['end_user'], []],
  [[['devops_admin']], ['end_user'], ['end_user'], ['devops_admin']],
  [[['resource_admin']], ['resource_admin', 'end_user'], ['resource_admin'], []],
  [
    [['resource_admin'], ['delegated_resource_admin']],
    ['resource_admin', 'delegated_resource_admin', 'end_user'],
    ['resource_admin'],
    [],
  ],
  [
    [['security_admin', 'delegated_security_admin']],
    ['security_admin', 'delegated_security_admin', 'end_user'],
    ['security_admin'],
    [],
  ],
  [
    [['resource_admin'], ['security_admin']],
    ['resource_admin', 'security_admin', 'end_user'],
    ['resource_admin', 'security_admin'],
    [],
  ],
  [
    [['resource_admin'], ['delegated_security_admin']],
    ['resource_admin', 'delegated_security_admin', 'end_user'],
    ['resource_admin', 'delegated_security_admin'],
    [],
  ],
  [
    [['delegated_security_admin'], ['delegated_resource_admin', 'end_user']],
    ['delegated_resource_admin', 'delegated_security_admin', 'end_user'],
    ['delegated_resource_admin', 'delegated_security_admin'],
    [],
  ],
  [[['security_admin'], ['pam_admin']], ['pam_admin', 'security_admin', 'end_user'], ['pam_admin'], []],
  [[[...ROLES]], [...ROLES], ['pam_admin'], []],
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

test.each(cases)(
  'groups that grant %j: all %j, maximal %j, unknown %j',
  (granted, roles, maximal, unknown) => {
    expect(combineRoles(granted)).toEqual({ roles, maximalRoles: maximal, unknownRoles: unknown })
  },
)

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
} as const satisfies Record<Role, readonly Role[]>

test('the six roles, the highest first', () => {
  expect(ROLES).toEqual(Object.keys(COVERS))
})

test.each(ROLES.flatMap((one) => ROLES.map((other) => [one, other] as const)))(
  '%s and %s: both are maximal unless one covers the other',
  (one, other) => {
    const covered: readonly Role[] = ['end_user', ...COVERS[one], ...COVERS[other]]
    const maximal = ROLES.filter((role) => (role === one || role === other) && !covered.includes(role))
    expect(combineRoles([[one], [other]]).maximalRoles).toEqual(maximal.length === 0 ? ['end_user'] : maximal)
  },
)
