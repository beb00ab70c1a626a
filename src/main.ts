import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from './config/config.ts'
import { ConfigError } from './config/config-error.ts'
import { loadConfig } from './config/load-config.ts'
import { newKey } from './config/new-key.ts'
import { watchSecretFiles } from './config/watch-secrets.ts'
import { createListener } from './http/listener.ts'
import { parseRedisUrl } from './store/redis-url.ts'
import { wire } from './wiring.ts'

/** EX_CONFIG of sysexits.h: something is wrong with the configuration; starting again will not help. */
const EX_CONFIG = 78

const say = (text: string) => process.stdout.write(`${text}\n`)
const complain = (text: string) => process.stderr.write(`${text}\n`)

if (process.argv.includes('--new-key')) say(newKey())
else await start()

async function start(): Promise<void> {
  const config = configuration()
  if (config === undefined) return
  if (process.argv.includes('--check-config')) {
    say('The configuration is sound.')
    return
  }
  await run(config)
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
  const broker = wire(config)
  const { log, health } = broker
  const watch = watchSecretFiles({ config, log, intervalMs: secrets.checkFilesEveryMs })
  const ops = createListener(broker.ops, http)
  const app = createListener(broker.app, http)

  process.on('uncaughtException', (error) => {
    log.error('uncaught_exception', {}, error)
    process.exit(1)
  })
  process.on('unhandledRejection', (error) => {
    log.error('unhandled_rejection', {}, error)
    process.exit(1)
  })

  const stop = async (signal: NodeJS.Signals) => {
    log.info('stopping', { signal })
    health.drain()
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
        () => process.exit(0),
        (error: unknown) => {
          log.error('stop_failed', {}, error)
          process.exit(1)
        },
      )
    })
  }

  try {
    log.info('listening', { name: 'ops', port: await ops.listen(config.ops.port, config.ops.host) })
    log.info('listening', { name: 'public', port: await app.listen(config.listen.port, config.listen.host) })
  } catch (error) {
    log.error('cannot_listen', {}, error)
    process.exit(1)
  }
}
