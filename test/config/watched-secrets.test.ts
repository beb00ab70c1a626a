import { expect, test } from '@jest/globals'
import { EnvReader } from '../../src/config/env-reader.ts'

const asItIs = (text: string) => text
const readToken = (reader: EnvReader) => reader.read('OPS_TOKEN', asItIs)

/** Secrets of an environment, in which `files` can change. */
function watched(env: Record<string, string>, files: Record<string, string> = {}) {
  const readFile = (path: string) => {
    const content = files[path]
    if (content === undefined) throw Object.assign(new Error('marked'), { code: 'ENOENT' })
    return content
  }
  return new EnvReader({ env, readFile })
}

test('a variable that is not set has no secret and no watched file', () => {
  const reader = watched({ PAM_KEY_ID_FILE: '/missing' })
  expect(reader.secret(['OPS_TOKEN'], readToken)).toBeUndefined()
  expect(reader.secret(['PAM_KEY_ID'], (from) => from.read('PAM_KEY_ID', asItIs))).toBeUndefined()
  expect(reader.secretFiles).toEqual([])
})

test('a value that is not read from a file is not watched', () => {
  const reader = watched({ OPS_TOKEN: 'one' })
  expect(reader.secret(['OPS_TOKEN'], readToken)?.current()).toBe('one')
  expect(reader.secretFiles).toEqual([])
})

test('a changed file is loaded and listeners are called; an equal value changes nothing', () => {
  const content = { '/token': 'one' }
  const reader = watched({ OPS_TOKEN_FILE: '/token' }, content)
  const secret = reader.secret(['OPS_TOKEN'], (from) => ({ token: readToken(from) }))
  const received: unknown[] = []
  secret?.onChange((value) => received.push(value))
  const [file] = reader.secretFiles
  expect(file).toMatchObject({ variables: ['OPS_TOKEN_FILE'], paths: ['/token'] })
  content['/token'] = 'one\n'
  expect(file?.reload()).toEqual({ changed: false, problems: [] })
  expect(received).toEqual([])
  content['/token'] = 'two'
  expect(file?.reload()).toEqual({ changed: true, problems: [] })
  expect(file?.reload()).toEqual({ changed: false, problems: [] })
  expect(received).toEqual([{ token: 'two' }])
  expect(secret?.current()).toEqual({ token: 'two' })
})

test.each<[string, (reader: EnvReader) => string | undefined, string[]]>([
  [
    'a value that is refused in part',
    (reader) => {
      reader.refuse('OPS_TOKEN', 'is odd')
      return 'two'
    },
    ['OPS_TOKEN_FILE: is odd'],
  ],
  ['no value', () => undefined, []],
])('%s is not loaded', (_, again, problems) => {
  const reader = watched({ OPS_TOKEN_FILE: '/token' }, { '/token': 'one' })
  let read = readToken
  const secret = reader.secret(['OPS_TOKEN'], (from) => read(from))
  read = again
  expect(reader.secretFiles[0]?.reload()).toEqual({ changed: false, problems })
  expect(secret?.current()).toBe('one')
})

test('a deleted file is reported each time, and the value stays', () => {
  const content: Record<string, string> = { '/token': 'one' }
  const reader = watched({ OPS_TOKEN_FILE: '/token' }, content)
  const secret = reader.secret(['OPS_TOKEN'], readToken)
  delete content['/token']
  for (const _ of [1, 2]) {
    expect(reader.secretFiles[0]?.reload()).toEqual({
      changed: false,
      problems: ['OPS_TOKEN_FILE: the file cannot be read (ENOENT)'],
    })
  }
  expect(secret?.current()).toBe('one')
})

test('for a value of two variables, each of their files is watched', () => {
  const both = (reader: EnvReader) =>
    (['PAM_KEY_ID', 'PAM_KEY_SECRET'] as const).map((name) => reader.read(name, asItIs))
  const content = { '/id': 'i', '/secret': 's' }
  const reader = watched({ PAM_KEY_ID_FILE: '/id', PAM_KEY_SECRET_FILE: '/secret' }, content)
  expect(reader.secret(['PAM_KEY_ID', 'PAM_KEY_SECRET'], both)?.current()).toEqual(['i', 's'])
  expect(reader.secretFiles).toMatchObject([
    { variables: ['PAM_KEY_ID_FILE', 'PAM_KEY_SECRET_FILE'], paths: ['/id', '/secret'] },
  ])
  const mixed = watched({ PAM_KEY_ID: 'i', PAM_KEY_SECRET_FILE: '/secret' }, content)
  mixed.secret(['PAM_KEY_ID', 'PAM_KEY_SECRET'], both)
  expect(mixed.secretFiles).toMatchObject([{ variables: ['PAM_KEY_SECRET_FILE'], paths: ['/secret'] }])
})
