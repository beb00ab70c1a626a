import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type Ask, askPort } from '../http/serve.ts'
import { type BrokerDirectory, makeBrokerDirectory } from '../support/broker-process.ts'
import { generousLimits } from '../support/generous-limits.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { trafficOf } from '../support/recorded-traffic.ts'
import { createSecretScanner, withoutNumbers } from '../support/secret-scanner.ts'
import { until } from '../support/until.ts'

/**
 * Secrets do not reach logs, Redis or responses: the harness's own search for secrets, crashes, and forged log lines.
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

  test('finds nothing in a clean harness', () => expect(runJourney(() => {})).resolves.toBeUndefined())

  test.each([
    ['a token', inRedis(({ sandbox }) => `x${sandbox.tokensIssued()[0]}x`)],
    ['a token in base64', inRedis(({ sandbox }) => btoa(sandbox.tokensIssued()[0] ?? ''))],
    ['an API token', inRedis(({ sandbox }) => sandbox.apiToken)],
    ['a password', inRedis(() => JSON.stringify({ deep: PASSWORD }))],
    ['a login, percent-encoded', inRedis(() => encodeURIComponent(AMELIA))],
    ['a first name', inRedis(() => '{"name":"Amelia"}')],
    [
      'a token that was deleted at once',
      async (harness: Harness) => {
        await inRedis(({ sandbox }) => sandbox.tokensIssued()[0] ?? '')(harness)
        await harness.redis.client().del('gatehouse:planted')
      },
    ],
    [
      'a token from before a reset of the sandbox',
      async (harness: Harness) => {
        await inRedis(({ sandbox }) => sandbox.tokensIssued()[0] ?? '')(harness)
        harness.sandbox.reset()
      },
    ],
    [
      'a token in a response',
      ({ gatehouse, sandbox }: Harness) =>
        trafficOf(gatehouse.url).received.push(`location: /x?token=${sandbox.tokensIssued()[0]}`),
    ],
  ])('finds %s', async (_, plant) => {
    await expect(runJourney(plant)).rejects.toThrow('found a secret in')
  })

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

test('a number that looks like a code is no finding: in JSON, in a rate-limit header, in a metric', () => {
  const marks = createSecretScanner()
  marks.add('918273')
  const found = (text: string) => marks.findIn(withoutNumbers(text))
  expect(
    found(
      ['x-rate-limit-remaining: 918273', '["burst",918273,60]', '{"at":918273}', 'calls{a="b"} 918273'].join(
        '\n',
      ),
    ),
  ).toEqual([])
  for (const leak of [
    '{"passCode":"918273"}',
    'set gatehouse:x 918273',
    'x-code: 918273',
    'calls{code="918273"} 1',
  ])
    expect(found(leak)).toEqual(['918273'])
})

describe('a broker process that crashes', () => {
  const SECRET = 'plainly-marked-secret-5d1c'
  let harness: Harness
  let home: BrokerDirectory
  let folder: string
  beforeAll(async () => {
    harness = await startHarness()
    home = await makeBrokerDirectory()
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-crash-'))
  })
  afterAll(async () => {
    await home.remove()
    await harness.stop()
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

  const frames = `new Error('${SECRET}\\n    at ${SECRET} (file:///${SECRET}:1:1)')`

  const CRASHES = [
    ['an uncaught exception', `throw new Error('${SECRET}')`, 'uncaught_exception'],
    ['an unhandled rejection', `Promise.reject(new Error('${SECRET}'))`, 'unhandled_rejection'],
    ['a thrown string', `throw '${SECRET}'`, 'uncaught_exception'],
    ['a cause', `throw new Error('x', { cause: new Error('${SECRET}') })`, 'uncaught_exception'],
    ['a message that looks like a stack', `throw ${frames}`, 'uncaught_exception'],
    ['a field', `throw Object.assign(new Error('x'), { url: '${SECRET}' })`, 'uncaught_exception'],
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
          if (new Error().stack.includes('/build/main.js:')) throw new Error('${SECRET}')
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

describe('a client that tries to forge log lines', () => {
  const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)
  const MAX_LINE_CHARS = 4096
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness({
      env: { TRUST_PROXY: '127.0.0.1/32,::1/128' },
      tunables: (tunables) =>
        generousLimits({ ...tunables, recovery: { ...tunables.recovery, recoveryAnswerMs: 1 } }),
    })
  })
  afterAll(() => harness.stop())

  const forged = '\n{"level":"error","event":"forged"}\n'
  /** Like the unit `binary`, which needs half a second to build its table for shrinking. */
  const unit = fc.integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point))
  const nasty = fc.oneof(
    fc.string({ unit, maxLength: 400 }),
    fc.constantFrom(
      forged,
      '\u2028{"event":"forged"}\u2029',
      '\u001b[2K',
      '\u0085',
      '\ud800',
      '"}',
      '%0a%0d',
      '\u202e',
    ),
    fc.integer({ min: 1, max: 1_000_000 }).map((length) => 'x'.repeat(length)),
  )
  /** Header values that HTTP allows. */
  const header = nasty.map((text) => text.replace(/[^\t\u0020-\u007e\u0080-\u00ff]/g, '?').slice(0, 9000))
  const asked: fc.Arbitrary<Ask> = fc
    .record({
      username: nasty,
      path: fc.oneof(
        fc.constantFrom('/api/v1/authn', '/api/v1/authn/recovery/password', '/api/v1/sessions/me'),
        nasty.map((text) => `/${encodeURIComponent(Buffer.from(text).toString()).slice(0, 12_000)}`),
      ),
      agent: header,
      requestId: header,
      fingerprint: header,
      address: header,
    })
    .map(({ username, path, agent, requestId, fingerprint, address }) => ({
      method: 'POST',
      path,
      headers: {
        'content-type': 'application/json',
        'sec-fetch-site': 'same-origin',
        ...pickOne(username.length, {
          'user-agent': agent,
          'x-request-id': requestId,
          'x-device-fingerprint': fingerprint,
          'x-forwarded-for': address,
          traceparent: requestId,
        }),
      },
      body: JSON.stringify({ username, password: username, factorType: 'EMAIL' }),
    }))

  test(`writes no line of its own and no long line (FUZZ_SEED=${seed})`, async () => {
    const port = Number(new URL(harness.gatehouse.url).port)
    await fc.assert(
      fc.asyncProperty(asked, async (ask) => {
        const answer = await askPort(port, ask).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') throw error
          return undefined // refused before all of it was sent: too large
        })
        if (answer !== undefined) expect(answer.status).toBeLessThan(500)
      }),
      { numRuns: 300, seed, endOnFailure: true },
    )
    const text = harness.gatehouse.logText()
    const lines = text.split('\n').slice(0, -1)
    expect(lines.length).toBeGreaterThan(200)
    for (const line of lines) {
      expect(line.length).toBeLessThan(MAX_LINE_CHARS)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the test checks that none is there
      expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/)
      expect(JSON.parse(line)).toMatchObject({ event: expect.stringMatching(/^[a-z_]+$/) })
      expect(line).not.toContain('"event":"forged"')
    }
  })

  /** Only one of the headers in each request, because the total size of headers is limited. */
  function pickOne(at: number, headers: Readonly<Record<string, string>>): Record<string, string> {
    const [entry] = Object.entries(headers).slice(at % Object.keys(headers).length)
    return entry === undefined ? {} : { [entry[0]]: entry[1] }
  }
})
