import { describe, expect, test } from '@jest/globals'
import type { z } from 'zod'
import {
  type Access,
  deniedAtSignIn,
  deniedByAccess,
  deniedByBinding,
  deniedByProof,
  FORWARD_AUTH_RULES,
  type ForwardAuthRules,
  hasGroup,
  missingMethods,
  needsAccess,
  PROOF_RULES,
  REASON,
  type SignInRules,
} from '../../src/forward-auth/forward-auth-rules.ts'
import type { Session } from '../../src/session/session.ts'

/** The rules as tables, without a server. */

const SIGNED_IN_AT = Date.parse('2026-11-05T06:00:00Z')
/** Two minutes later. */
const NOW = SIGNED_IN_AT + 120_000
const YEAR_S = 365 * 24 * 3600

const SESSION: Session = {
  publicId: 'public-id',
  userId: '00u1person',
  login: 'ada@example.com',
  profile: {},
  amr: ['pwd', 'otp'],
  loginHash: 'hash-of-login',
  deviceId: 'device',
  deviceHash: 'hash-of-device',
  userAgent: 'Test/1',
  createdAtMs: SIGNED_IN_AT,
  authenticatedAtMs: SIGNED_IN_AT,
  lastSeenAtMs: SIGNED_IN_AT,
}

const rules = (query: Record<string, unknown>): ForwardAuthRules => FORWARD_AUTH_RULES.parse(query)
const problems = (schema: z.ZodType, query: unknown) =>
  schema.safeParse(query).error?.issues.map(({ path: [parameter], message }) => [parameter, message])

describe('the query of /forward-auth', () => {
  test('without parameters, nothing is asked and nothing shown', () => {
    expect(rules({})).toEqual({ headers: [], encoding: 'percent' })
  })

  test.each<[query: Record<string, unknown>, read: Partial<ForwardAuthRules>]>([
    [{ role: 'end_user' }, { role: ['end_user'] }],
    [{ role: ['a', 'b'] }, { role: ['a', 'b'] }],
    [{ group: 'Ops, Zürich' }, { group: ['Ops, Zürich'] }],
    [{ amr: ['otp', 'hwk'] }, { amr: ['otp', 'hwk'] }],
    [{ maxAuthAge: '0' }, { maxAuthAge: 0 }],
    [{ maxAuthAge: `${YEAR_S}` }, { maxAuthAge: YEAR_S }],
    [{ bound: 'required' }, { bound: 'required' }],
    [{ headers: 'groups,roles,amr,email,name' }, { headers: ['groups', 'roles', 'amr', 'email', 'name'] }],
    [
      { headers: 'jwt', aud: 'reports' },
      { headers: ['jwt'], aud: 'reports' },
    ],
    [
      { headers: 'groups', showGroups: 'finance' },
      { headers: ['groups'], showGroups: ['finance'] },
    ],
    [
      { headers: 'roles', showRoles: ['x', 'y'] },
      { headers: ['roles'], showRoles: ['x', 'y'] },
    ],
    [{ encoding: 'utf-8' }, { encoding: 'utf-8' }],
    [{ encoding: 'percent' }, { encoding: 'percent' }],
  ])('%j is read', (query, read) => {
    expect(rules(query)).toEqual({ headers: [], encoding: 'percent', ...read })
  })

  const HEADERS = 'must be some of groups,roles,amr,email,name,jwt'
  test.each<[query: Record<string, unknown>, problem: [parameter: string, text: string]]>([
    [{ role: '' }, ['role', 'must not be empty']],
    [{ group: ['x', ''] }, ['group', 'must not be empty']],
    [{ maxAuthAge: ['1', '2'] }, ['maxAuthAge', 'must occur once']],
    [{ maxAuthAge: '' }, ['maxAuthAge', 'must not be empty']],
    [{ maxAuthAge: 'x1' }, ['maxAuthAge', 'must be a whole number of seconds']],
    [{ maxAuthAge: '1s' }, ['maxAuthAge', 'must be a whole number of seconds']],
    [{ maxAuthAge: '123456789' }, ['maxAuthAge', 'must be a whole number of seconds']],
    [{ maxAuthAge: `${YEAR_S + 1}` }, ['maxAuthAge', 'must be at most a year']],
    [{ bound: 'yes' }, ['bound', 'must be required']],
    [{ headers: 'Groups' }, ['headers', HEADERS]],
    [{ headers: 'groups,' }, ['headers', HEADERS]],
    [{ encoding: 'latin1' }, ['encoding', 'must be percent or utf-8']],
    [{ headers: 'jwt' }, ['aud', 'belongs to headers=jwt, which needs it']],
    [{ aud: 'reports' }, ['aud', 'belongs to headers=jwt, which needs it']],
    [{ aud: '' }, ['aud', 'must not be empty']],
    [{ showGroups: 'finance', headers: 'roles' }, ['showGroups', 'belongs to headers=groups']],
    [{ showRoles: 'x', headers: 'groups' }, ['showRoles', 'belongs to headers=roles']],
  ])('%j is refused: %j', (query, problem) => {
    expect(problems(FORWARD_AUTH_RULES, query)).toContainEqual(problem)
  })

  test('a parameter of another name is refused, by every schema', () => {
    for (const schema of [FORWARD_AUTH_RULES, PROOF_RULES])
      expect(schema.safeParse({ groups: 'finance' }).error?.issues).toMatchObject([
        { code: 'unrecognized_keys', keys: ['groups'] },
      ])
  })

  test('the reasons are these; a new one needs rows in the tables below', () => {
    const { options } = REASON.unwrap().unwrap()
    expect(options).toEqual(['amr', 'age', 'role', 'group', 'bound'])
    for (const reason of options) expect(REASON.parse(reason)).toBe(reason)
  })

  test('a reason that nobody knows counts as none', () => {
    for (const other of ['', 'AMR', 'x', ['amr', 'amr'], undefined])
      expect(REASON.parse(other)).toBeUndefined()
  })

  test.each([
    [{}, false],
    [{ amr: 'pwd', maxAuthAge: '1', bound: 'required', headers: 'amr,email,name' }, false],
    [{ headers: 'jwt', aud: 'reports' }, false],
    [{ role: 'x' }, true],
    [{ group: 'x' }, true],
    [{ headers: 'amr,groups' }, true],
    [{ headers: 'roles' }, true],
  ])('%j needs groups and roles: %j', (query, needed) => {
    expect(needsAccess(rules(query))).toBe(needed)
  })
})

