import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { startMonitor } from './redis-monitor.ts'
import type { RedisServer } from './redis-server.ts'
import { until } from './until.ts'

/** What a broker asked of Redis. */
export interface Asked {
  /** Names in the order in which Redis carried them out; a script is one, whatever it calls. */
  readonly commands: readonly string[]
  /** Batches that were waited for: what is sent before an answer to the last batch came is part of that batch. */
  readonly roundTrips: number
}

/** A way to Redis that counts what goes over it. For one broker that does one thing at a time. */
export interface RedisTap {
  readonly url: string
  count(work: () => Promise<unknown>): Promise<Asked>
  /** Counts no more and takes no new connection; those that are there end with the broker. */
  stop(): void
}

const END = 'tap:end'

/**
 * Broker and tap live in one process: what the broker writes in one turn of the event loop lies at the tap before Redis can
 * have answered any of it, so that the count does not depend on how fast the machine is.
 */
export async function tapRedis(redis: RedisServer): Promise<RedisTap> {
  const ownPorts = new Set<number>()
  const look = redis.client()
  const watch = await startMonitor(look)
  let commands: string[] = []
  let roundTrips = 0
  /** Connections on which Redis still has to answer. */
  const unanswered = new Set<Socket>()
  let onEnd: (() => void) | undefined
  watch.on('monitor', (_time: string, [name = '', word]: string[], source: string) => {
    if (word === END) onEnd?.()
    else if (ownPorts.has(Number(source.split(':').at(-1)))) commands.push(name.toLowerCase())
  })

  const server = createServer((broker) => {
    const toRedis = connect(redis.port, '127.0.0.1')
    toRedis.once('connect', () => ownPorts.add(toRedis.localPort ?? 0))
    broker.on('data', (chunk) => {
      if (!unanswered.has(broker)) roundTrips += 1
      unanswered.add(broker)
      toRedis.write(chunk)
    })
    toRedis.on('data', (chunk) => {
      unanswered.delete(broker)
      broker.write(chunk)
    })
    for (const socket of [broker, toRedis]) {
      socket.on('error', () => {}) // one of the two has left: so does the other
      socket.once('close', () => {
        unanswered.delete(broker)
        broker.destroy()
        toRedis.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP

  /**
   * Resolves when everything that was sent so far has been carried out and told, also what nobody waits for. What the broker
   * has written arrives here within one turn of the event loop.
   */
  const settled = async () => {
    await nextTurn()
    await until(async () => {
      await nextTurn()
      return unanswered.size === 0
    })
    const ended = new Promise<void>((resolve) => {
      onEnd = resolve
    })
    await look.echo(END)
    await ended
  }

  return {
    url: `redis://127.0.0.1:${port}`,

    async count(work) {
      await settled()
      commands = []
      roundTrips = 0
      await work()
      await settled()
      return { commands, roundTrips }
    },

    stop() {
      watch.disconnect()
      server.close()
    },
  }
}
