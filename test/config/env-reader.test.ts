import { expect, test } from '@jest/globals'
import { InvalidValue } from '../../src/config/config-error.ts'
import { EnvReader } from '../../src/config/env-reader.ts'

const asItIs = (text: string) => text
const refusing = () => {
  throw new InvalidValue('is too odd', 'and too even')
}
const QUOTES =
  'is in quotes, which become part of the value: in env files of Docker and in secret files, quotes are not removed'

function readerOf(env: Record<string, string>, files: Record<string, string | (() => string)> = {}) {
  const readFile = (path: string) => {
    const content = files[path] ?? ''
    return typeof content === 'string' ? content : content()
  }
  return new EnvReader({ env, readFile })
}

test('values are trimmed; a blank value is treated as not set', () => {
  const reader = readerOf({ HOST: '  a b ', LOG_LEVEL: '  ' })
  expect(reader.read('HOST', asItIs)).toBe('a b')
  expect(reader.read('LOG_LEVEL', asItIs)).toBeUndefined()
  expect(reader.read('PORT', asItIs)).toBeUndefined()
  expect(['HOST', 'LOG_LEVEL', 'PORT'].map((name) => reader.isSet(name as 'HOST'))).toEqual([
    true,
    false,
    false,
  ])
  expect([reader.problems, reader.notes]).toEqual([[], []])
})

test('a missing required variable is reported, with its _FILE variable if it has one', () => {
  const reader = readerOf({ OPS_TOKEN_FILE: '/token' }, { '/token': 'x' })
  expect(reader.read('PUBLIC_URL', asItIs)).toBeUndefined()
  expect(reader.read('SECRET_KEYS', asItIs)).toBeUndefined()
  expect(reader.read('OPS_TOKEN', asItIs)).toBe('x')
  expect(reader.problems).toEqual([
    'PUBLIC_URL: is required',
    'SECRET_KEYS: is required (or SECRET_KEYS_FILE)',
  ])
})

test('a secret may be read from a file, and is trimmed; other values may not', () => {
  const reader = readerOf(
    { OPS_TOKEN_FILE: ' /token ', HOST_FILE: '/host' },
    { '/token': '\n a\nb \r\n', '/host': 'x' },
  )
  expect(reader.isSet('OPS_TOKEN')).toBe(true)
  expect(reader.read('OPS_TOKEN', asItIs)).toBe('a\nb')
  expect(reader.isSet('HOST')).toBe(false)
  expect(reader.read('HOST', asItIs)).toBeUndefined()
  expect(reader.problems).toEqual([])
})

test('a secret that is set both directly and by file is refused', () => {
  const reader = readerOf({ OPS_TOKEN: 'x', OPS_TOKEN_FILE: '/token' }, { '/token': 'x' })
  expect(reader.read('OPS_TOKEN', asItIs)).toBeUndefined()
  expect(reader.problems).toEqual(['OPS_TOKEN: is set together with OPS_TOKEN_FILE: keep one of them'])
})

test.each<[string, () => string, string]>([
  ['it is empty', () => ' \n', 'the file is empty'],
  [
    'the system says why',
    () => {
      throw Object.assign(new Error('marked'), { code: 'EACCES' })
    },
    'the file cannot be read (EACCES)',
  ],
  ...[
    { code: 'E_MARKED' },
    { code: 'marked EACCES' },
    { code: 'EACCES marked' },
    { code: 5 },
    {},
    null,
    'marked',
  ].map((thrown): [string, () => string, string] => [
    `${JSON.stringify(thrown)} is thrown`,
    () => {
      throw thrown
    },
    'the file cannot be read',
  ]),
])('a file is refused, and the error names its variable: %s', (_, content, problem) => {
  const reader = readerOf({ OPS_TOKEN_FILE: '/token', REDIS_CA_FILE: '/token' }, { '/token': content })
  expect(reader.read('OPS_TOKEN', asItIs)).toBeUndefined()
  expect(reader.read('REDIS_CA_FILE', asItIs)).toBeUndefined()
  expect(reader.problems).toEqual([`OPS_TOKEN_FILE: ${problem}`, `REDIS_CA_FILE: ${problem}`])
})

test('a refused value is reported with every reason, under the variable that set it', () => {
  const reader = readerOf({ HOST: 'x', OPS_TOKEN_FILE: '/token', REDIS_CA_FILE: '/token' }, { '/token': 'x' })
  reader.read('HOST', refusing)
  reader.read('OPS_TOKEN', refusing)
  reader.read('REDIS_CA_FILE', refusing)
  reader.read('UPSTREAM_CA_FILE', refusing)
  reader.refuse('PORT', 'one', 'two')
  reader.refuse('OPS_TOKEN', 'three')
  expect(reader.problems).toEqual([
    ...['HOST', 'OPS_TOKEN_FILE', 'REDIS_CA_FILE'].flatMap((name) => [
      `${name}: is too odd`,
      `${name}: and too even`,
    ]),
    'PORT: one',
    'PORT: two',
    'OPS_TOKEN_FILE: three',
  ])
})

test('a runtime error, which may quote the value, is not shown', () => {
  const reader = readerOf({ HOST: 'x' })
  const parse = () => {
    throw new TypeError('marked')
  }
  expect(reader.read('HOST', parse)).toBeUndefined()
  expect(reader.problems).toEqual(['HOST: cannot be parsed'])
})

test('the placeholder of the examples is refused as a secret', () => {
  const reader = readerOf(
    { OPS_TOKEN: 'a replace-with-your-token', PAM_KEY_ID_FILE: '/id', HOST: 'replace-with-your-host' },
    { '/id': 'replace-with-your-id' },
  )
  expect(reader.read('OPS_TOKEN', refusing)).toBeUndefined()
  expect(reader.read('PAM_KEY_ID', refusing)).toBeUndefined()
  expect(reader.read('HOST', asItIs)).toBe('replace-with-your-host')
  expect(reader.problems).toEqual([
    'OPS_TOKEN: is still the placeholder of the example',
    'PAM_KEY_ID_FILE: is still the placeholder of the example',
  ])
})

test.each([
  ['"x"', true],
  ["'x'", true],
  ['""', true],
  ['"a\nb"', true],
  ['a, "b" ,c', true],
  ['"a,b"', true],
  ['"x', false],
  ['x"', false],
  ['"', false],
  [`"x'`, false],
  ['a"x"', false],
  ['"x"a', false],
])('quotes are noted: %j %s', (value, isNoted) => {
  const note = isNoted ? [QUOTES] : []
  const valid = readerOf({ HOST: value })
  expect(valid.read('HOST', asItIs)).toBe(value)
  expect([valid.notes, valid.problems]).toEqual([note.map((one) => `HOST: ${one}`), []])
  const invalid = readerOf({ OPS_TOKEN_FILE: '/token' }, { '/token': value })
  invalid.read('OPS_TOKEN', refusing)
  expect(invalid.notes).toEqual([])
  expect(invalid.problems).toEqual(
    ['is too odd', 'and too even', ...note].map((reason) => `OPS_TOKEN_FILE: ${reason}`),
  )
})

test('quotes around the path of an unreadable file are noted', () => {
  const reader = readerOf(
    { OPS_TOKEN_FILE: '"/token"' },
    {
      '"/token"': () => {
        throw Object.assign(new Error('marked'), { code: 'ENOENT' })
      },
    },
  )
  reader.read('OPS_TOKEN', asItIs)
  expect(reader.problems).toEqual([
    'OPS_TOKEN_FILE: the file cannot be read (ENOENT)',
    `OPS_TOKEN_FILE: ${QUOTES}`,
  ])
})
