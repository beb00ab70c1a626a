import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { VERSION } from '../../src/observability/version.ts'
import { openBrowser } from '../support/browser.ts'
import { TEST_KEY } from '../support/gatehouse.ts'
import { AMELIA, FROM_PROXY, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { until } from '../support/until.ts'

/** The broker in its own process, from the built files and the environment alone. */

let harness: Harness
const children: ChildProcess[] = []
beforeAll(async () => {
  harness = await startHarness()
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => harness.stop())

const start = (env: Record<string, string>, ...args: string[]) => startNode(env, 'build/main.js', ...args)

function startNode(env: Record<string, string>, ...args: string[]) {
  const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH, ...env } })
  children.push(child)
  const output = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    output.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.err += chunk
  })
  const exited = once(child, 'close').then(([code]) => code as number)
  return { child, output, exited }
}

/** Ports are chosen by the operating system and read from the log. */
function environment(): Record<string, string> {
  return {
    PUBLIC_URL: 'http://localhost:8080',
    PORT: '0',
    OPS_PORT: '0',
    HOST: '127.0.0.1',
    AUTHN_BASE_URL: harness.authnUrl,
    AUTHN_API_TOKEN: harness.sandbox.apiToken,
    REDIS_URL: harness.redis.url,
    SECRET_KEYS: TEST_KEY,
  }
}

async function listening(output: { out: string }) {
  const port = (name: string) =>
    new RegExp(`"event":"listening","name":"${name}","port":(\\d+)`).exec(output.out)?.[1]
  return until(() => {
    const [own, ops] = [port('public'), port('ops')]
    return own !== undefined && ops !== undefined
      ? { port: own, url: `http://localhost:${own}`, ops: `http://127.0.0.1:${ops}` }
      : undefined
  }).then((found) => {
    if (found === undefined) throw new Error('the broker does not listen')
    return found
  })
}

describe('the command', () => {
  test('reports every configuration problem by name, without values, and exits 78', async () => {
    const { output, exited } = start({ PUBLIC_URL: 'ftp://not-this-value', SECRET_KEYS: 'not-this-key' })
    expect(await exited).toBe(78)
    for (const name of ['PUBLIC_URL', 'AUTHN_BASE_URL', 'AUTHN_API_TOKEN', 'REDIS_URL', 'SECRET_KEYS']) {
      expect(output.err).toContain(name)
    }
    expect(output.err + output.out).not.toMatch(/not-this/)
  })

  test('--check-config accepts a valid configuration, notes unusual settings, and exits', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-check-config-'))
    const file = join(folder, 'ops-token')
    await writeFile(file, 'marked-token-of-some-length')
    await chmod(file, 0o644)
    try {
      const env = {
        ...environment(),
        OPS_TOKEN_FILE: file,
        AUTHN_API_TOKEN: '"marked"',
        https_proxy: 'http://marked',
      }
      const { output, exited } = start(env, '--check-config')
      expect(await exited).toBe(0)
      expect(output.out).toContain('The configuration is valid.')
      expect(output.out).toContain('LOGIN_DOMAINS: is not set')
      expect(output.out).toMatch(/^ {2}OPS_TOKEN_FILE: every user/m)
      expect(output.out).toMatch(/^ {2}AUTHN_API_TOKEN: is in quotes/m)
      expect(output.out).toMatch(/^ {2}https_proxy: is ignored/m)
      expect(output.out).not.toContain('marked')
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('an unknown or second argument prints the usage and exits 64 without starting', async () => {
    const main = pathToFileURL(resolve('build/main.js')).href
    // one process for all: each import with another query runs the command again
    const script = `
      const codes = []
      for (const [n, args] of JSON.parse(process.argv[1]).entries()) {
        process.argv.splice(2, process.argv.length, ...args)
        process.exitCode = 0
        await import('${main}?' + n)
        codes.push(process.exitCode)
      }
      process.exitCode = 0
      process.stdout.write(JSON.stringify(codes))`
    const refused = [
      ['--new-keys'],
      ['--check'],
      ['check-config'],
      ['--new-key=1'],
      ['--check-config', '--new-key'],
      ['--doctor', '--jsn'],
      ['--doctor', '--login'],
      ['--doctor', '--password-stdin'],
      ['--doctor', '--json', 'more'],
      [''],
    ]
    const { output, exited } = startNode(
      environment(),
      '--input-type=module',
      '-e',
      script,
      JSON.stringify(refused),
    )
    expect(await exited).toBe(0)
    expect(output.out).toBe(JSON.stringify(refused.map(() => 64)))
    for (const command of [/--check-config /g, /--new-key /g])
      expect(output.err.match(command)).toHaveLength(refused.length)
  })

  test('--version prints the version', async () => {
    const { output, exited } = start({}, '--version')
    expect(await exited).toBe(0)
    expect(output.out).toBe(`gatehouse ${VERSION}\n`)
  })

  test('--help prints the usage', async () => {
    const { output, exited } = start({}, '--help')
    expect(await exited).toBe(0)
    expect(output.out).toContain('--check-config')
  })

  test('at start, one line says what is configured, without values that name hosts or secrets', async () => {
    const env = { ...environment(), SSO_REDIRECTS: 'https://app.example.com/', GIT_REVISION: '4711abc' }
    const { output } = start(env)
    const { ops } = await listening(output)
    const lines = output.out.trim().split('\n')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      event: 'configured',
      service: 'gatehouse',
      version: VERSION,
      revision: '4711abc',
      features: 'sso_redirects',
      store: 'redis',
      secretKeys: 1,
      sessionIdleMinutes: 30,
      logLevel: 'info',
    })
    expect(lines[0]).not.toMatch(/127\.0\.0\.1|localhost|example\.com/)
    expect(await (await fetch(`${ops}/livez`)).json()).toEqual({ status: 'alive', version: VERSION })
    expect(await (await fetch(`${ops}/metrics`)).text()).toContain(
      `gatehouse_build_info{version="${VERSION}",revision="4711abc"} 1`,
    )
  })

  test('SIGTERM: readiness fails first, the request in flight finishes, then exit 0', async () => {
    const { child, output, exited } = start(environment())
    const { ops, url } = await listening(output)
    await until(async () => (await fetch(`${ops}/readyz`)).ok)

    const browser = openBrowser(url)
    harness.sandbox.faults.authn.set({ kind: 'delay', ms: 4500, times: 1 })
    harness.clearUpstreamCalls()
    const running = browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
    await until(() => harness.upstreamCalls().length === 1)
    child.kill('SIGTERM')

    const notReady = await until(async () => {
      const answer = await fetch(`${ops}/readyz`)
      return answer.status === 503 ? ((await answer.json()) as { draining: boolean }) : undefined
    })
    expect(notReady?.draining).toBe(true)
    expect((await running).json.status).toBe('SUCCESS')
    expect(await exited).toBe(0)
    expect(output.err).toBe('')
    const events = output.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { event: string }).event)
    expect(events.at(-1)).toBe('stopped')
    await expect(fetch(`${ops}/livez`)).rejects.toThrow()
  })

  test.each([
    ['public', 'PORT'],
    ['ops', 'OPS_PORT'],
  ])('a port in use is logged as an error with its listener, and exits 1: %s', async (name, variable) => {
    const { port } = new URL(harness.gatehouse.url)
    const { output, exited } = start({ ...environment(), [variable]: port })
    expect(await exited).toBe(1)
    const lines = output.out.trim().split('\n')
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      level: 'error',
      event: 'listen_failed',
      name,
      host: '127.0.0.1',
      port: Number(port),
      error: { code: 'EADDRINUSE' },
    })
  })
})

