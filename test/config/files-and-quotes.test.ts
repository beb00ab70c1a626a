import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { KEY, load, PAM, problemsOf } from './valid-environment.ts'

const QUOTES = 'is in quotes: in env files of Docker and in secret files, they would be part of the value'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-secrets-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true })
})

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

test.each([
  'AUTHN_API_TOKEN',
  'REDIS_URL',
  'SECRET_KEYS',
  'OPS_TOKENS',
  'OPS_TOKEN',
  'EVENT_HOOK_SECRET',
  'PAM_KEY_ID',
  'PAM_KEY_SECRET',
  'APP_TOKENS',
])('%s both directly and from a file is refused, even from an empty one', async (name) => {
  const value =
    { REDIS_URL: 'memory:', SECRET_KEYS: KEY, APP_TOKENS: `a:${KEY}`, OPS_TOKENS: `a:${KEY}` }[name] ??
    'a-value-of-some-length'
  const path = await file('secret', '')
  expect(problemsOf({ ...PAM, [name]: value, [`${name}_FILE`]: path })).toEqual([
    `${name}: is set together with ${name}_FILE: keep one of them`,
  ])
})

test('a file that is unreadable, empty or invalid is refused, and the error names its variable', async () => {
  const problems = problemsOf({
    AUTHN_API_TOKEN: undefined,
    AUTHN_API_TOKEN_FILE: join(folder, 'missing'),
    REDIS_URL: undefined,
    REDIS_URL_FILE: folder,
    SECRET_KEYS: undefined,
    SECRET_KEYS_FILE: await file('keys', 'bm9uc2Vuc2U=\n'),
    OPS_TOKEN_FILE: await file('empty', ' \n'),
    UPSTREAM_CA_FILE: join(folder, 'missing'),
    REDIS_CA_FILE: await file('ca.pem', 'no certificate'),
  })
  expect([...problems].sort()).toEqual([
    'AUTHN_API_TOKEN_FILE: the file cannot be read (ENOENT)',
    'OPS_TOKEN_FILE: the file is empty',
    'REDIS_CA_FILE: has no PEM certificate, or one that cannot be read',
    'REDIS_URL_FILE: the file cannot be read (EISDIR)',
    'SECRET_KEYS_FILE: entry 1 must be a key of exactly 32 bytes in base64',
    'UPSTREAM_CA_FILE: the file cannot be read (ENOENT)',
  ])
})

// shows: V13.3.1
test('each secret may be read from a file, whose final line break is ignored', async () => {
  const config = load({
    AUTHN_API_TOKEN: undefined,
    AUTHN_API_TOKEN_FILE: ` ${await file('token', 'current\r\n')} `,
    REDIS_URL: '',
    REDIS_URL_FILE: await file('redis', 'redis://localhost\n'),
    SECRET_KEYS: undefined,
    SECRET_KEYS_FILE: await file('keys', KEY),
    OPS_TOKEN_FILE: await file('ops', 'an-ops-token-of-some-length\n'),
  })
  expect(config.authn.apiToken.value).toBe('current')
  expect(config.redis.url.value).toBe('redis://localhost')
  expect(config.secretKeys.value).toEqual([Buffer.from(KEY, 'base64')])
  expect(config.ops.tokens.value).toEqual([{ token: 'an-ops-token-of-some-length' }])
})

test.each([
  ['"x"', true],
  ["'x'", true],
  ['"a","b"', true],
  ['"x', false],
  [`"x'`, false],
  ['a"x"', false],
  ['"x"a', false],
])('a value in quotes is refused: %s %s', (value, isRefused) => {
  expect(problemsOf({ NODE_ENV: value })).toEqual(isRefused ? [`NODE_ENV: ${QUOTES}`] : [])
})

test('quotes around a path, and around the content of a file, are refused, and are the only problem', () => {
  const readFile = (path: string) => (path === '/id' ? '"x"' : readFileSync(path, 'utf8'))
  expect(
    problemsOf(
      { ...PAM, LOG_LEVEL: '"info"', OPS_TOKEN_FILE: '"/nowhere"', PAM_KEY_ID: '', PAM_KEY_ID_FILE: '/id' },
      { readFile },
    ),
  ).toEqual([`OPS_TOKEN_FILE: ${QUOTES}`, `PAM_KEY_ID_FILE: ${QUOTES}`, `LOG_LEVEL: ${QUOTES}`])
})
