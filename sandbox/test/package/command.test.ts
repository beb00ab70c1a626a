import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, test } from '@jest/globals'
import { z } from 'zod'

/** The command `gatehouse-sandbox`, compiled by `npm run build:all`. */
const COMMAND = 'sandbox/dist/package/main.js'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-sandbox-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function peopleFile(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

function start(args: readonly string[], env: Record<string, string> = {}) {
  return spawn(process.execPath, [COMMAND, ...args], { env: { PATH: process.env.PATH, ...env } })
}

async function run(...[args, env]: Parameters<typeof start>): Promise<{ code: unknown; output: string }> {
  const child = start(args, env)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  return { code, output }
}

const HOOK = 'http://localhost:8080/hooks/org-events'
const badPeople = peopleFile('invalid.json', '[{"login": ""}]')
const badRole = peopleFile('role.json', '{"people": [{"login": "a"}], "groups": {"Auditors": ["end_usr"]}}')
const badOption = peopleFile('port.json', '{"people": [{"login": "a"}], "port": 1}')
test.each<[string, number, string[], string]>([
  ['an unknown flag', 64, ['--brokr'], "Unknown option '--brokr'"],
  [
    'an origin without a broker',
    64,
    ['--allowed-origin', 'http://localhost:5173'],
    '--allowed-origin needs --broker',
  ],
  ['a sign-in page without a broker', 64, ['--sign-in-url', 'http://localhost:5173/'], 'needs --broker'],
  ['an event hook without a secret', 64, ['--event-hook', HOOK], '--event-hook needs --event-hook-secret'],
  ['a secret without an event hook', 64, ['--event-hook-secret', 's'], 'needs --event-hook\n'],
  [
    'an event hook that is no address',
    78,
    ['--event-hook', '/hook', '--event-hook-secret', 's'],
    'eventHook.url: ',
  ],
  ['people that are not valid', 78, ['--people', badPeople], 'people.0.login: '],
  ['an unknown role', 78, ['--people', badRole], 'groups.Auditors.0: Invalid option: expected one of "pam_a'],
  ['a file with other options', 78, ['--people', badOption], '--people: "port" is neither people nor groups'],
  ['a port that is no number', 78, ['--port', '1e3'], '--port: expected a port'],
])('%s exits with %d and says why', async (_, code, args, reason) => {
  const result = await run(args)
  expect(result).toEqual({ code, output: expect.stringContaining(reason) })
})

test('a variable that is not valid is named', async () => {
  const { code, output } = await run([], { SANDBOX_PAM_PORT: '-1' })
  expect([code, output]).toEqual([78, expect.stringContaining('SANDBOX_PAM_PORT: expected a port')])
})

const readyLine = z.strictObject({
  authnUrl: z.url(),
  pamUrl: z.url(),
  brokerUrl: z.url(),
  controlUrl: z.url(),
  apiToken: z.string(),
})

/** Below the ports that the system assigns. */
const PORT = 20_000 + 4 * (process.pid % 2500)

test.each([
  ['--port 0: free ports', 0, undefined],
  ['--port: this port and the two that follow', PORT, [PORT, PORT + 1, PORT + 2]],
])(
  '--json prints one line with the addresses of the running sandbox, which SIGTERM stops. %s',
  async (...[, port, wanted]) => {
    const people = peopleFile(
      'people.json',
      '{"people": [{"login": "ada", "groups": ["Auditors"]}], "groups": {"Auditors": ["end_user"]}}',
    )
    const child = start(['--json', '--broker', '--port', String(port), '--people', people])
    const lines: string[] = []
    const reader = createInterface(child.stdout).on('line', (line) => lines.push(line))
    await once(reader, 'line')
    const { brokerUrl, authnUrl, pamUrl, controlUrl } = readyLine.parse(JSON.parse(lines[0] ?? ''))
    const ports = [brokerUrl, authnUrl, pamUrl].map((url) => Number(new URL(url).port))
    expect(ports).toEqual(wanted ?? ports.filter((each) => each > 1024))
    expect((await fetch(`${brokerUrl}/api/v1/sessions/me`)).status).toBe(404)
    expect(await (await fetch(`${controlUrl}/users`)).json()).toEqual([
      expect.objectContaining({ login: 'ada' }),
    ])
    child.kill('SIGTERM')
    expect(await once(child, 'close')).toEqual([0, null])
    expect(lines).toHaveLength(1)
  },
)

test('--help names every option and every variable', async () => {
  const { code, output } = await run(['--help'])
  expect(code).toBe(0)
  const source = readFileSync('sandbox/src/package/main.ts', 'utf8')
  const afterHelp = source.slice(source.indexOf('const FLAGS'))
  const [, flags = ''] = /const FLAGS = \{(.*?)\n\} as const/s.exec(afterHelp) ?? []
  const options = [...flags.matchAll(/^ {2}'?([\w-]+)'?:/gm)].map(([, name]) => `--${name}`)
  const variables = afterHelp.match(/SANDBOX_[A-Z_]+/g) ?? []
  expect([options.length, new Set(variables).size]).toEqual([10, 6])
  for (const name of [...options, ...variables]) expect(output).toContain(name)
})

test('without --json it prints the addresses and a table of the users, for variables too', async () => {
  const child = start([], {
    SANDBOX_AUTHN_PORT: '0',
    SANDBOX_PAM_PORT: '0',
    SANDBOX_HOSTS: 'first.test, sandbox.test',
  })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  while (!output.includes('hugo.norecovery@example.test')) await once(child.stdout, 'data')
  const [, url] = /^Authentication API {2}(\S+)/m.exec(output) ?? []
  const [answer]: IncomingMessage[] = await once(
    request(`${url}/sandbox/users`, { headers: { host: 'sandbox.test:8081' } }).end(),
    'response',
  )
  expect(answer?.resume().statusCode).toBe(200)
  child.kill('SIGINT')
  expect(await once(child, 'close')).toEqual([0, null])
})
