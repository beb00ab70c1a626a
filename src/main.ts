import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from './config/config.ts'
import { ConfigError } from './config/config-error.ts'
import { loadConfig } from './config/load-config.ts'
import { newKey } from './config/new-key.ts'
import { notesOn } from './config/notes.ts'
import { watchSecretFiles } from './config/watch-secrets.ts'
import { createListener, type Listener } from './http/listener.ts'
import { captureOutput } from './observability/capture-output.ts'
import { createLogger, type Logger } from './observability/logger.ts'
import { parseRedisUrl } from './store/redis-url.ts'

/** EX_CONFIG of sysexits.h: something is wrong with the configuration; starting again will not help. */
const EX_CONFIG = 78
/** EX_USAGE of the same: it was called with what it does not know. */
const EX_USAGE = 64

const say = (text: string) => process.stdout.write(`${text}\n`)
const complain = (text: string) => process.stderr.write(`${text}\n`)

/** Until the broker has a log of its own. */
let log: Logger = createLogger({ level: 'error', maxFieldChars: 1024 })
endOnCrash()
captureOutput({ console, process, log: () => log })
openNoInspector()

const COMMANDS = new Map([
  ['--check-config', checkConfig],
  ['--new-key', () => void say(newKey())],
  ['--help', () => void say(USAGE)],
])

const USAGE = `node dist/main.js                  runs the broker, configured by the environment (docs/configuration.md)
node dist/main.js --check-config   says whether that configuration is sound
node dist/main.js --new-key        makes a key for SECRET_KEYS`

const [argument, ...more] = process.argv.slice(2)
const command = COMMANDS.get(argument ?? '')
if (argument === undefined) await start()
else if (command !== undefined && more.length === 0) command()
else {
  complain(`There is no such argument, or not together with another one. What there is:\n${USAGE}`)
  process.exitCode = EX_USAGE
}

async function start(): Promise<void> {
  const config = configuration()
  if (config !== undefined) await run(config)
}

function checkConfig(): void {
  const config = configuration()
  if (config === undefined) return
  const notes = notesOn(config, { nowMs: Date.now() })
  say(['The configuration is sound.', ...notes.map((note) => `  ${note}`)].join('\n'))
}

function configuration(): Config | undefined {
  try {
    return loadConfig({ env: process.env, parseRedisUrl })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    complain(
      ['The configuration has problems:', ...error.problems.map((problem) => `  ${problem}`)].join('\n'),
    )
    process.exitCode = EX_CONFIG
    return undefined
  }
}

/** Listens until told to stop; then readiness fails first, running requests finish, and everything is let go. */
async function run(config: Config): Promise<void> {
  const { http, secrets } = config.tunables
  const { wire } = await import('./wiring.ts') // most of the start: a command or a refusal does without
  const broker = wire(config)
  const { health } = broker
  log = broker.log
  const watch = watchSecretFiles({ config, log, intervalMs: secrets.checkFilesEveryMs })
  const ops = createListener(broker.ops, http)
  const app = createListener(broker.app, http, broker)

  const stop = async (signal: NodeJS.Signals) => {
    log.info('stopping', { signal })
    health.drain()
    app.retire()
    await pause(http.readinessLeadMs) // the load balancer sees it, and sends new requests elsewhere
    await app.drain(http.shutdownGraceMs - http.readinessLeadMs)
    await ops.drain(0)
    watch.stop()
    await broker.close()
    log.info('stopped')
  }
  let stopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) return
      stopping = true
      stop(signal).then(
        () => process.exit(0), // what a library still holds open must not keep a stopped broker alive
        (error: unknown) => {
          log.error('stop_failed', {}, error)
          process.exit(1)
        },
      )
    })
  }

  await listen('ops', ops, config.ops)
  await listen('public', app, config.listen)
}

async function listen(name: string, listener: Listener, { port, host }: Config['listen']): Promise<void> {
  try {
    log.info('listening', { name, port: await listener.listen(port, host), host })
  } catch (error) {
    log.error('cannot_listen', { name, port, host }, error)
    process.exit(1) // the store's connection would keep the process alive
  }
}

/** From the first moment on: what Node itself prints of a crash is its message, and messages quote what they were given. */
function endOnCrash(): void {
  for (const [crash, event] of [
    ['uncaughtException', 'uncaught_exception'],
    ['unhandledRejection', 'unhandled_rejection'],
  ] as const) {
    process.on(crash, (error: unknown) => {
      log.error(event, {}, error)
      process.exit(1) // as Node would, had nobody listened: what is left is in no known state
    })
  }
}

/**
 * Node opens an inspector at SIGUSR1, which gives its client everything that this process holds; a listener of our own
 * takes its place. The image has `--disable-sigusr1` too, which works from the first moment on, but is not in Node 20.
 */
function openNoInspector(): void {
  process.on('SIGUSR1', (signal) => log.warn('signal_ignored', { signal }))
}
