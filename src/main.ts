import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { ConfigError } from './config/config-error.ts'
import { listenVariable } from './config/listen-variable.ts'
import { type Config, loadConfig } from './config/load-config.ts'
import { configNotes } from './config/notes.ts'
import { generateKey } from './config/secret-values.ts'
import { createListener, type Listener } from './http/listener.ts'
import { captureOutput } from './observability/capture-output.ts'
import { createLogger, type Logger } from './observability/logger.ts'
import { VERSION } from './observability/version.ts'

/** As in sysexits.h. */
const EX_USAGE = 64

const DOCTOR_LIMIT_MS = 29_000

const print = (text: string) => process.stdout.write(`${text}\n`)
const printError = (text: string) => process.stderr.write(`${text}\n`)

/** For the time before the configuration is loaded. */
let log: Logger = createLogger({ level: 'error' })
exitOnCrash()
captureOutput({ console, process, log: () => log })
// At SIGUSR1, Node opens an inspector, which exposes the memory of the process; this listener
// prevents it. The image also has `--disable-sigusr1`, which takes effect earlier but does not
// exist in Node 20.
process.on('SIGUSR1', (signal) => log.warn('signal_ignored', { signal }))

const USAGE = `node dist/main.js                  runs the broker, configured by the environment (docs/configuration.md)
node dist/main.js --check-config   validates the configuration and exits
node dist/main.js --doctor [--login <login> [--password-stdin]] [--json]
                                   checks the configuration and everything around the broker (docs/operations.md#doctor)
node dist/main.js --new-key        prints a new key for SECRET_KEYS
node dist/main.js --login-hash <login>
                                   prints the loginHash by which logs name a login
node dist/main.js --version        prints the version
node dist/main.js --help           prints this text`

const COMMANDS = new Map<string, () => void>([
  ['--check-config', checkConfig],
  ['--new-key', () => print(generateKey())],
  ['--version', () => print(`gatehouse ${VERSION}`)],
  ['--help', () => print(USAGE)],
])

const [argument, ...more] = process.argv.slice(2)
const command = COMMANDS.get(argument ?? '')
const doctorOptions = argument === '--doctor' ? doctorOptionsFrom(more) : undefined
if (argument === undefined) await start()
else if (doctorOptions !== undefined) await runDoctorCommand(doctorOptions)
else if (command !== undefined && more.length === 0) command()
else if (argument === '--login-hash' && more[0] && more.length === 1) await printLoginHash(more[0])
else {
  printError(`Unknown or conflicting argument. Usage:\n${USAGE}`)
  process.exitCode = EX_USAGE
}

function checkConfig(): void {
  const notes = configNotes(configuration(), process.env)
  print(['The configuration is valid.', ...notes.map((note) => `  ${note}`)].join('\n'))
}

async function printLoginHash(login: string): Promise<void> {
  const config = configuration()
  const { createLoginHash } = await import('./login-names.ts')
  print(createLoginHash(config.secretKeys.value, config.authn.loginDomains)(login))
}

/** Undefined if the arguments are not valid. */
function doctorOptionsFrom(args: string[]) {
  try {
    const flag = { type: 'boolean' } as const
    const options = { login: { type: 'string' }, 'password-stdin': flag, json: flag } as const
    const { values } = parseArgs({ args, options })
    return values['password-stdin'] && values.login === undefined ? undefined : values
  } catch {
    return undefined // the usage is printed
  }
}

async function runDoctorCommand({
  login,
  json,
  ...command
}: NonNullable<typeof doctorOptions>): Promise<void> {
  const config = configuration()
  // if nothing reads the output, for example
  setTimeout(() => process.exit(1), DOCTOR_LIMIT_MS).unref()
  const [{ runDoctor }, { exitCodeOf, toJson, toText }] = await Promise.all([
    import('./doctor/doctor.ts'),
    import('./doctor/report.ts'),
  ])
  const password = command['password-stdin'] ? await readPassword() : undefined
  if (password === '') {
    printError('There is no password on standard input.')
    process.exit(EX_USAGE)
  }
  const results = await runDoctor(config, { login, password })
  const report = json === true ? toJson(results) : toText(results)
  // whatever hangs must not keep it alive
  process.stdout.write(`${report}\n`, () => process.exit(exitCodeOf(results)))
}

/**
 * Without the line break at its end. An argument or a variable would show it to other processes.
 */
async function readPassword(): Promise<string> {
  return (await text(process.stdin)).replace(/\r?\n$/, '')
}

function configuration(): Config {
  try {
    return loadConfig(process.env)
  } catch (error) {
    return exitIfInvalid(error)
  }
}

/** Prints the problems of a configuration that is not valid, and exits. Throws any other error. */
function exitIfInvalid(error: unknown): never {
  if (!(error instanceof ConfigError)) throw error
  printError(error.message)
  process.exit(error.exitCode)
}

/**
 * Runs the broker until a signal stops it. Then readiness fails first, requests in flight finish,
 * and all connections close.
 */
async function start(): Promise<void> {
  const config = configuration()
  const { http } = config.tunables
  // takes most of the start time, so commands and invalid configurations skip it
  const { createGatehouse } = await import('./wiring.ts')
  const { collectProcessMetrics } = await import('./observability/metrics.ts')
  const broker = createGatehouse(config, config.tracing && (await import('./observability/tracing.ts')))
  collectProcessMetrics(broker.metrics)
  log = broker.log
  log.info('configured', { revision: config.revision, variables: config.variables.join() })
  const ops = createListener(broker.ops, http)
  const app = createListener(broker.app, http, broker)

  stopOnSignal(async () => {
    broker.health.drain()
    // the load balancer notices and sends new requests elsewhere
    await app.drain(http.shutdownGraceMs - http.readinessLeadMs, http.readinessLeadMs)
    await ops.drain(0)
    await broker.close()
  })
  await listen('ops', ops, config.ops)
  // with a wrong key, the device cookies of all visitors would be replaced
  await broker.health.started.catch(exitIfInvalid)
  await listen('public', app, config.listen)
}

function stopOnSignal(stop: () => Promise<void>): void {
  let isStopping = false
  const onSignal = async (signal: NodeJS.Signals) => {
    if (isStopping) return
    isStopping = true
    log.info('stopping', { signal })
    try {
      await stop()
      log.info('stopped')
      process.exit(0) // handles that a library still has open must not keep the process alive
    } catch (error) {
      log.error('stop_failed', {}, error)
      process.exit(1)
    }
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal)
}

async function listen(
  name: 'public' | 'ops',
  listener: Listener,
  { port, host }: Config['listen'],
): Promise<void> {
  try {
    log.info('listening', { name, port: await listener.listen(port, host), host })
  } catch (error) {
    log.error('listen_failed', { name, port, host, variables: listenVariable(name, error) }, error)
    process.exit(1) // the store's connection would keep the process alive
  }
}

/** Node would print the message of the error, and messages may quote input. */
function exitOnCrash(): void {
  for (const [crash, event] of [
    ['uncaughtException', 'uncaught_exception'],
    ['unhandledRejection', 'unhandled_rejection'],
  ] as const) {
    process.on(crash, (error: unknown) => {
      log.error(event, {}, error)
      process.exit(1) // as Node does by default: the state of the process is unknown
    })
  }
}
