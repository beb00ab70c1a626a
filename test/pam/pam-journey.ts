import type { PamServer } from '../sandbox/pam/pam-server.ts'
import { START, startPamServer } from '../sandbox/pam/pam-server.ts'
import { type StubListener, type StubUpstream, startStubUpstream } from '../support/stub-upstream.ts'
import { breakableStore, type PamBroker, type PamBrokerOptions, startPamBroker } from './pam-broker.ts'

/** Sandbox and brokers on one clock that only `advance` moves, sharing one store. */
export interface Journey {
  readonly pam: PamServer
  readonly store: ReturnType<typeof breakableStore>
  readonly broker: PamBroker
  /** Ends the waits whose time is over, too. */
  advance(ms: number): void
  /** How many waits are under way that only `advance` ends. */
  timers(): number
  /** Another upstream, such as one that must never be called. */
  stub(listener: StubListener): Promise<StubUpstream>
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
  const stubs: StubUpstream[] = []
  const timers = new Set<{ at: number; ring: () => void }>()
  const startTimer = (ring: () => void, ms: number) => {
    const timer = { at: pam.now() + ms, ring }
    timers.add(timer)
    return () => timers.delete(timer)
  }
  const replica = async (changes: Partial<PamBrokerOptions> = {}) => {
    const broker = await startPamBroker({
      baseUrl: pam.origin + (sandbox?.basePath ?? ''),
      store: store.store,
      now: () => pam.now() + skewMs,
      monotonic: elapsed,
      startTimer,
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
    advance(ms) {
      pam.advance(ms)
      for (const timer of timers) if (timer.at <= pam.now() && timers.delete(timer)) timer.ring()
    },
    timers: () => timers.size,
    async stub(listener) {
      const stub = await startStubUpstream(listener)
      stubs.push(stub)
      return stub
    },
    replica,
    async close() {
      for (const stub of stubs) await stub.close()
      for (const broker of brokers) await broker.close()
      await pam.close()
    },
  }
}
