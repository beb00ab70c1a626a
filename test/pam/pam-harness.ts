import type { Store } from '../../src/store/store.ts'
import { useFreshFixture } from '../support/fixture.ts'
import type { PamServer } from '../support/pam-server.ts'
import { START, startPamServer } from '../support/pam-server.ts'
import { type StubListener, type StubUpstream, startStubUpstream } from '../support/stub-upstream.ts'
import { createUnreliableStore, type PamBroker, type PamBrokerOptions, startPamBroker } from './pam-broker.ts'

/** The sandbox and brokers with one store and one clock, which only `advance` moves. */
export interface PamHarness {
  readonly pam: PamServer
  readonly store: ReturnType<typeof createUnreliableStore>
  readonly broker: PamBroker
  /** Moves the clock, and fires the timers that are due. */
  advance(ms: number): void
  /** The number of pending timers, or of those that were started with this time. */
  timers(ms?: number): number
  /** Starts another upstream, such as one that must not be called. */
  stub(listener: StubListener): Promise<StubUpstream>
  replica(changes?: Partial<PamBrokerOptions>): Promise<PamBroker>
  /** A replica with a store of its own, which the harness closes. */
  replicaOn(store: Store, changes?: Partial<PamBrokerOptions>): Promise<PamBroker>
  close(): Promise<void>
}

export interface PamHarnessOptions extends Partial<PamBrokerOptions> {
  /** The error of the broker's clock. */
  readonly skewMs?: number
  readonly sandbox?: Record<string, unknown>
}

/** A harness for each test of a file. */
export function usePamHarness(
  prepare: (harness: PamHarness) => unknown = () => {},
  options: PamHarnessOptions = {},
): PamHarness {
  return useFreshFixture({
    async start() {
      const harness = await startPamHarness(options)
      await prepare(harness)
      return harness
    },
    stop: (harness) => harness.close(),
  })
}

export async function startPamHarness({
  skewMs = 0,
  sandbox,
  ...options
}: PamHarnessOptions = {}): Promise<PamHarness> {
  const pam = await startPamServer(sandbox)
  const elapsed = () => pam.now() - START
  const store = createUnreliableStore(elapsed)
  const brokers: PamBroker[] = []
  const stubs: StubUpstream[] = []
  const stores: Store[] = []
  const timers = new Set<{ at: number; ms: number; fire: () => void }>()
  const startTimer = (fire: () => void, ms: number) => {
    const timer = { at: pam.now() + ms, ms, fire }
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
      for (const timer of timers) if (timer.at <= pam.now() && timers.delete(timer)) timer.fire()
    },
    timers: (given) => [...timers].filter(({ ms }) => given === undefined || ms === given).length,
    async stub(listener) {
      const stub = await startStubUpstream(listener)
      stubs.push(stub)
      return stub
    },
    replica,
    replicaOn(store, changes) {
      stores.push(store)
      return replica({ ...changes, store })
    },
    async close() {
      for (const started of [...stubs, ...brokers, ...stores]) await started.close()
      await pam.close()
    },
  }
}
