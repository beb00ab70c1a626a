import { Cluster, type Redis } from 'ioredis'
import { v4 as uuid } from 'uuid'
import { storeUnavailable } from '../errors.ts'
import { type AttemptCounters, newWindowId, shortened } from './attempt-counters.ts'
import { assertOneSlot } from './hash-slot.ts'
import type { Indexes } from './indexes.ts'
import { KEY_PREFIX, KEYS, keyOf } from './keys.ts'
import type { LockedRecords } from './locked-records.ts'
import { connected } from './redis-client.ts'
import { toStoreError } from './redis-errors.ts'
import { SCRIPTS } from './redis-scripts.ts'
import type { Store } from './store.ts'
import { roundUpTtl } from './time-to-live.ts'
import type { Values } from './values.ts'

export interface RedisStoreOptions {
  readonly redis: Redis | Cluster
  readonly keyPrefix?: string
  /** How long `ping` waits for a connection. */
  readonly connectTimeoutMs: number
  /** Called once for each operation that ended in `storeUnavailable`. */
  readonly onFailure?: () => void
  /** Called with the duration of each command, a failed one included. */
  readonly onReply?: (group: CommandGroup, seconds: number) => void
  /** Adds the span of a wait for Redis, if there are traces. */
  readonly traced?: Traced | undefined
}

/** For metrics. */
export type CommandGroup = 'read' | 'write' | 'script' | 'scan'

export type Traced = <Reply>(reply: Promise<Reply>, command: string, script?: string) => Promise<Reply>

const GROUPS = {
  GET: 'read',
  HGETALL: 'read',
  TIME: 'read',
  SET: 'write',
  DEL: 'write',
  HDEL: 'write',
  SCAN: 'scan',
} as const

type Script = keyof typeof SCRIPTS
type Command = keyof typeof GROUPS | Script

const isScript = (command: Command): command is Script => Object.hasOwn(SCRIPTS, command)

/** The store on Redis 6.2 or later: standalone, with Sentinel, or Redis Cluster. */
export function createRedisStore({
  redis,
  keyPrefix = KEY_PREFIX,
  connectTimeoutMs,
  onFailure = () => {},
  onReply = () => {},
  traced = (reply) => reply,
}: RedisStoreOptions): Store {
  if (redis instanceof Cluster) redis.on('+node', batchWrites)
  else batchWrites(redis)
  const execute = async <Reply>(reply: Promise<Reply>, group?: CommandGroup): Promise<Reply> => {
    const startedAt = performance.now()
    try {
      return await reply
    } catch (error) {
      onFailure()
      throw toStoreError(error)
    } finally {
      if (group !== undefined) onReply(group, (performance.now() - startedAt) / 1000)
    }
  }
  const run: WaitForReply = (command, reply) =>
    isScript(command)
      ? traced(execute(reply, 'script'), 'EVALSHA', command)
      : traced(execute(reply, GROUPS[command]), command)
  const operations = {
    ...createValues(redis, run),
    ...createLockedRecords(redis, run),
    ...createIndexes(redis, run),
    ...createCounters(redis, run),
  }
  return {
    keyPrefix,
    preservesWriteOrder: !redis.isCluster,
    ...operations,

    async ping() {
      await execute(connected(redis, connectTimeoutMs))
      await probeStore(operations, keyOf({ keyPrefix }, KEYS.readinessProbe, uuid()))
    },

    async time() {
      const [seconds, microseconds] = await run('TIME', redis.time())
      return Number(seconds) * 1000 + Number(microseconds) / 1000
    },

    async close() {
      // answered after all earlier commands
      await redis.get(keyOf({ keyPrefix }, KEYS.closing)).catch(() => {})
      await redis.quit().catch(() => redis.disconnect())
    },
  }
}

/**
 * The commands of a turn of the event loop go to the socket in one write. `enableAutoPipelining` of
 * ioredis would wait for the reply to the batch before, keep each command in memory until the next
 * full collection, and not work with a cluster: while a node is down, ioredis may reject one
 * command of a pipeline and wait for replies to the others without sending them.
 */
