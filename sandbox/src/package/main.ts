#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { SandboxConfig } from '../sandbox-config.ts'
import { usersTable } from '../users-table.ts'
import type { RunOptions } from './run-sandbox.ts'
import type { Sandbox, SandboxWithBroker } from './sandbox-api.ts'
import { InvalidSandboxOptions, parseOptions } from './sandbox-options.ts'

/** Exit codes of sysexits.h. */
const EX_USAGE = 64
const EX_CONFIG = 78

const USAGE = `gatehouse-sandbox [options]   simulates Okta's classic Authentication API and the PAM API (docs/sandbox.md)

  --broker                   also runs Gatehouse, for your sign-in page
  --port <port>              the first port; the others follow it. With --broker, Gatehouse has it (default 8080), then come the
                             Authentication API and the PAM API; without, the Authentication API has it (default 8081)
  --people <file>            replaces the users: JSON, an array of people or {"people": […], "groups": {…}}
  --public-url <origin>      with --broker: your portal's origin, if its server passes /api on to Gatehouse
  --sign-in-url <url>        with --broker: your sign-in page, to which emails lead (default: / of --public-url)
  --allowed-origin <origin>  with --broker: an origin whose pages call Gatehouse directly; repeatable
  --event-hook <url>         the receiver of the org's events (default, with --broker: Gatehouse)
  --event-hook-secret <text> with --event-hook: the value of the header Authorization
  --json                     prints the addresses as one line of JSON
  --help                     prints this text

--port 0 chooses free ports for all. Variables: SANDBOX_AUTHN_PORT, SANDBOX_PAM_PORT, SANDBOX_HOST (address to listen on),
SANDBOX_HOSTS (further names of this host, comma-separated), SANDBOX_CONFIG (a changed copy of sandbox/sandbox.json),
SANDBOX_PAM_LINK_ORIGIN (origin of pagination links). Exit codes: 64 unknown option, 78 invalid value.`

const FLAGS = {
  broker: { type: 'boolean' },
  port: { type: 'string' },
  people: { type: 'string' },
  'public-url': { type: 'string' },
  'sign-in-url': { type: 'string' },
  'allowed-origin': { type: 'string', multiple: true },
  'event-hook': { type: 'string' },
  'event-hook-secret': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const

/** Flags that have no effect without another one. */
const NEEDS: Readonly<Record<string, string>> = {
  'public-url': 'broker',
  'sign-in-url': 'broker',
  'allowed-origin': 'broker',
  'event-hook': 'event-hook-secret',
  'event-hook-secret': 'event-hook',
}

type Flags = ReturnType<typeof parseArgs<{ options: typeof FLAGS }>>['values']

const print = (text: string) => process.stdout.write(`${text}\n`)

/** Runs the sandbox until SIGTERM or SIGINT. */
async function main(flags: Flags, env: NodeJS.ProcessEnv): Promise<void> {
  const options = runOptions(flags, env)
  // takes most of the start time, so mistakes are reported first
  const { runSandbox } = await import('./run-sandbox.ts')
  const sandbox = await runSandbox(options)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void sandbox.stop())
  print(flags.json ? readyLine(sandbox, options.config) : readyText(sandbox, options.config))
}

function runOptions(flags: Flags, env: NodeJS.ProcessEnv): RunOptions {
  const url = flags['event-hook']
  const { config, broker, eventHook } = parseOptions({
    ...(flags.people === undefined ? {} : readPeople(flags.people)),
    ...(env.SANDBOX_CONFIG ? { configFile: env.SANDBOX_CONFIG } : {}),
    eventHook: url && { url, secret: flags['event-hook-secret'] },
    broker: flags.broker && {
      publicUrl: flags['public-url'],
      signInUrl: flags['sign-in-url'],
      allowedOrigins: flags['allowed-origin'],
      onLog: (line: string) => process.stderr.write(`${line}\n`),
    },
  })
  const first = portFrom('--port', flags.port) ?? (broker ? 8080 : 8081)
  const authnPort = broker ? portAfter(first) : first
  const authn = portFrom('SANDBOX_AUTHN_PORT', env.SANDBOX_AUTHN_PORT) ?? authnPort
  const pam = portFrom('SANDBOX_PAM_PORT', env.SANDBOX_PAM_PORT) ?? portAfter(authnPort)
  return {
    config: withEnvironment(config, env),
    broker,
    eventHook,
    ports: broker ? { authn, pam, broker: first } : { authn, pam },
    ...(env.SANDBOX_HOST ? { host: env.SANDBOX_HOST } : {}),
  }
}

