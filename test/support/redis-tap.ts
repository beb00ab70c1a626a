import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { SCRIPTS } from '../../src/store/redis-scripts.ts'
import { startMonitor } from './redis-monitor.ts'
import type { RedisServer } from './redis-server.ts'
import { until } from './until.ts'

/** The commands that a broker sent to Redis. */
export interface Asked {
  /** Names of commands and of the store's scripts, in the order of execution. */
  readonly commands: readonly string[]
  /**
   * Round trips that were waited for: commands sent before the reply to the previous batch belong
   * to that batch.
   */
  readonly roundTrips: number
}

/** A proxy to Redis that counts commands, for one broker that does one thing at a time. */
export interface RedisTap {
  readonly url: string
  count(work: () => Promise<unknown>): Promise<Asked>
  /** Stops counting and accepts no new connection. Open connections end with the broker. */
  stop(): void
}

const END = 'tap:end'
const sha1 = (text: string) => createHash('sha1').update(text).digest('hex')
const scriptNames = new Map(Object.entries(SCRIPTS).map(([name, { lua }]) => [sha1(lua), name]))

/**
 * Broker and tap run in one process: commands that the broker writes in one turn of the event loop
 * reach the tap before Redis can reply, so the count does not depend on the machine's speed.
 */
export async function tapRedis(redis: RedisServer): Promise<RedisTap> {
  const ownPorts = new Set<number>()
  const look = redis.client()
  const watch = await startMonitor(look)
  let commands: string[] = []
  let roundTrips = 0
  /** Connections with a pending reply. */
  const unanswered = new Set<Socket>()
  let onEnd: (() => void) | undefined
  watch.on('monitor', (_time: string, [name = '', word]: string[], source: string) => {
    if (word === END) onEnd?.()
    else if (ownPorts.has(Number(source.split(':').at(-1))))
      commands.push(scriptNames.get(word ?? '') ?? name.toLowerCase())
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
      socket.on('error', () => {}) // one side has closed, so the other is closed too
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
   * Resolves when Redis has replied to every command so far, including commands that nothing waits
   * for. Commands of the broker arrive within one turn of the event loop.
   */
  const allReplied = async () => {
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
      await allReplied()
      commands = []
      roundTrips = 0
      await work()
      await allReplied()
      return { commands, roundTrips }
    },

    stop() {
      watch.disconnect()
      server.close()
    },
  }
}