describe('logs, ids and metrics', () => {
  test('every request is one log line with its id, route template and status, without path and body', async () => {
    const browser = await harness.visit()
    const answer = await browser.get('/api/v1/sessions/me?secret=in-the-query')
    await browser.get('/some/unknown/path-with-a-secret')
    const id = answer.headers.get('x-request-id')
    await until(() => harness.gatehouse.logText().includes(String(id)))
    const line = harness.gatehouse.logLines().find((one) => one.event === 'request' && one.requestId === id)
    expect(line).toMatchObject({
      route: '/api/v1/sessions/me',
      status: 404,
      method: 'GET',
      address: '127.0.0.1',
    })
    expect(harness.gatehouse.logText()).not.toContain('secret')
    const metrics = await harness.gatehouse.metrics()
    expect(metrics).toContain('gatehouse_http_request_duration_seconds_count')
    expect(metrics).toContain('route="none"')
    expect(metrics).not.toContain('path-with-a-secret')
  })

  test('a request id is accepted only from a trusted proxy, and only if well-formed', async () => {
    const trusting = await harness.replica({ TRUST_PROXY: '127.0.0.1/32' })
    const idFrom = async (url: string, given: string) =>
      (
        await fetch(`${url}/api/v1/sessions/me`, { headers: { ...FROM_PROXY, 'x-request-id': given } })
      ).headers.get('x-request-id')
    expect(await idFrom(harness.gatehouse.url, 'proxy-id-12345')).not.toBe('proxy-id-12345')
    expect(await idFrom(trusting.url, 'proxy-id-12345')).toBe('proxy-id-12345')
    expect(await idFrom(trusting.url, 'not well formed')).not.toBe('not well formed')
  })

  test('the operations listener serves its three paths, and the public listener none of them', async () => {
    const statusOf = async (url: string) => (await fetch(url)).status
    const { opsUrl, url } = harness.gatehouse
    expect(
      await Promise.all(['/livez', '/readyz', '/metrics', '/other'].map((path) => statusOf(opsUrl + path))),
    ).toEqual([200, 200, 200, 404])
    expect(await Promise.all(['/livez', '/readyz', '/metrics'].map((path) => statusOf(url + path)))).toEqual([
      404, 404, 404,
    ])
  })
})
