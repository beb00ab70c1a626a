import { expect, test } from '@jest/globals'
import { EnvReader } from '../../src/config/env-reader.ts'
import { loadPam } from '../../src/config/load-pam.ts'

const REQUIRED = {
  PAM_BASE_URL: 'https://team.pam.example',
  PAM_TEAM: 'acme',
  PAM_KEY_ID: 'id-1',
  PAM_KEY_SECRET: 'secret-1',
}

function loaded(env: Record<string, string>, readFile = (path: string) => path) {
  const reader = new EnvReader({ env, readFile })
  const pam = loadPam(reader)
  return { pam, keys: pam?.keys.current(), problems: reader.problems, files: reader.secretFiles }
}

test('the four required variables are enough', () => {
  const { pam, keys, problems } = loaded(REQUIRED)
  expect(problems).toEqual([])
  expect(keys).toEqual([{ id: 'id-1', secret: 'secret-1' }])
  expect({ ...pam, keys: undefined }).toEqual({
    baseUrl: 'https://team.pam.example',
    team: 'acme',
    keyExpiresAtMs: undefined,
    tokenPath: '/v1/teams/{team_name}/service_token',
    userName: { kind: 'login' },
    directory: { kind: 'none' },
  })
})

test('without PAM_BASE_URL, PAM is off and other PAM_* variables are refused', () => {
  expect(loaded({})).toMatchObject({ pam: undefined, problems: [] })
  const names = [
    ...['PAM_TEAM', 'PAM_KEY_ID', 'PAM_KEY_SECRET', 'PAM_KEY_EXPIRES_AT', 'PAM_TOKEN_PATH'],
    ...['PAM_USER_NAME', 'PAM_USER_DOMAINS', 'PAM_DIRECTORY'],
  ]
  for (const name of [...names, 'PAM_KEY_ID_FILE', 'PAM_KEY_SECRET_FILE']) {
    expect(loaded({ [name]: 'x' })).toMatchObject({
      pam: undefined,
      problems: [`${name}: is set, but PAM_BASE_URL is not`],
    })
  }
})

test.each([
  ['PAM_BASE_URL', 'ftp://team.pam.example'],
  ['PAM_TEAM', '../other'],
  ['PAM_TEAM', ''],
  ['PAM_KEY_ID', ''],
  ['PAM_KEY_ID', 'two words'],
  ['PAM_KEY_SECRET', ''],
  ['PAM_KEY_SECRET', 'one,two'],
])('%s=%s is reported, and PAM stays off', (name, value) => {
  const { pam, problems } = loaded({ ...REQUIRED, [name]: value })
  expect(pam).toBeUndefined()
  expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name}: `))])
})

test('a key and its standby: ids and secrets are paired in order', () => {
  const two = { ...REQUIRED, PAM_KEY_ID: 'id-1,id-2', PAM_KEY_SECRET: 'secret-1,secret-2' }
  expect(loaded(two).keys).toEqual([
    { id: 'id-1', secret: 'secret-1' },
    { id: 'id-2', secret: 'secret-2' },
  ])
  expect(loaded({ ...two, PAM_KEY_ID: 'id-1' }).problems).toEqual([
    'PAM_KEY_SECRET: must have as many values as PAM_KEY_ID',
  ])
})

test('the key id and key secret files are watched together', () => {
  const { PAM_KEY_ID: _id, PAM_KEY_SECRET: _secret, ...rest } = REQUIRED
  const { keys, files } = loaded({ ...rest, PAM_KEY_ID_FILE: '/id', PAM_KEY_SECRET_FILE: '/secret' })
  expect(keys).toEqual([{ id: '/id', secret: '/secret' }])
  expect(files).toMatchObject([
    { variables: ['PAM_KEY_ID_FILE', 'PAM_KEY_SECRET_FILE'], paths: ['/id', '/secret'] },
  ])
})

test('optional variables are read', () => {
  const { pam } = loaded({
    ...REQUIRED,
    PAM_KEY_EXPIRES_AT: '2027-01-31T00:00:00Z',
    PAM_TOKEN_PATH: '/token',
    PAM_DIRECTORY: 'all',
    PAM_USER_NAME: 'login',
  })
  expect(pam).toMatchObject({
    keyExpiresAtMs: Date.UTC(2027, 0, 31),
    tokenPath: '/token',
    userName: { kind: 'login' },
    directory: { kind: 'all' },
  })
})

test('login-local-part requires PAM_USER_DOMAINS', () => {
  const local = { ...REQUIRED, PAM_USER_NAME: 'login-local-part' }
  expect(loaded({ ...local, PAM_USER_DOMAINS: 'corp.example' })).toMatchObject({
    pam: { userName: { kind: 'login-local-part', domains: [{ domain: 'corp.example', prefix: '' }] } },
    problems: [],
  })
  const without = loaded(local)
  expect(without.problems).toEqual(['PAM_USER_DOMAINS: is required with PAM_USER_NAME=login-local-part'])
  expect(without.pam?.userName).toEqual({ kind: 'login-local-part', domains: [] })
  expect(loaded({ ...local, PAM_USER_DOMAINS: 'a b' }).problems).toEqual([
    expect.stringMatching(/^PAM_USER_DOMAINS: must be a domain/),
  ])
})

test('PAM_USER_DOMAINS is refused unless PAM_USER_NAME is login-local-part; an invalid PAM_USER_NAME is reported alone', () => {
  const domains = { ...REQUIRED, PAM_USER_DOMAINS: 'corp.example' }
  const why = ['PAM_USER_DOMAINS: requires PAM_USER_NAME=login-local-part']
  expect(loaded(domains).problems).toEqual(why)
  expect(loaded({ ...domains, PAM_USER_NAME: 'login' }).problems).toEqual(why)
  expect(loaded({ ...domains, PAM_USER_NAME: 'email' }).problems).toEqual([
    'PAM_USER_NAME: must be login or login-local-part',
  ])
})
