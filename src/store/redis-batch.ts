import type { Cluster, Redis } from 'ioredis'
import { parseErrorReply } from './redis-errors.ts'
import type { Replies } from './redis-scripts.ts'

/** Sends one operation of `redis-scripts.ts`. */
export type CallRedis = <Name extends keyof Replies>(call: RedisCall<Name>) => Promise<Replies[Name]>

export interface RedisCall<Name extends keyof Replies = keyof Replies> {
  readonly name: Name
  /** All in one slot. */
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
}

interface PendingCall extends RedisCall {
  resolve(reply: unknown): void
  reject(error: unknown): void
}

/** Redis does nothing else while it executes a batch. A batch of this size takes about as long as one slow command. */
const MAX_BATCH_SIZE = 64
/** The longest time that an operation waits for the replies to earlier ones. */
const MAX_WAIT_MS = 20

/**
 * Sends the operations of one turn of the event loop, from all requests, as one command. Operations that arrive while replies are
 * outstanding are batched too. Every command costs the client processor time: a third of that of a sign-in step
 * (docs/performance.md). In a cluster, each operation is one command, because two operations are rarely in the same slot. Reads
 * are plain commands.
 */
export function createRedisBatch(client: Redis | Cluster): CallRedis {
  const add = client.isCluster ? (call: PendingCall) => void send(client, [call]) : createBatcher(client)

  return <Name extends keyof Replies>(call: RedisCall<Name>) => {
    const reply =
      READS[call.name]?.(client, call.keys[0] ?? '') ??
      new Promise<unknown>((resolve, reject) => add({ ...call, resolve, reject }))
    return reply as Promise<Replies[Name]> // `Replies` declares the reply to each name
  }
}

const READS: { readonly [name: string]: (client: Redis | Cluster, key: string) => Promise<unknown> } = {
  get: (client, key) => client.get(key),
  indexAll: (client, key) => client.hgetall(key),
}

function createBatcher(client: Redis | Cluster): (call: PendingCall) => void {
  let pending: PendingCall[] = []
  let batchesInFlight = 0
  let isFlushScheduled = false
  let maxWaitTimer: NodeJS.Timeout | undefined

  const scheduleFlush = () => {
    if (!isFlushScheduled) setImmediate(flush)
    isFlushScheduled = true
  }

  const flush = () => {
    clearTimeout(maxWaitTimer)
    maxWaitTimer = undefined
    isFlushScheduled = false
    const calls = pending
    pending = []
    for (let n = 0; n < calls.length; n += MAX_BATCH_SIZE) {
      batchesInFlight += 1
      void send(client, calls.slice(n, n + MAX_BATCH_SIZE)).then(onReplies)
    }
  }

  const onReplies = () => {
    batchesInFlight -= 1
    // in the next turn, so that operations caused by these replies join the batch
    if (batchesInFlight === 0 && pending.length > 0) scheduleFlush()
  }

  return (call) => {
    pending.push(call)
    if (batchesInFlight === 0) scheduleFlush()
    else maxWaitTimer ??= setTimeout(scheduleFlush, MAX_WAIT_MS)
  }
}

/** Never rejects: it resolves or rejects each call. */
async function send(client: Redis | Cluster, calls: readonly PendingCall[]): Promise<void> {
  try {
    const keys = calls.flatMap((call) => call.keys)
    const args = calls.flatMap((call) => [call.name, call.keys.length, call.args.length, ...call.args])
    const replies = await client.gatehouseBatch(keys.length, ...keys, ...args)
    for (const [n, call] of calls.entries()) {
      const [ok, reply] = replies[n] ?? [0, 'ERR no reply']
      if (ok === 1) call.resolve(reply)
      else call.reject(parseErrorReply(String(reply)))
    }
  } catch (error) {
    for (const call of calls) call.reject(error)
  }
}
