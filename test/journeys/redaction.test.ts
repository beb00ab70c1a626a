import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type BrokerDirectory, makeBrokerDirectory } from '../support/broker-process.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, useHarness } from '../support/harness.ts'
import { trafficOf } from '../support/recorded-traffic.ts'
import { createSecretScanner } from '../support/secret-scanner.ts'
import { until } from '../support/until.ts'

/**
 * Secrets do not reach logs, Redis or responses: the harness's own search for secrets, crashes, and
 * forged log lines.
 */

describe('the search for secrets at the end of every journey', () => {
  /** A harness with one sign-in, into which `plant` puts a secret. */
  async function runJourney(plant: (harness: Harness) => Promise<unknown> | unknown): Promise<void> {
    const harness = await startHarness()
    const browser = await harness.visit()
    await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
    await plant(harness)
    await harness.stop()
  }
  const inRedis = (value: (harness: Harness) => string) => (harness: Harness) =>
    harness.redis.client().set('gatehouse:planted', value(harness), 'PX', 1000)

  // shows: V10.1.1, V14.2.1, V14.2.4, V16.2.5
  test.each([
    ['a token', inRedis(({ sandbox }) => `x${sandbox.tokensIssued()[0]}x`)],
    [
      'a token in a response',
      ({ gatehouse, sandbox }: Harness) =>
        trafficOf(gatehouse.url).received.push(`location: /x?token=${sandbox.tokensIssued()[0]}`),
    ],
  ])('finds %s', async (_, plant) => {
    await expect(runJourney(plant)).rejects.toThrow('found a secret in')
  })

  // shows: V16.2.5
  test('finds each encoding at any position, and a short secret only as a separate word', () => {
    const marks = createSecretScanner()
    marks.add('Marked-Secret/1+2', '918273', 'Zoe1')
    const found = (text: string) => marks.findIn(text)
    expect(found('nothing')).toEqual([])
    expect(found('918273456 a918273 Zoe12 0.918273')).toEqual([])
    expect(found('code=918273&name=Zoe1.')).toEqual(['918273', 'Zoe1'])
    for (const form of ['Marked-Secret/1+2', 'Marked-Secret%2F1%2B2', 'TWFya2VkLVNlY3JldC8xKzI'])
      expect(found(`before${form}after`)).toEqual(['Marked-Secret/1+2'])
  })
})

describe('a broker process that crashes', () => {
  const SECRET = 'plainly-marked-secret-5d1c'
  const harness = useHarness()
  let home: BrokerDirectory
  let folder: string
  beforeAll(async () => {
    home = await makeBrokerDirectory()
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-crash-'))
  })
  afterAll(async () => {
    await home.remove()
    await rm(folder, { recursive: true })
  })

  async function start(crash: string) {
    const path = join(folder, `${crash.length}.mjs`)
    await writeFile(path, crash)
    return home.spawn({
      NODE_OPTIONS: `--import ${pathToFileURL(path).href}`,
      ...harness.signInEnv,
      AUTHN_API_TOKEN: SECRET,
    })
  }

  const CRASHES = [
    ['an uncaught exception', `throw new Error('${SECRET}')`, 'uncaught_exception'],
    ['an unhandled rejection', `Promise.reject(new Error('${SECRET}'))`, 'unhandled_rejection'],
    ['a cause', `throw new Error('x', { cause: new Error('${SECRET}') })`, 'uncaught_exception'],
  ] as const

  test('logs each crash as one line without the secret, and exits 1', async () => {
    // one process for all crashes: it exits only after the last
    const { child, output, exited } = await start(`
      let left = ${CRASHES.length}
      const { exit } = process
      process.exit = (code) => { if (--left === 0 || code !== 1) exit(code === 1 ? 1 : 99) }
      process.on('SIGUSR2', () => {
        ${CRASHES.map(([, crash], n) => `setTimeout(() => { ${crash} }, ${n})`).join('\n')}
      })`)
    await until(() => output.out.includes('"name":"public"'))
    child.kill('SIGUSR2')
    expect(await exited).toBe(1)
    expectClean(output, ...CRASHES.map(([, , event]) => event))
  })

  test('logs a crash before the logger exists, too', async () => {
    const { output, exited } = await start(`
      const { argv } = process
      Object.defineProperty(process, 'argv', {
        get() {
          if (new Error().stack.includes('/dist/main.js:')) throw new Error('${SECRET}')
          return argv
        },
      })`)
    expect(await exited).toBe(1)
    expectClean(output, 'uncaught_exception')
  })

  function expectClean({ out, err }: { out: string; err: string }, ...events: string[]) {
    expect(err).toBe('')
    expect(out).not.toContain(SECRET)
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { level: string; event: string })
    expect(lines.filter(({ level }) => level === 'error').map(({ event }) => event)).toEqual(events)
  }
})
