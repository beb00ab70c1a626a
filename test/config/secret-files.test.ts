import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, symlink, truncate, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Config } from '../../src/config/load-config.ts'
import { generateKey } from '../../src/config/secret-values.ts'
import { watchSecretFiles } from '../../src/config/watch-secrets.ts'
import { replaceFile } from '../support/replace-file.ts'
import { until } from '../support/until.ts'
import { KEY, load, PAM, problemsOf } from './valid-environment.ts'

/** A self-signed certificate made for these tests; its key is gone. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBnTCCAUOgAwIBAgIURw2Y1hdc2qNmaOmzwLIShRfYYkQwCgYIKoZIzj0EAwIw
IzEhMB8GA1UEAwwYR2F0ZWhvdXNlIHRlc3QgYXV0aG9yaXR5MCAXDTI2MTEyMTAy
MDQ0MFoYDzIxMjYxMDI4MDIwNDQwWjAjMSEwHwYDVQQDDBhHYXRlaG91c2UgdGVz
dCBhdXRob3JpdHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQ+/L2YNPYpBdgI
Y8sLZo8WOkfghXhUNmPrHMUGyRPnh7mFv1+CQCIPeey7EBvYigm5iZwxpQhPyy4r
P20iWzMVo1MwUTAdBgNVHQ4EFgQUs1xDkFBrRyww8ogi2GuYyEfopt0wHwYDVR0j
BBgwFoAUs1xDkFBrRyww8ogi2GuYyEfopt0wDwYDVR0TAQH/BAUwAwEB/zAKBggq
hkjOPQQDAgNIADBFAiEAvTpR5H0yNZtsFZtBGmLj1Glh6wOYVbN6nV16s/rB5LcC
IBYqNFC98aPCGqCWaK6+/fH4lNJy2pJsIWe82CB9YRwC
-----END CERTIFICATE-----`

let folder: string
const stops: (() => void)[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-secrets-'))
})

afterEach(async () => {
  for (const stop of stops.splice(0)) stop()
  await rm(folder, { recursive: true })
})

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

test.each(['AUTHN_API_TOKEN', 'REDIS_URL', 'SECRET_KEYS', 'OPS_TOKEN', 'PAM_KEY_ID', 'PAM_KEY_SECRET'])(
  '%s both directly and from a file is refused, even from an empty one',
  async (name) => {
    const value = { REDIS_URL: 'memory:', SECRET_KEYS: KEY }[name] ?? 'a-value-of-some-length'
    const path = await file('secret', '')
    expect(problemsOf({ ...PAM, [name]: value, [`${name}_FILE`]: path })).toEqual([
      `${name}: is set together with ${name}_FILE: keep one of them`,
    ])
  },
)

test('something that is not a file, or is too large, is refused without waiting', async () => {
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const large = await file('large', '')
  await truncate(large, 5_000_000)
  const of = (path: string) => problemsOf({ OPS_TOKEN_FILE: path })
  expect(of(pipe)).toEqual(['OPS_TOKEN_FILE: the file cannot be read (EFTYPE)'])
  expect(of('/dev/zero')).toEqual(['OPS_TOKEN_FILE: the file cannot be read (EFTYPE)'])
  expect(of(large)).toEqual(['OPS_TOKEN_FILE: the file cannot be read (EFBIG)'])
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
    'REDIS_CA_FILE: has no PEM certificate',
    'REDIS_URL_FILE: the file cannot be read (EISDIR)',
    'SECRET_KEYS_FILE: must be keys of exactly 32 bytes in base64, comma-separated',
    'UPSTREAM_CA_FILE: the file cannot be read (ENOENT)',
  ])
})

test('a certificate file that contains a private key or an invalid certificate is refused', () => {
  const pem = (name: string) => `-----BEGIN ${name}-----\nbm9uc2Vuc2U=\n-----END ${name}-----\n`
  expect(problemsOf({ REDIS_CA_FILE: '/ca' }, { readFile: () => pem('PRIVATE KEY') })).toEqual([
    'REDIS_CA_FILE: contains a private key: only certificates belong there',
  ])
  expect(problemsOf({ REDIS_CA_FILE: '/ca' }, { readFile: () => pem('CERTIFICATE') })).toEqual([
    'REDIS_CA_FILE: certificate 1 cannot be read',
  ])
})

test('text between certificates is removed', () => {
  const config = load(
    { UPSTREAM_CA_FILE: '/ca' },
    { readFile: () => `# our CA\n${CERTIFICATE}\n# and again\n${CERTIFICATE}` },
  )
  expect(config.egress.ca).toBe(`${CERTIFICATE}\n${CERTIFICATE}\n`)
})

test('the final line break is ignored, and each line is a value', async () => {
  const config = load({
    AUTHN_API_TOKEN: undefined,
    AUTHN_API_TOKEN_FILE: await file('token', 'current\r\nstandby\r\n'),
    REDIS_URL: '',
    REDIS_URL_FILE: await file('redis', 'redis://localhost\n'),
  })
  expect(config.authn.apiTokens.current()).toEqual(['current', 'standby'])
  expect(config.redis.url.current()).toBe('redis://localhost')
  expect(config.secretFiles.map(({ variables }) => variables)).toEqual([
    ['AUTHN_API_TOKEN_FILE'],
    ['REDIS_URL_FILE'],
  ])
})

function watch(config: Config) {
  const lines: { event: string; name: string; reason?: string }[] = []
  const log = (event: string, fields: { name: string; reason?: string }) =>
    void lines.push({ event, ...fields })
  const { stop } = watchSecretFiles({ config, log: { info: log, error: log }, intervalMs: 5 })
  stops.push(stop)
  return { lines, stop }
}

test('a changed file is loaded, and logged once', async () => {
  const path = await file('token', 'old\n')
  const config = load({ AUTHN_API_TOKEN: undefined, AUTHN_API_TOKEN_FILE: path })
  const { lines } = watch(config)
  const received: unknown[] = []
  config.authn.apiTokens.onChange((tokens) => received.push(tokens))

  await replaceFile(path, 'new\nold\n')
  await until(() => received.length > 0)

  expect(config.authn.apiTokens.current()).toEqual(['new', 'old'])
  expect(received).toEqual([['new', 'old']])
  expect(lines).toEqual([{ event: 'secret_reloaded', name: 'AUTHN_API_TOKEN_FILE' }])
})

test('a file that changed between startup and watching is loaded', async () => {
  const path = await file('keys', KEY)
  const config = load({ SECRET_KEYS: undefined, SECRET_KEYS_FILE: path })
  const next = generateKey()
  await replaceFile(path, `${next},${KEY}`)
  watch(config)
  await until(() => config.secretKeys.current().length === 2)
  expect(config.secretKeys.current()[0]).toEqual(Buffer.from(next, 'base64'))
})

test('invalid content is reported by variable, the old value stays, and the next valid content is loaded', async () => {
  const path = await file('keys', KEY)
  const config = load({ SECRET_KEYS: undefined, SECRET_KEYS_FILE: path })
  const { lines } = watch(config)

  await replaceFile(path, 'marked nonsense')
  await until(() => lines.length > 0)
  expect(config.secretKeys.current()).toEqual([Buffer.from(KEY, 'base64')])
  await unlink(path)
  await until(() => lines.length > 1)
  expect(config.secretKeys.current()).toEqual([Buffer.from(KEY, 'base64')])
  const next = generateKey()
  await replaceFile(path, next)
  await until(() => lines.length > 2)

  expect(config.secretKeys.current()).toEqual([Buffer.from(next, 'base64')])
  const name = 'SECRET_KEYS_FILE'
  expect(lines).toEqual([
    {
      event: 'secret_reload_failed',
      name,
      reason: 'SECRET_KEYS_FILE: must be keys of exactly 32 bytes in base64, comma-separated',
    },
    { event: 'secret_reload_failed', name, reason: 'SECRET_KEYS_FILE: the file cannot be read (ENOENT)' },
    { event: 'secret_reloaded', name },
  ])
})

test('when Kubernetes switches the folder’s symlink, key id and key secret change together', async () => {
  const generation = async (name: string) => {
    await mkdir(join(folder, name))
    await file(`${name}/id`, `id-${name}`)
    await file(`${name}/secret`, `secret-${name}`)
    return name
  }
  await symlink(await generation('one'), join(folder, '..data'))
  await symlink('..data/id', join(folder, 'id'))
  await symlink('..data/secret', join(folder, 'secret'))
  const config = load({
    ...PAM,
    PAM_KEY_ID: '',
    PAM_KEY_SECRET: '',
    PAM_KEY_ID_FILE: join(folder, 'id'),
    PAM_KEY_SECRET_FILE: join(folder, 'secret'),
  })
  const { lines } = watch(config)
  const received: unknown[] = []
  config.pam?.keys.onChange((keys) => received.push(keys))

  await symlink(await generation('two'), join(folder, '..next'))
  await rename(join(folder, '..next'), join(folder, '..data'))
  await until(() => received.length > 0)

  expect(received).toEqual([[{ id: 'id-two', secret: 'secret-two' }]])
  expect(lines).toEqual([{ event: 'secret_reloaded', name: 'PAM_KEY_ID_FILE, PAM_KEY_SECRET_FILE' }])
})

test('a listener that fails to use the new value is reported', async () => {
  const path = await file('token', 'old')
  const config = load({ AUTHN_API_TOKEN: undefined, AUTHN_API_TOKEN_FILE: path })
  const { lines } = watch(config)
  config.authn.apiTokens.onChange(() => {
    throw new Error('marked')
  })
  await replaceFile(path, 'new')
  await until(() => lines.length > 0)
  expect(lines).toEqual([
    {
      event: 'secret_reload_failed',
      name: 'AUTHN_API_TOKEN_FILE',
      reason: 'a component failed to use the new value',
    },
  ])
})

test('after stop, no change is loaded', async () => {
  const path = await file('token', 'old')
  const config = load({ AUTHN_API_TOKEN: undefined, AUTHN_API_TOKEN_FILE: path })
  const stopped = watch(config)
  stopped.stop()
  const { lines } = watch(load({ AUTHN_API_TOKEN: undefined, AUTHN_API_TOKEN_FILE: path }))
  await replaceFile(path, 'new')
  await until(() => lines.length > 0) // the other watcher has seen it
  expect(config.authn.apiTokens.current()).toEqual(['old'])
  expect(stopped.lines).toEqual([])
})
