import { PassThrough } from 'node:stream'
import { describe, expect, test } from '@jest/globals'
import { isNamed, parseOptions } from '../../src/prove/options.ts'
import { createTerminal } from '../../src/prove/terminal.ts'

const ENV = { PROVE_ORG_URL: 'https://trial-1.okta.example', PROVE_API_TOKEN: 'not-a-real-token' }
const TEST_ORG = '--this-is-a-test-org'
const IDS = ['R1.own-email', 'R12', 'S6']
const parse = (args: string[], env: Record<string, string | undefined> = ENV) => parseOptions(args, env, IDS)

test('the org, its token and the defaults', () => {
  expect(parse([TEST_ORG])).toEqual({
    kind: 'run',
    options: {
      sandbox: false,
      org: { url: 'https://trial-1.okta.example', apiToken: 'not-a-real-token', brokerToken: undefined },
      pam: undefined,
      output: 'gatehouse-proof',
      phone: undefined,
      mailDomain: undefined,
      portalOrigin: undefined,
      eventHook: undefined,
      callsPerMinute: 200,
      only: [],
      withPerson: false,
      clean: false,
    },
  })
})

test('a sandbox needs no variable', () => {
  expect(parse(['--sandbox', '--only', 'R1'], {})).toMatchObject({
    kind: 'run',
    options: { sandbox: true, org: undefined, only: ['R1'] },
  })
})

test('a PAM team', () => {
  const pam = {
    PROVE_PAM_BASE_URL: 'https://team.pam.example',
    PROVE_PAM_TEAM: 'team',
    PROVE_PAM_KEY_ID: 'id',
    PROVE_PAM_KEY_SECRET: 'secret',
  }
  expect(parse([TEST_ORG], { ...ENV, ...pam })).toMatchObject({
    options: { pam: { url: 'https://team.pam.example', team: 'team', keyId: 'id', user: undefined } },
  })
})

describe('refused, with the name of the field and without its value', () => {
  const SECRET = 'secret-value'
  test.each([
    [[], ENV, '--this-is-a-test-org is missing'],
    [[TEST_ORG], { ...ENV, PROVE_ORG_URL: undefined }, 'PROVE_ORG_URL'],
    [[TEST_ORG], { ...ENV, PROVE_ORG_URL: `https://okta.example/${SECRET}` }, 'PROVE_ORG_URL'],
    [[TEST_ORG], { ...ENV, PROVE_ORG_URL: `http://${SECRET}.example` }, 'PROVE_ORG_URL'],
    [[TEST_ORG], { ...ENV, PROVE_API_TOKEN: '' }, 'PROVE_API_TOKEN'],
    [[TEST_ORG], { ...ENV, PROVE_API_TOKEN: `${SECRET} ${SECRET}` }, 'PROVE_API_TOKEN'],
    [[TEST_ORG], { ...ENV, PROVE_PAM_KEY_SECRET: SECRET }, 'PROVE_PAM_TEAM'],
    [[TEST_ORG, '--phone', SECRET], ENV, '--phone'],
    [[TEST_ORG, '--mail-domain', `me@${SECRET}`], ENV, '--mail-domain'],
    [[TEST_ORG, '--portal-origin', `https://x.example/${SECRET}`], ENV, '--portal-origin'],
    [[TEST_ORG, '--event-hook-url', `https://x.example/${SECRET}`], ENV, '--event-hook-url'],
    [[TEST_ORG, '--calls-per-minute', '201'], ENV, '--calls-per-minute'],
    [[TEST_ORG, '--calls-per-minute', '9'], ENV, '--calls-per-minute'],
    [[TEST_ORG, '--event-hook-port', SECRET], ENV, '--event-hook-port'],
    [[TEST_ORG, '--only', 'R99'], ENV, '--only'],
    [['--sandbox', '--clean'], ENV, '--clean'],
    [[TEST_ORG, '--unknown'], ENV, '--unknown'],
  ])('%j', (args, env, name) => {
    const parsed = parse(args, env)
    const problems = parsed.kind === 'wrong' ? parsed.problems.join('\n') : ''
    expect(problems).toContain(name)
    expect(problems).not.toContain(SECRET)
  })
})

test('all problems are named at once', () => {
  expect(parse(['--phone', '1'], {})).toMatchObject({ kind: 'wrong', problems: { length: 4 } })
})

test('http is for this machine', () => {
  const env = { ...ENV, PROVE_ORG_URL: 'http://127.0.0.1:8081' }
  expect(parse([TEST_ORG], env)).toMatchObject({ options: { org: { url: 'http://127.0.0.1:8081' } } })
})

test.each([
  ['R1.own-email', 'R1', true],
  ['R12', 'R1', false],
  ['S6', 'S6', true],
])('--only: %s by %s: %s', (id, name, expected) => {
  expect(isNamed(id, name)).toBe(expected)
})

describe('questions on the terminal', () => {
  function start() {
    const input = new PassThrough()
    const abort = new AbortController()
    const options = { input, output: new PassThrough(), signal: abort.signal, onInterrupt: () => {} }
    return { input, abort, terminal: createTerminal(options) }
  }

  test('an answer, then the end of the input: nothing is asked any more', async () => {
    const { input, terminal } = start()
    const first = terminal.ask('Code? ')
    input.write(' 123456 \n')
    expect(await first).toBe('123456')
    const second = terminal.ask('Code? ')
    input.end()
    expect([await second, await terminal.ask('Code? ')]).toEqual(['', ''])
  })

  test('an interruption ends the question', async () => {
    const { abort, terminal } = start()
    const asked = terminal.ask('Code? ')
    abort.abort()
    await expect(asked).rejects.toThrow(/abort/i)
    terminal.close()
  })
})