describe('what a sign-in proves', () => {
  test.each<[query: Record<string, unknown>, denied: 'amr' | 'age' | undefined]>([
    [{}, undefined],
    [{ amr: 'pwd' }, undefined],
    [{ amr: ['pwd', 'otp'] }, undefined],
    [{ amr: ['pwd', 'hwk'] }, 'amr'],
    [{ amr: 'PWD' }, 'amr'],
    [{ maxAuthAge: '120' }, undefined],
    [{ maxAuthAge: '119' }, 'age'],
    [{ maxAuthAge: '0' }, 'age'],
    [{ amr: 'hwk', maxAuthAge: '0' }, 'amr'],
    [{ amr: 'pwd', maxAuthAge: '0' }, 'age'],
  ])('%j two minutes after it: %j', (query, denied) => {
    expect(deniedByProof(PROOF_RULES.parse(query), SESSION, NOW)).toBe(denied)
  })

  test('without a rule on its age, the oldest sign-in will do', () => {
    expect(deniedByProof({}, { ...SESSION, authenticatedAtMs: 0 }, NOW)).toBeUndefined()
  })

  test('the methods that are missing, in the order of the rule', () => {
    expect(missingMethods({ amr: ['hwk', 'pwd', 'sms'] }, SESSION)).toEqual(['hwk', 'sms'])
    expect(missingMethods({ amr: ['pwd'] }, SESSION)).toEqual([])
    expect(missingMethods({}, SESSION)).toEqual([])
  })

  test.each<[query: SignInRules, denied: string | undefined]>([
    [{}, undefined],
    [{ amr: ['hwk'] }, 'amr'],
    [{ maxAuthAge: 1 }, 'age'],
    // a rule that the query does not repeat: the proxy's reason alone says that it is not met
    [{ reason: 'amr' }, 'amr'],
    [{ reason: 'age' }, 'age'],
    [{ reason: 'role' }, 'role'],
    [{ reason: 'group' }, 'group'],
    [{ reason: 'bound' }, 'bound'],
    [{ reason: 'amr', maxAuthAge: 120 }, 'amr'],
    [{ reason: 'age', amr: ['pwd'] }, 'age'],
    [{ reason: 'role', amr: ['pwd'], maxAuthAge: 120 }, 'role'],
    // one that it repeats, and that is met by now
    [{ reason: 'amr', amr: ['pwd'] }, undefined],
    [{ reason: 'age', maxAuthAge: 120 }, undefined],
    // and one that is still not met
    [{ reason: 'role', amr: ['hwk'] }, 'amr'],
    [{ reason: 'age', maxAuthAge: 1 }, 'age'],
    // the browser comes from the sign-in page: once more would be a loop
    [{ reason: 'role', prompt: 'login' }, undefined],
    [{ reason: 'amr', prompt: 'login' }, undefined],
    [{ reason: 'amr', amr: ['hwk'], prompt: 'login' }, 'amr'],
  ])('at /signin with %j: %j', (query, denied) => {
    expect(deniedAtSignIn(query, SESSION, NOW)).toBe(denied)
  })
})

