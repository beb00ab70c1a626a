import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { z } from 'zod'
import { makeBrokerDirectory, spawnNode } from '../support/broker-process.ts'
import { freePort, TEST_KEY } from '../support/gatehouse.ts'
import { AMELIA, PASSWORD } from '../support/harness.ts'
import { startRedis } from '../support/redis-server.ts'
import { startSandboxUpstream } from '../support/sandbox-upstream.ts'

/** `node main.js --doctor`, as its own process. Needs `npm run build:all`. */

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function doctor(env: Readonly<Record<string, string>>, args: readonly string[] = [], input = '') {
  const { output, exited, child } = spawnNode('dist/main.js', env, '--doctor', ...args)
  child.stdin.end(input)
  cleanUps.push(() => child.kill('SIGKILL'))
  return { code: await exited, ...output }
}

const Report = z.strictObject({
  checks: z.array(
    z.strictObject({
      name: z.string(),
      status: z.enum(['ok', 'warn', 'fail', 'skipped']),
      detail: z.string().min(1),
      fix: z.string().min(1).nullable(),
    }),
  ),
})

/** Every check, in order. */
const CHECKS = {
  redis: 'reach database password version policy scripts scan write keys latency clock',
  authn: 'reach tls clock token language users pipeline forwarded_for device_token',
  pam: 'reach key team user key_expiry',
  public: 'reach configuration paths redis keepalive event_hook cookies headers bound_sessions applications',
  ops: 'closed',
}
const NAMES = Object.entries(CHECKS).flatMap(([group, names]) =>
  names.split(' ').map((name) => `${group}.${name}`),
)

test('docs/operations.md describes every check', () => {
  const page = readFileSync('docs/operations.md', 'utf8')
  const [section = ''] = /^## Doctor$.*?^## /ms.exec(page) ?? []
  const described = [...section.matchAll(/`((?:redis|authn|pam|public|ops)\.\w+)`/g)].map(([, name]) => name)
  expect(described).toEqual(NAMES)
})

test('around a running broker no check fails, exit code 0', async () => {
  const [upstream, redis, home] = await Promise.all([
    startSandboxUpstream(),
    startRedis({ password: 'plainly-fake-password' }),
    makeBrokerDirectory(),
  ])
  cleanUps.push(upstream.close, redis.stop, home.remove)
  const port = String(await freePort())
  const env = {
    ...upstream.signInEnv,
    ...upstream.pamEnv,
    PUBLIC_URL: `http://localhost:${port}`,
    REDIS_URL: redis.url,
    SECRET_KEYS: TEST_KEY,
  }
  await home.start({ ...env, PORT: port })

  const { code, out, err } = await doctor(
    env,
    ['--json', '--login', AMELIA, '--password-stdin'],
    `${PASSWORD}\n`,
  )
  expect(err).toBe('')
  const { checks } = Report.parse(JSON.parse(out))
  expect(checks.map(({ name }) => name)).toEqual(NAMES)
  expect(checks.filter(({ status }) => status === 'fail')).toEqual([])
  const shown = [
    'authn.forwarded_for',
    'authn.device_token',
    'public.paths',
    'public.redis',
    'public.keepalive',
  ]
  for (const name of shown) expect(checks).toContainEqual(expect.objectContaining({ name, status: 'ok' }))
  expect(code).toBe(0)
  for (const secret of [
    upstream.sandbox.apiToken,
    'plainly-fake-password',
    TEST_KEY,
    AMELIA,
    PASSWORD,
    ...upstream.pamKeys,
  ])
    expect(out).not.toContain(secret)
})

test('if everything hangs, it ends with exit code 1', async () => {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}) // the doctor has ended
  })
  await new Promise<void>((resolve) => {
    silent.listen(0, '127.0.0.1', resolve)
  })
  cleanUps.push(() => {
    silent.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = silent.address() as AddressInfo // it listens on TCP
  const { code, out } = await doctor(
    {
      PUBLIC_URL: `http://localhost:${port}`,
      AUTHN_BASE_URL: `http://127.0.0.1:${port}`,
      AUTHN_API_TOKEN: 'plainly-fake',
      REDIS_URL: `redis://127.0.0.1:${port}`,
      SECRET_KEYS: TEST_KEY,
      PAM_BASE_URL: `http://127.0.0.1:${port}`,
      PAM_TEAM: 'team',
      PAM_KEY_ID: 'plainly-fake-id',
      PAM_KEY_SECRET: 'plainly-fake-secret',
      OPS_HOST: '0.0.0.0',
      OPS_PORT: String(port),
    },
    ['--json'],
  )
  const { checks } = Report.parse(JSON.parse(out))
  const failed = checks.filter(({ status }) => status === 'fail').map(({ name }) => name)
  expect(failed).toEqual(['redis.reach', 'authn.reach', 'pam.reach', 'public.reach'])
  expect(checks.some(({ status }) => status === 'ok')).toBe(false)
  expect(code).toBe(1)
})

test('--password-stdin without a password: nothing is checked, exit code 64', async () => {
  const env = {
    PUBLIC_URL: 'http://localhost:9',
    AUTHN_BASE_URL: 'http://127.0.0.1:9',
    AUTHN_API_TOKEN: 'plainly-fake',
    REDIS_URL: 'memory:',
    SECRET_KEYS: TEST_KEY,
  }
  const { code, out, err } = await doctor(env, ['--login', AMELIA, '--password-stdin'], '\n')
  expect([code, out, err]).toEqual([64, '', 'There is no password on standard input.\n'])
})