function readPeople(path: string): object {
  const data = readJson(path)
  const options: unknown = Array.isArray(data) ? { people: data } : data
  if (typeof options !== 'object' || options === null)
    throw new InvalidSandboxOptions('--people: expected an array, or an object with people')
  const other = Object.keys(options).find((key) => key !== 'people' && key !== 'groups')
  if (other !== undefined)
    throw new InvalidSandboxOptions(`--people: "${other}" is neither people nor groups`)
  return options
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    throw new InvalidSandboxOptions(`--people: ${path} cannot be read or is not JSON`)
  }
}

/**
 * Behind a TLS proxy, pagination links must have the proxy's origin. The PAM sandbox validates the
 * value.
 */
function withEnvironment(config: SandboxConfig, env: NodeJS.ProcessEnv): SandboxConfig {
  const { SANDBOX_PAM_LINK_ORIGIN: linkOrigin, SANDBOX_HOSTS } = env
  const hosts = SANDBOX_HOSTS ? SANDBOX_HOSTS.split(',').map((name) => name.trim()) : config.hosts
  return { ...config, hosts, ...(linkOrigin ? { pam: { ...Object(config.pam), linkOrigin } } : {}) }
}

function portFrom(name: string, value: string | undefined): number | undefined {
  if (!value) return undefined
  const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN
  if (!(port <= 65_535)) throw new InvalidSandboxOptions(`${name}: expected a port from 0 to 65535`)
  return port
}

/** Port 0 stays: a free port. */
const portAfter = (port: number) => (port === 0 ? 0 : port + 1)

function readyLine({ control: _, stop: __, ...urls }: Sandbox | SandboxWithBroker, config: SandboxConfig) {
  const controlUrl = `${urls.authnUrl}/sandbox`
  return JSON.stringify({ ...urls, controlUrl, apiToken: config.apiTokens[0] })
}

function readyText(sandbox: Sandbox | SandboxWithBroker, { users, apiTokens }: SandboxConfig): string {
  const { authnUrl, pamUrl } = sandbox
  return `
${'brokerUrl' in sandbox ? `Gatehouse           ${sandbox.brokerUrl}\n` : ''}Authentication API  ${authnUrl}   API token: ${apiTokens[0]}
PAM API             ${pamUrl}
Codes, emails and pushes: ${authnUrl}/sandbox/users and /sandbox/outbox (docs/sandbox.md)

${usersTable(users)}
`
}

/** The reason if the arguments are not valid. */
function parseFlags(): Flags | string {
  try {
    const flags = parseArgs({ options: FLAGS }).values
    const missing = Object.entries(NEEDS).find(([name, other]) => name in flags && !(other in flags))
    return missing === undefined ? flags : `--${missing.join(' needs --')}`
  } catch (error) {
    return error instanceof Error ? error.message : 'unknown argument'
  }
}

const flags = parseFlags()
if (typeof flags === 'string') {
  process.stderr.write(`${flags}\n\n${USAGE}\n`)
  process.exitCode = EX_USAGE
} else if (flags.help) print(USAGE)
else {
  try {
    await main(flags, process.env)
  } catch (error) {
    process.stderr.write(
      `The sandbox did not start: ${error instanceof Error ? error.message : 'unknown error'}\n`,
    )
    process.exitCode = error instanceof InvalidSandboxOptions ? EX_CONFIG : 1
  }
}
