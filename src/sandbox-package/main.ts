#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { SandboxConfig } from '../sandbox/sandbox-config.ts'
import { usersTable } from '../sandbox/users-table.ts'
import type { RunOptions } from './run-sandbox.ts'
import type { Sandbox, SandboxWithBroker } from './sandbox-api.ts'
import { InvalidSandboxOptions, parseOptions } from './sandbox-options.ts'

/** Exit codes of sysexits.h. */
const EX_USAGE = 64
const EX_CONFIG = 78

const USAGE = `gatehouse-sandbox [options]   simulates Okta's classic Authentication API and the PAM API (docs/sandbox.md)

  --broker                   also runs Gatehouse, for your sign-in page
  --port <port>              port of Gatehouse (default 8080) or, without --broker, of the Authentication API (8081)
  --people <file>            replaces the users: JSON, an array of people or {"people": […], "groups": {…}}
  --public-url <origin>      with --broker: your portal's origin, if its server passes /api on to Gatehouse
  --allowed-origin <origin>  with --broker: an origin whose pages call Gatehouse directly; repeatable
  --json                     prints the addresses as one line of JSON
  --help                     prints this text

--port 0 chooses free ports for all.`

const FLAGS = {
  broker: { type: 'boolean' },
  port: { type: 'string' },
  people: { type: 'string' },
  'public-url': { type: 'string' },
  'allowed-origin': { type: 'string', multiple: true },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const

type Flags = ReturnType<typeof parseArgs<{ options: typeof FLAGS }>>['values']

const print = (text: string) => process.stdout.write(`${text}\n`)

/** Runs the sandbox until SIGTERM or SIGINT. */
async function main(flags: Flags, env: NodeJS.ProcessEnv): Promise<void> {
  const options = runOptions(flags, env)
  const { runSandbox } = await import('./run-sandbox.ts') // takes most of the start time, so mistakes are reported first
  const sandbox = await runSandbox(options)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void sandbox.stop())
  print(flags.json ? readyLine(sandbox, options.config) : readyText(sandbox, options.config))
}

function runOptions(flags: Flags, env: NodeJS.ProcessEnv): RunOptions {
  const { config, broker } = parseOptions({
    ...(flags.people === undefined ? {} : readPeople(flags.people)),
    ...(env.SANDBOX_CONFIG ? { configFile: env.SANDBOX_CONFIG } : {}),
    broker: flags.broker && {
      publicUrl: flags['public-url'],
      allowedOrigins: flags['allowed-origin'],
      onLog: (line: string) => process.stderr.write(`${line}\n`),
    },
  })
  const port = portFrom('--port', flags.port)
  const authn = portFrom('SANDBOX_AUTHN_PORT', env.SANDBOX_AUTHN_PORT) ?? (port === 0 ? 0 : 8081)
  const pam = portFrom('SANDBOX_PAM_PORT', env.SANDBOX_PAM_PORT) ?? (port === 0 ? 0 : 8082)
  return {
    config: withEnvironment(config, env),
    broker,
    ports: broker ? { authn, pam, broker: port ?? 8080 } : { authn: port ?? authn, pam },
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

/** Behind a TLS proxy, pagination links must have the proxy's origin. The PAM sandbox validates the value. */
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
    const needsBroker = flags['public-url'] !== undefined || flags['allowed-origin'] !== undefined
    return needsBroker && !flags.broker ? '--public-url and --allowed-origin need --broker' : flags
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
