import type { Gatehouse } from './gatehouse.ts'
import type { Harness } from './harness.ts'
import { startMonitor } from './redis-monitor.ts'
import type { RedisServer } from './redis-server.ts'
import { until } from './until.ts'

/**
 * Sends identical requests so that all are in flight at the same time, however slow the machine is:
 * the upstream delays its response until one request has reached it and all others wait for the
 * shared result. Fails if that does not happen.
 *
 * @param brokers every broker that receives a request
 */
export async function sendConcurrently<Answer>(
  { sandbox, redis }: Pick<Harness, 'sandbox' | 'redis'>,
  brokers: readonly Gatehouse[],
  asks: readonly (() => Promise<Answer>)[],
): Promise<Answer[]> {
  const elsewhere = await watchLooksForOutcomes(redis)
  const sharedBefore = await sharingWithin(brokers)
  const calls = sandbox.requestLog.authn.entries
  const callsBefore = calls.length
  const release = sandbox.faults.authn.hold()
  const answering = Promise.all(asks.map((ask) => ask()))
  answering.catch(() => {}) // if the wait below fails, its error is reported instead
  try {
    // with one broker, what it reads is its own poll's, which waits until it is due
    const waiting = async () =>
      (await sharingWithin(brokers)) - sharedBefore + (brokers.length > 1 ? elsewhere.brokers() : 0)
    await until(async () => calls.length > callsBefore && (await waiting()) === asks.length - 1, {
      what: 'one request at the upstream and all identical ones waiting for it',
    })
  } finally {
    release()
    elsewhere.stop()
  }
  return answering
}

/** The number of requests that these brokers have coalesced in their own process. */
async function sharingWithin(brokers: readonly Gatehouse[]): Promise<number> {
  const counts = await Promise.all(
    brokers.map(async (broker) => {
      const metrics = await broker.metrics()
      return Number(/^gatehouse_coalesced_requests_total\{scope="process"\} (\d+)$/m.exec(metrics)?.[1] ?? 0)
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

/**
 * Counts the brokers that poll Redis for another broker's shared result: each has one connection,
 * and scripts read locks.
 */
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
