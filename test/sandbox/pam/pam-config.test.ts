import { expect, test } from '@jest/globals'
import { parsePamConfig } from '../../../src/sandbox/pam/pam-config.ts'
import { sandboxConfig } from './pam-server.ts'

const WRONG: [what: string, changes: Record<string, unknown>, message: RegExp][] = [
  ['an unknown key', { teem: 'x' }, /teem/],
  ['no team', { team: '' }, /^pam\.team: /],
  [
    'a group that is not there',
    { users: { 'a@example.test': ['Nope'] } },
    /^pam\.users\.a@example\.test\.0: there is no group "Nope"$/,
  ],
  [
    'a key of nobody',
    { keys: [{ keyId: 'a', keySecret: 'b', serviceUser: 'c' }] },
    /^pam\.keys\.0\.serviceUser: /,
  ],
  [
    'two groups of one name',
    { groups: [group(1), group(2)], users: {} },
    /^pam\.groups: group names must be unique$/,
  ],
  ['an id that is no UUID', { groups: [{ ...group(1), id: '1' }], users: {} }, /^pam\.groups\.0\.id: /],
  ['a page of nothing', { pageSize: 0 }, /^pam\.pageSize: /],
  ['a link origin that is no web address', { linkOrigin: 'ftp://x' }, /^pam\.linkOrigin: /],
]
test.each(WRONG)('%s is refused, the field named', (_what, changes, message) => {
  expect(() => parsePamConfig(sandboxConfig(changes))).toThrow(message)
})

test('the configuration that is shipped is sound', () => {
  const { groups, users } = parsePamConfig(sandboxConfig())
  expect(groups.filter(({ deletedAt }) => deletedAt === undefined)).toHaveLength(25)
  expect(Object.keys(users)).toHaveLength(6)
})

test('little needs to be said', () => {
  const config = parsePamConfig({ team: 'a', serviceUsers: {}, keys: [], groups: [], users: {} })
  expect(config).toMatchObject({
    pageSize: 100,
    rateLimit: { limit: 10_000, periodSeconds: 3600, parts: 60 },
  })
})

function group(number: number): Record<string, unknown> {
  return { id: `00000000-0000-4000-8000-00000000000${number}`, name: 'One name' }
}
