import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { PassThrough } from 'node:stream'
import { defaultTunables, loadConfig } from '../../src/config/load-config.ts'
import type { Tunables } from '../../src/config/tunables.ts'
import { watchSecretFiles } from '../../src/config/watch-secrets.ts'
import { createListener } from '../../src/http/listener.ts'
import { parseRedisUrl } from '../../src/store/redis-url.ts'
import { createGatehouse } from '../../src/wiring.ts'
import { checkAuditLines } from './audit-lines.ts'

/** A complete broker in this process, from configuration to listener. */
export interface Gatehouse {
  /** PUBLIC_URL. */
  readonly url: string
  readonly opsUrl: string
  /** Every log line so far, as text. */
  logText(): string
  logLines(): Record<string, unknown>[]
  metrics(): Promise<string>
  /** As `main` does at start; otherwise the broker calls Okta and PAM only for requests. */
  watchUpstreams(): void
  /** Throws if an audit line did not match its schema. */
  stop(): Promise<void>
}

export interface GatehouseOptions {
  readonly env: Record<string, string>
  readonly tunables?: (tunables: Tunables) => Tunables
  readonly now?: () => number
}

/**
 * The shipped tunables with long timeouts for the store and for clients, and without load shedding, so that a busy machine does not
 * fail a test. Tests of an unreachable store or of slow clients set their own timeouts.
 */
export function patientTunables(): Tunables {
  const tunables = defaultTunables()
  const { load } = tunables.http
  const never = { sign_in: 3_600_000, recovery: 3_600_000, session: 3_600_000, pam: 3_600_000 }
  return {
    ...tunables,
    transaction: { ...tunables.transaction, pollEveryMs: 100 }, // only few tests concern poll pacing
    limits: { ...tunables.limits, signInsPerUser: { attempts: 10_000, perSeconds: 1 } }, // or the pacing of sign-ins
    http: {
      ...tunables.http,
      headersTimeoutMs: 60_000,
      requestTimeoutMs: 90_000,
      load: { ...load, maxLagMs: never },
    },
    store: { connectTimeoutMs: 30_000, commandTimeoutMs: 30_000 },
  }
}

export const TEST_KEY = Buffer.alloc(32, 'plainly-fake-test-key').toString('base64')

/** `env` overrides a small valid configuration with the embedded store. */
export async function startGatehouse({
  env,
  tunables = (same) => same,
  now,
}: GatehouseOptions): Promise<Gatehouse> {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const config = loadConfig({
    env: {
      PUBLIC_URL: url,
      AUTHN_API_TOKEN: 'plainly-fake-ssws-token',
      REDIS_URL: 'memory:',
      SECRET_KEYS: TEST_KEY,
      LOG_LEVEL: 'debug',
      ...env,
    },
    parseRedisUrl,
    tunables: tunables(patientTunables()),
  })
  const logStream = new PassThrough()
  const chunks: string[] = []
  logStream.on('data', (chunk: Buffer) => chunks.push(chunk.toString('utf8')))

  const broker = createGatehouse(config, { logStream, ...(now === undefined ? {} : { now }) })
  const intervalMs = config.tunables.secrets.checkFilesEveryMs
  const watch = watchSecretFiles({ config, log: broker.log, intervalMs })
  const app = createListener(broker.app, config.tunables.http, broker)
  const ops = createListener(broker.ops, config.tunables.http)
  await app.listen(port, '127.0.0.1')
  const opsUrl = `http://127.0.0.1:${await ops.listen(0, '127.0.0.1')}`

  const logLines = () =>
    chunks
      .join('')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)

  return {
    url,
    opsUrl,
    logText: () => chunks.join(''),
    logLines,
    async metrics() {
      return (await fetch(`${opsUrl}/metrics`)).text()
    },
    watchUpstreams: broker.watchUpstreams,
    async stop() {
      await app.drain(0)
      await ops.drain(0)
      watch.stop()
      await broker.close()
      checkAuditLines(logLines())
    },
  }
}

/**
 * Returns a free port, for PUBLIC_URL, which must be known before the broker listens. The port is below the ephemeral range, so no
 * outgoing connection takes it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 30_000)
    if (await canListen(port)) return port
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
