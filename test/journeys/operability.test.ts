import type { ChildProcess } from 'node:child_process'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, test } from '@jest/globals'
import { VERSION } from '../../src/observability/version.ts'
import { portsIn, spawnNode } from '../support/broker-process.ts'
import { openBrowser } from '../support/browser.ts'
import { AMELIA, PASSWORD, useHarness } from '../support/harness.ts'
import { until } from '../support/until.ts'

/** The broker in its own process, from the built files and the environment alone. */

const children: ChildProcess[] = []
const harness = useHarness()
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

function start(env: Record<string, string>, ...args: string[]) {
  const started = spawnNode('dist/main.js', env, ...args)
  children.push(started.child)
  return started
}

/** Ports are chosen by the operating system and read from the log. */
function environment(): Record<string, string> {
  return { ...harness.signInEnv, PORT: '0', OPS_PORT: '0', HOST: '127.0.0.1' }
}

async function listening(output: { out: string }) {
  const ports = await until(() => portsIn(output.out), { what: 'a listening broker' })
  return { url: `http://localhost:${ports?.public}`, ops: `http://127.0.0.1:${ports?.ops}` }
}

const preload = (script: string) => `--import data:text/javascript,${encodeURIComponent(script)}`
const PRINT_LOADED_MODULES = `
  import { writeSync } from 'node:fs'
  import { createRequire } from 'node:module'
  const { cache } = createRequire('/')
  process.on('exit', () => writeSync(2, Object.keys(cache).join('\\n')))`

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
    const env = { ...environment(), https_proxy: 'http://marked' }
    const { output, exited } = start(env, '--check-config')
    expect(await exited).toBe(0)
    expect(output.out).toContain('The configuration is valid.')
    expect(output.out).toContain('LOGIN_DOMAINS: is not set')
    expect(output.out).toMatch(/^ {2}HTTPS_PROXY: is not set/m)
    expect(output.out).not.toContain('marked')
  })

  test('an unknown or second argument prints the usage and exits 64 without starting', async () => {
    const main = pathToFileURL(resolve('dist/main.js')).href
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
      ['--login-hash'],
      ['--login-hash', 'one', 'two'],
      ['--doctor', '--jsn'],
      ['--doctor', '--login'],
      ['--doctor', '--password-stdin'],
      ['--doctor', '--json', 'more'],
      [''],
    ]
    const args = ['-e', script, JSON.stringify(refused)]
    const { output, exited } = spawnNode('--input-type=module', environment(), ...args)
    expect(await exited).toBe(0)
    expect(output.out).toBe(JSON.stringify(refused.map(() => 64)))
    for (const command of [/--check-config /g, /--new-key /g])
      expect(output.err.match(command)).toHaveLength(refused.length)
  })

  test('--login-hash prints the hash by which logs name a login, in any spelling', async () => {
    await (await harness.visit()).post('/api/v1/authn', { username: AMELIA, password: 'Not-The-Password-1' })
    const failed = harness.gatehouse.logLines().findLast(({ event }) => event === 'sign_in_failed')
    const { output, exited } = start(environment(), '--login-hash', ` ${AMELIA.toUpperCase()}`)
    expect(await exited).toBe(0)
    expect(output.out).toBe(`${failed?.loginHash}\n`)
  })

  test('at start, one line says what is configured, without values that name hosts or secrets; SIGUSR1 is ignored', async () => {
    const env = { ...environment(), SSO_REDIRECTS: 'https://app.example.com/', GIT_REVISION: '4711abc' }
    const { child, output } = start(env)
    const { ops } = await listening(output)
    const lines = output.out.trim().split('\n')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      event: 'configured',
      service: 'gatehouse',
      version: VERSION,
      revision: '4711abc',
      variables: expect.stringMatching(/^PUBLIC_URL,AUTHN_BASE_URL,.*,SSO_REDIRECTS,.*GIT_REVISION$/),
    })
    expect(lines[0]).not.toMatch(/127\.0\.0\.1|localhost|example\.com/)
    const build = { version: VERSION, revision: '4711abc' }
    expect(await (await fetch(`${ops}/livez`)).json()).toEqual({ status: 'alive', ...build })
    const metrics = await (await fetch(`${ops}/metrics`)).text()
    expect(metrics).toContain(`gatehouse_build_info{version="${VERSION}",revision="4711abc"} 1`)
    expect(metrics).toContain('gatehouse_log_events_total{level="info",event="configured"} 1')
    expect(metrics).toContain('nodejs_eventloop_lag_p99_seconds ')

    // SIGUSR1 opens no inspector: Node would print "Debugger listening on ws://"
    const ignored = () => output.out.match(/"event":"signal_ignored","signal":"SIGUSR1"/g)?.length
    for (const times of [1, 2]) {
      child.kill('SIGUSR1')
      await until(() => ignored() === times || output.err !== '')
    }
    expect(output.err).toBe('')
  })

  test.each([
    ['without a collector, no module of OpenTelemetry but the API that prom-client needs', {}, false],
    ['with a collector, the others too', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, true],
  ])('%s is loaded', async (_what, env, isTraced) => {
    const NODE_OPTIONS = preload(PRINT_LOADED_MODULES)
    const { child, output, exited } = start({ ...environment(), ...env, NODE_OPTIONS })
    const { url } = await listening(output)
    await openBrowser(url).post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
    child.kill('SIGTERM')
    expect(await exited).toBe(0)
    expect(output.err).toMatch(/node_modules.ioredis/)
    expect(output.err).not.toMatch(/node_modules.tldts/)
    const loaded = output.err.match(/@opentelemetry.(?!api[/\\])[\w-]+/g) ?? []
    expect(loaded.some((name) => name.endsWith('sdk-trace'))).toBe(isTraced)
    expect(loaded.length > 0).toBe(isTraced)
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
    const lines = output.out.trim().split('\n')
    const events = lines.map((line) => (JSON.parse(line) as { event: string }).event)
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
    const expected = { level: 'error', event: 'listen_failed', name, host: '127.0.0.1', port: Number(port) }
    const error = { code: 'EADDRINUSE' }
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ ...expected, variables: variable, error })
  })
})
