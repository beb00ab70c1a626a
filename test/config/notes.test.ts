import { expect, test } from '@jest/globals'
import { notesOn } from '../../src/config/notes.ts'
import { load, PAM } from './sound-environment.ts'

const NOW = Date.parse('2027-01-31T00:00:00Z')
const namesOf = (more: Record<string, string>) => notesOn(load(more), NOW).map((note) => note.split(':')[0])

test.each<[string, Record<string, string>, string[]]>([
  ['short and full names are counted apart', {}, ['LOGIN_DOMAINS']],
  ['nothing', { LOGIN_DOMAINS: 'example.com' }, []],
  [
    'a key that has ended',
    { ...PAM, LOGIN_DOMAINS: 'example.com', PAM_KEY_EXPIRES_AT: '2027-01-30T23:59:59Z' },
    ['PAM_KEY_EXPIRES_AT'],
  ],
  [
    'a key that has not',
    { ...PAM, LOGIN_DOMAINS: 'example.com', PAM_KEY_EXPIRES_AT: '2027-01-31T00:00:01Z' },
    [],
  ],
])('noted: %s', (_, more, names) => {
  expect(namesOf(more)).toEqual(names)
})
