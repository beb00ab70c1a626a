import { expect, test } from '@jest/globals'
import { directory, instant, teamName, tokenPath, userDomains } from '../../src/config/pam-values.ts'
import { expectInvalid } from './parsers.ts'

test('a team is one path segment that needs no encoding', () => {
  for (const name of ['a', 'Example-Team', '0a.b_c~d-e', 'a'.repeat(255)]) expect(teamName(name)).toBe(name)
  expectInvalid(
    teamName,
    'must be a team name: letters, digits, and . _ ~ - after the first one',
    ...['', '.', '..', '-a', '_a', 'a/b', 'a b', 'ä', 'a%20', '../other', 'a'.repeat(256), 'a\n', ' a'],
  )
})

test('a token path is absolute, with the team as its only placeholder', () => {
  for (const path of [
    '/v1/teams/{team_name}/service_token',
    '/{team_name}/{team_name}',
    "/a.b_~!$&'()*+,;=:@-/%20",
    '/a/',
  ]) {
    expect(tokenPath(path)).toBe(path)
  }
  expectInvalid(tokenPath, 'must have no query and no fragment', '/v1/token?x=1', '/v1/token#x', '?', '#')
  expectInvalid(
    tokenPath,
    'must have no placeholder but {team_name}',
    '/v1/{team}/token',
    '/{',
    '/}',
    '/{team_name}{',
  )
  expectInvalid(
    tokenPath,
    'must have no dot segments, empty segments or encoded slashes',
    ...['/v1/../token', '//evil.example/token', '/a/./b', '/a%2Fb', '/a%5cb', '/a\\b'],
  )
  expectInvalid(
    tokenPath,
    'must be an absolute path, such as /v1/teams/{team_name}/service_token',
    ...['v1/token', '', '/', '/a b', '/ä', '/a%2', '/a%zz', '/a|b', 'x/a', '/a\n'],
  )
})

test('an RFC 3339 time, in milliseconds', () => {
  const ms = Date.UTC(2027, 0, 31)
  for (const text of [
    '2027-01-31T00:00:00Z',
    '2027-01-31t00:00:00z',
    '2027-01-31 00:00:00Z',
    '2027-01-31T02:00:00+02:00',
    '2027-01-30T18:30:00-05:30',
    '2027-01-31T00:00:00.000Z',
  ]) {
    expect([text, instant(text)]).toEqual([text, ms])
  }
  expect(instant('2027-12-31T23:59:59.25Z')).toBe(Date.UTC(2027, 11, 31, 23, 59, 59, 250))
  expect(instant('2028-02-29T10:20:30Z')).toBe(Date.UTC(2028, 1, 29, 10, 20, 30))
  expect(instant('2027-10-09T19:09:09+19:09')).toBe(Date.UTC(2027, 9, 9, 0, 0, 9))
  expectInvalid(
    instant,
    'must be a date and time of RFC 3339, such as 2027-01-31T00:00:00Z',
    ...['', '2027-01-31', '2027-01-31T00:00:00', '2027-02-30T00:00:00Z', '2027-02-29T00:00:00Z'],
    ...['2027-00-10T00:00:00Z', '2027-13-10T00:00:00Z', '2027-01-00T00:00:00Z', '2027-01-32T00:00:00Z'],
    ...['2027-01-31T24:00:00Z', '2027-01-31T00:60:00Z', '2027-01-31T00:00:60Z', '2027-01-31T00:00Z'],
    ...['2027-01-31T00:00:00+24:00', '2027-01-31T00:00:00+02', '2027-01-31T00:00:00.Z', '27-01-31T00:00:00Z'],
    ...['2027-1-31T00:00:00Z', '2027-01-31X00:00:00Z', 'x2027-01-31T00:00:00Z', '2027-01-31T00:00:00Zx'],
    ...['2027-01-31T00:00:00+02:60', '2027-04-31T00:00:00Z', 'soon'],
  )
})

const SAME = 'two domains have the same prefix: their users would have the same PAM user'
const NEED =
  'several domains need a prefix each, such as corp.example=,partner.example=partner-: ' +
  'without one, users of two domains would have the same PAM user'

test('domains of users, each with its prefix', () => {
  expect(userDomains('Corp.Example')).toEqual([{ domain: 'corp.example', prefix: '' }])
  expect(userDomains(' a.b = x- , c.d= ')).toEqual([
    { domain: 'a.b', prefix: 'x-' },
    { domain: 'c.d', prefix: '' },
  ])
  expect(userDomains('a.b=x-,A.B=x-')).toEqual([{ domain: 'a.b', prefix: 'x-' }])
  expect(userDomains('a.b,a.b')).toEqual([{ domain: 'a.b', prefix: '' }])
  expect(userDomains(`a.b=Az09._~@+-`)).toEqual([{ domain: 'a.b', prefix: 'Az09._~@+-' }])
  expect(userDomains(`a.b=${'x'.repeat(64)}`)).toHaveLength(1)
})

test('domains of users that would share a PAM user are refused', () => {
  expectInvalid(userDomains, NEED, 'a.b,c.d', 'a.b,c.d=x-', 'a.b=x-,c.d')
  expectInvalid(userDomains, SAME, 'a.b=,c.d=', 'a.b=x-,c.d=X-')
  expectInvalid(userDomains, 'has the same domain twice', 'a.b=,A.b=x-')
  expectInvalid(
    userDomains,
    'a prefix must be of letters, digits and . _ ~ @ + -',
    ...['a.b=a/b', 'a.b==x', 'a.b=ä', 'a.b=a b', `a.b=${'x'.repeat(65)}`],
  )
  expectInvalid(userDomains, 'must be a domain, such as example.com', 'a b', '=x-')
})

test('who may list groups', () => {
  const [lower, upper] = ['0f3b0c6e-7b8e-4b0a-9e53-0d3b8f0a1c2d', '0F3B0C6E-7B8E-4B0A-9E53-0D3B8F0A1C2D']
  expect(directory('none')).toEqual({ kind: 'none' })
  expect(directory('all')).toEqual({ kind: 'all' })
  expect(directory('role:pam_admin')).toEqual({ kind: 'rules', roles: ['pam_admin'], groups: [] })
  expect(directory(` group:${upper} ,, role:a, role:a0_b,GROUP:${lower},role:a `)).toEqual({
    kind: 'rules',
    roles: ['a', 'a0_b'],
    groups: [lower],
  })
  expect(directory(`role:a${'b'.repeat(63)}`)).toMatchObject({ kind: 'rules' })
  expectInvalid(
    directory,
    'must be none, all, or a list of role:<role> and group:<uuid>',
    ...['', ',', 'everyone', 'role:', 'role:A', 'role:0a', 'role:a-b', 'xrole:a', 'role:a b', 'all,role:a'],
    ...[`role:a${'b'.repeat(64)}`, 'group:', 'group:not-a-uuid', `xgroup:${lower}`, `group:${lower}0`],
    ...[`role:a,group:${lower.slice(1)}`, 'None', 'ALL'],
  )
})
