import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { PassThrough } from 'node:stream'
import { attemptLimits } from '../../src/authn/throttling/attempt-limits.ts'
import type { AttemptLimits } from '../../src/authn/throttling/attempt-windows.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { defaultTunables, type Tunables } from '../../src/config/tunables.ts'
import { createListener, type ListenerOptions } from '../../src/http/listener.ts'
import { type Constants, createGatehouse } from '../../src/wiring.ts'
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
  /** Throws if an audit line did not match its schema. */
  stop(): Promise<void>
}

export interface GatehouseOptions {
  readonly env: Record<string, string>
  readonly tunables?: (tunables: TestTunables) => TestTunables
  readonly now?: () => number
  readonly constants?: Constants
  readonly listener?: Partial<ListenerOptions>
}

/** The tunables with all limits, those that are constants included. */
export type TestTunables = Omit<Tunables, 'limits'> & {
  readonly limits: AttemptLimits & Pick<Tunables['limits'], 'stepUpPerAddress'>
}

/**
 * The shipped tunables with long timeouts for the store and for clients, so that a busy machine
 * does not fail a test. Tests of an unreachable store or of slow clients set their own timeouts.
 */
export function patientTunables(): TestTunables {
  const tunables = defaultTunables()
  return {
    ...tunables,
    store: PATIENT_STORE,
    limits: { ...tunables.limits, ...attemptLimits(tunables.limits) },
  }
}

export const PATIENT_STORE = { connectTimeoutMs: 30_000, commandTimeoutMs: 30_000 }

export const TEST_KEY = Buffer.alloc(32, 'plainly-fake-test-key').toString('base64')

/** `env` overrides a small valid configuration with the embedded store. */
export async function startGatehouse({
  env,
  tunables: change = (same) => same,
  now,
  constants,
  listener,
}: GatehouseOptions): Promise<Gatehouse> {
  const tunables = change(patientTunables())
  const port = await freePort()
  const url = `http://localhost:${port}`
  const config = loadConfig({
    PUBLIC_URL: url,
    AUTHN_API_TOKEN: 'plainly-fake-ssws-token',
    REDIS_URL: 'memory:',
    SECRET_KEYS: TEST_KEY,
    LOG_LEVEL: 'debug',
    ...env,
  })
  const { stepUpPerAddress } = tunables.limits
  const limits = { ...config.tunables.limits, stepUpPerAddress }
  const tracing = config.tracing && (await import('../../src/observability/tracing.ts'))
  const logStream = new PassThrough()
  const chunks: string[] = []
  logStream.on('data', (chunk: Buffer) => chunks.push(chunk.toString('utf8')))
  const storeFailed = new Promise<void>((resolve) => {
    logStream.on('data', (chunk: Buffer) => chunk.includes('"store_check_failed"') && resolve())
  })

  const broker = createGatehouse(
    { ...config, tunables: { ...tunables, limits } },
    {
      logStream,
      ...tracing,
      constants: {
        health: { checkEveryMs: 3_600_000 },
        ...constants,
        // only few tests concern poll pacing
        authn: { pollEveryMs: 100, limits: tunables.limits, ...constants?.authn },
      },
      ...(now === undefined ? {} : { now }),
    },
  )
  const http = { ...tunables.http, headersTimeout: 60_000, requestTimeout: 90_000, ...listener }
  const app = createListener(broker.app, http, broker)
  const ops = createListener(broker.ops, http)
  await app.listen(port, '127.0.0.1')
  await Promise.race([broker.health.started, storeFailed])
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
    async stop() {
      await app.drain(0)
      await ops.drain(0)
      await broker.close()
      checkAuditLines(logLines())
    },
  }
}

/**
 * Returns a free port, for PUBLIC_URL, which must be known before the broker listens. The port is
 * below the ephemeral range, so no outgoing connection takes it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 30_000)
    if (await canListen(port)) return port
  }
}

export function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
