import { expect, test } from '@jest/globals'
import { parsePamConfig } from '../../../src/sandbox/pam/pam-config.ts'
import { sandboxConfig } from './pam-server.ts'

const KEY = { keyId: 'a', keySecret: 'b', serviceUser: 'c' }
const WRONG: [what: string, changes: Record<string, unknown>, message: RegExp][] = [
  ['an unknown key', { teem: 'x' }, /teem/],
  ['no team', { team: '' }, /^pam\.team: /],
  ['an unknown group', { users: { a: ['Nope'] } }, /^pam\.users\.a\.0: there is no group "Nope"$/],
  ['a key of an unknown service user', { keys: [KEY] }, /^pam\.keys\.0\.serviceUser: /],
  [
    'two groups with one name',
    { groups: [group(1), group(2)], users: {} },
    /^pam\.groups: group names must be unique$/,
  ],
  ['an id that is not a UUID', { groups: [{ ...group(1), id: '1' }], users: {} }, /^pam\.groups\.0\.id: /],
  ['a page size of 0', { pageSize: 0 }, /^pam\.pageSize: /],
  ['a link origin that is not an http(s) URL', { linkOrigin: 'ftp://x' }, /^pam\.linkOrigin: /],
]
test.each(WRONG)('%s is refused, and the field named', (_problem, changes, message) => {
  expect(() => parsePamConfig(sandboxConfig(changes))).toThrow(message)
})

function group(number: number): Record<string, unknown> {
  return { id: `00000000-0000-4000-8000-00000000000${number}`, name: 'One name' }
}