function batchWrites(client: Redis): void {
  const send = client.sendCommand.bind(client)
  client.sendCommand = (command, stream) => {
    const socket = client.stream
    if (client.status === 'ready' && socket.writableCorked === 0) {
      socket.cork()
      setImmediate(() => socket.uncork())
    }
    return send(command, stream)
  }
}

const PROBE_TTL_MS = 10_000

/**
 * Runs every Redis command of the store on a key of its own, which it deletes. Throws if the Redis
 * user lacks a right to a command, to scripts or to the broker's keys, if Redis is out of memory,
 * or if it is read-only.
 */
export async function probeStore(
  store: Pick<
    Store,
    'set' | 'get' | 'delete' | 'deleteIf' | 'countAttempt' | `index${'Put' | 'All' | 'Remove'}`
  >,
  key: string,
): Promise<void> {
  const window = { keySuffix: '', name: 'window', maxAttempts: 1, ttlMs: PROBE_TTL_MS }
  await Promise.all([
    store.indexPut(key, 'field', 'value', PROBE_TTL_MS),
    store.indexAll(key),
    store.indexRemove(key, 'field'),
    store.set(key, 'value', PROBE_TTL_MS), // whatever failed before, the key is a string now
    store.get(key),
    store.deleteIf(key, 'value'),
    store.countAttempt({
      keyPrefix: key,
      windows: [window],
      override: { ifKeyExists: key, windows: [window] },
    }),
    store.delete(key),
  ])
}

type Client = Redis | Cluster
/**
 * Waits for the reply to a command. That of the store throws `storeUnavailable` for any failure.
 */
type WaitForReply = <Reply>(command: Command, reply: Promise<Reply>) => Promise<Reply>

function createValues(redis: Client, run: WaitForReply): Values {
  return {
    get: async (key) => (await run('GET', redis.get(key))) ?? undefined,

    async set(key, value, ttlMs, when) {
      const ttl = roundUpTtl(ttlMs)
      if (when === 'absent') return (await run('SET', redis.set(key, value, 'PX', ttl, 'NX'))) !== null
      if (when === 'present') return (await run('SET', redis.set(key, value, 'PX', ttl, 'XX'))) !== null
      await run('SET', redis.set(key, value, 'PX', ttl))
      return true
    },

    raise: async (key, value, ttlMs) =>
      (await run('raise', redis.raise(key, value, roundUpTtl(ttlMs)))) === 1,

    swap: async (key, value, ttlMs) =>
      (await run('SET', redis.set(key, value, 'PX', roundUpTtl(ttlMs), 'GET'))) ?? undefined,

    replaceIf: async (key, expected, value, ttlMs) =>
      (await run('replaceIf', redis.replaceIf(key, expected, value, roundUpTtl(ttlMs)))) === 1,

    delete: async (key) => (await run('DEL', redis.del(key))) === 1,
    deleteIf: async (key, expected) => (await run('deleteIf', redis.deleteIf(key, expected))) === 1,

    async deleteAll(prefix) {
      const servers = serversOf(redis)
      const counts = await Promise.all(
        servers.map((server) => run('SCAN', deleteScanned(redis, server, prefix))),
      )
      return counts.reduce((sum, count) => sum + count, 0)
    },
  }
}

/** Every server with keys. Throws 503 if one is unreachable, because ioredis leaves it out. */
function serversOf(redis: Client): Redis[] {
  if (!redis.isCluster) return [redis as Redis]
  const cluster = redis as Cluster
  const primaries = cluster.nodes('master')
  const addresses = primaries.map(({ options: { host, port } }) => `${host}:${port}`)
  if (primaries.length === 0 || cluster.slots.some(([owner = '']) => !addresses.includes(owner)))
    throw storeUnavailable()
  return primaries
}

/** Keys that one SCAN looks at. More would delay other commands. */
const SCAN_COUNT = 500

