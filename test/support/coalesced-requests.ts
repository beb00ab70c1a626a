import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import type { Gatehouse } from './gatehouse.ts'
import { startMonitor } from './redis-monitor.ts'
import type { RedisServer } from './redis-server.ts'
import { until } from './until.ts'

interface ConcurrentOptions {
  readonly sandbox: Sandbox
  readonly redis: RedisServer
  /** Every broker that is asked. */
  readonly brokers: readonly Gatehouse[]
}

/**
 * Equal requests in flight at once, whatever the machine takes for them: the upstream holds its answer until one of them is
 * with it and all others wait for that one's outcome. Fails when they do not come to that.
 */
export async function sendConcurrently<Answer>(
  { sandbox, redis, brokers }: ConcurrentOptions,
  asks: readonly (() => Promise<Answer>)[],
): Promise<Answer[]> {
  const elsewhere = await watchLooksForOutcomes(redis)
  const sharedBefore = await sharingWithin(brokers)
  const calls = sandbox.requestLog.authn.entries
  const callsBefore = calls.length
  const letGo = sandbox.faults.authn.hold()
  const answering = Promise.all(asks.map((ask) => ask()))
  answering.catch(() => {}) // when the wait fails, that is what is told
  try {
    const waiting = async () => (await sharingWithin(brokers)) - sharedBefore + elsewhere.brokers()
    await until(async () => calls.length > callsBefore && (await waiting()) === asks.length - 1, {
      what: 'one of the equal requests asking the upstream, and all others waiting for it',
    })
  } finally {
    letGo()
    elsewhere.stop()
  }
  return answering
}

/** Requests that share a flight of their own broker; it counts them as they join. */
async function sharingWithin(brokers: readonly Gatehouse[]): Promise<number> {
  const counts = await Promise.all(
    brokers.map(async (broker) => {
      const count = /^gatehouse_coalesced_requests_total\{scope="process"\} (\d+)$/m.exec(
        await broker.metrics(),
      )
      return Number(count?.[1] ?? 0)
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Brokers that look into Redis for how another broker's step ended; each has one connection, and scripts look for locks. */
async function watchLooksForOutcomes(redis: RedisServer) {
  const client = redis.client()
  const watch = await startMonitor(client)
  const connections = new Set<string>()
  watch.on('monitor', (_time: string, [command = '', key = '']: string[], source: string) => {
    if (command === 'get' && key.startsWith('gatehouse:lock:') && source !== 'lua') connections.add(source)
  })
  return {
    brokers: () => connections.size,
    stop() {
      watch.disconnect()
      client.disconnect()
    },
  }
}