describe('a session that is bound to a key of its browser', () => {
  const binding = { jwk: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }, boundAtMs: NOW, isUsed: false } as const
  const BOUND: Session = { ...SESSION, binding }

  test.each<[query: Record<string, unknown>, session: Session, denied: 'bound' | undefined]>([
    [{}, SESSION, undefined],
    [{}, BOUND, undefined],
    [{ bound: 'required' }, SESSION, 'bound'],
    [{ bound: 'required' }, BOUND, undefined],
  ])('%j: %#', (query, session, denied) => {
    expect(deniedByBinding(rules(query), session)).toBe(denied)
  })
})

describe('groups and roles', () => {
  const OPS = '0a4c39e9-1a5e-4d3c-9a55-0c3f5f1f7a10'
  const ACCESS: Access = {
    groups: [
      { id: OPS, name: 'ops' },
      { id: 'g-2', name: `x${OPS}` },
      { id: 'g-3', name: `${OPS}x` },
      // another group's id as a name
      { id: 'g-4', name: '9c1e39e9-1a5e-4d3c-9a55-0c3f5f1f7a12' },
    ],
    roles: ['end_user', 'custom'],
  }

  test.each([
    ['ops', true],
    [OPS, true],
    ['Ops', false],
    // an id in capitals is an id, and not this one
    [OPS.toUpperCase(), false],
    ['g-2', false],
    // longer than an id: a name
    [`x${OPS}`, true],
    [`${OPS}x`, true],
    ['9c1e39e9-1a5e-4d3c-9a55-0c3f5f1f7a12', false],
  ])('group=%s: %j', (given, isMember) => {
    expect(hasGroup(ACCESS, given)).toBe(isMember)
  })

  test('an id in capitals is no name either', () => {
    const capitals = OPS.toUpperCase()
    expect(hasGroup({ groups: [{ id: 'g-5', name: capitals }], roles: [] }, capitals)).toBe(false)
  })

  test.each<[query: Record<string, unknown>, denied: 'role' | 'group' | undefined]>([
    [{}, undefined],
    [{ role: 'custom' }, undefined],
    [{ role: ['x', 'custom'] }, undefined],
    [{ role: ['x', 'y'] }, 'role'],
    [{ group: ['x', 'ops'] }, undefined],
    [{ group: 'x' }, 'group'],
    [{ role: 'custom', group: 'x' }, 'group'],
    [{ role: 'x', group: 'ops' }, 'role'],
    [{ role: 'x', group: 'x' }, 'role'],
    // who is let in does not depend on what is shown
    [{ headers: 'groups,roles', showGroups: 'x', showRoles: 'x' }, undefined],
    [{ headers: 'groups,roles', showGroups: 'ops', showRoles: 'custom', role: 'x' }, 'role'],
  ])('%j: %j', (query, denied) => {
    expect(deniedByAccess(rules(query), ACCESS)).toBe(denied)
  })
})