async function deleteScanned(redis: Client, server: Redis, prefix: string): Promise<number> {
  const pattern = `${prefix.replaceAll(/[\\*?[\]]/g, '\\$&')}*`
  let cursor = '0'
  let count = 0
  do {
    const [next, keys] = await server.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT)
    const deleted = await Promise.all(keys.map((key) => redis.del(key)))
    count += deleted.filter((result) => result === 1).length
    cursor = next
  } while (cursor !== '0')
  return count
}

function createLockedRecords(redis: Client, run: WaitForReply): LockedRecords {
  return {
    async acquire({ lockKey, recordKey, token, lockTtlMs }) {
      assertOneSlot(lockKey, recordKey)
      const [holder, record] = await run(
        'acquire',
        redis.acquire(lockKey, recordKey, token, roundUpTtl(lockTtlMs)),
      )
      return { holder, record: record ?? undefined }
    },

    async commit({ lockKey, recordKey, token, expected, record, shared }) {
      assertOneSlot(lockKey, recordKey, shared.key)
      const args = [
        token,
        ...(expected === undefined ? ['', '0'] : [expected, '1']),
        ...(typeof record === 'object' ? ['write', record.write, roundUpTtl(record.ttlMs)] : [record, '', 0]),
        shared.value,
        roundUpTtl(shared.ttlMs),
      ]
      return (await run('commit', redis.commit(lockKey, recordKey, shared.key, ...args))) === 1
    },
  }
}

function createIndexes(redis: Client, run: WaitForReply): Indexes {
  return {
    indexPut: async (key, field, value, ttlMs) =>
      run('indexPut', redis.indexPut(key, value, roundUpTtl(ttlMs), ...[field].flat())),
    indexAll: async (key) => run('HGETALL', redis.hgetall(key)),
    indexRemove: async (key, field) => (await run('HDEL', redis.hdel(key, field))) === 1,
  }
}

function createCounters(redis: Client, run: WaitForReply): AttemptCounters {
  return {
    async countAttempt(request) {
      const { keyPrefix, windows, override, shorten, notAfterMs = '' } = request
      if (override) assertOneSlot(keyPrefix, override.ifKeyExists)
      if (shorten) assertOneSlot(keyPrefix, shorten.unlessKeyExists)
      const lists = JSON.stringify([windows, override?.windows ?? []])
      const keys = override ? [keyPrefix, override.ifKeyExists] : [keyPrefix]
      const { unlessKeyExists = '', toTtlMs = 0 } = shorten ?? {}
      const [overridden, full, leftMs, windowIds, late, isShort] = await run(
        'countAttempt',
        redis.countAttempt(keys.length, ...keys, newWindowId(), notAfterMs, lists, unlessKeyExists, toTtlMs),
      )
      const asked = overridden === 1 ? (override?.windows ?? []) : windows
      const counted = isShort === 1 && shorten ? asked.map((window) => shortened(window, shorten)) : asked
      return {
        overridden: overridden === 1,
        full: full < 0 ? undefined : { index: full, leftMs },
        ...(late === 1 ? { late: true } : {}),
        countedWindows: windowIds.flatMap((windowId, index) => {
          const window = counted[index]
          return window === undefined ? [] : [{ window, windowId }]
        }),
      }
    },

    async refundAttempt(keyPrefix, counted) {
      if (counted.length > 0)
        await run('refundAttempt', redis.refundAttempt(keyPrefix, JSON.stringify(counted)))
    },

    async clearWindows(keyPrefix, windows, markers) {
      const windowKeys = JSON.stringify(windows)
      if (markers) {
        const { keys, ttlMs } = markers
        assertOneSlot(keyPrefix, ...keys)
        await run(
          'clearWindows',
          redis.clearWindows(1 + keys.length, keyPrefix, ...keys, windowKeys, roundUpTtl(ttlMs)),
        )
      } else if (windows.length > 0) await run('clearWindows', redis.clearWindows(1, keyPrefix, windowKeys))
    },
  }
}
