import type { RequestListener } from 'node:http'
import type { PamServer } from '../sandbox/pam/pam-server.ts'
import { START, startPamServer } from '../sandbox/pam/pam-server.ts'
import {
  breakableStore,
  listen,
  type PamBroker,
  type PamBrokerOptions,
  startPamBroker,
} from './pam-broker.ts'

/** Sandbox and brokers on one clock that only `advance` moves, sharing one store. */
export interface Journey {
  readonly pam: PamServer
  readonly store: ReturnType<typeof breakableStore>
  readonly broker: PamBroker
  advance(ms: number): void
  /** Another server, such as one that must never be called. */
  listen(handler: RequestListener): Promise<{ origin: string }>
  /** Another replica. */
  replica(changes?: Partial<PamBrokerOptions>): Promise<PamBroker>
  close(): Promise<void>
}

export interface JourneyOptions extends Partial<PamBrokerOptions> {
  /** How far the broker's clock is off. */
  readonly skewMs?: number
  readonly sandbox?: Record<string, unknown>
}

export async function startJourney({
  skewMs = 0,
  sandbox,
  ...options
}: JourneyOptions = {}): Promise<Journey> {
  const pam = await startPamServer(sandbox)
  const elapsed = () => pam.now() - START
  const store = breakableStore(elapsed)
  const brokers: PamBroker[] = []
  const servers: { close(): Promise<void> }[] = []
  const replica = async (changes: Partial<PamBrokerOptions> = {}) => {
    const broker = await startPamBroker({
      baseUrl: pam.origin,
      store: store.store,
      now: () => pam.now() + skewMs,
      monotonic: elapsed,
      ...options,
      ...changes,
    })
    brokers.push(broker)
    return broker
  }
  return {
    pam,
    store,
    broker: await replica(),
    advance: (ms) => pam.advance(ms),
    async listen(handler) {
      const server = await listen(handler)
      servers.push(server)
      return server
    },
    replica,
    async close() {
      for (const server of servers) await server.close()
      for (const broker of brokers) await broker.close()
      await pam.close()
    },
  }
}
