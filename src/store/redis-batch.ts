import type { Cluster, Redis } from 'ioredis'
import { parseErrorReply } from './redis-errors.ts'
import type { Replies } from './redis-scripts.ts'

/** Sends one operation of `redis-scripts.ts`, on keys of one slot. */
export type CallRedis = <Name extends keyof Replies>(call: RedisCall<Name>) => Promise<Replies[Name]>

export interface RedisCall<Name extends keyof Replies = keyof Replies> {
  readonly name: Name
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
}

interface Waiting extends RedisCall {
  resolve(reply: unknown): void
  reject(error: unknown): void
}

/** Redis does nothing else while it carries out a batch. A batch of this size takes it about as long as one slow command. */
const MAX_BATCH_SIZE = 64
/** An operation waits no longer for the replies to earlier ones. */
const MAX_WAIT_MS = 20

/**
 * Operations of one turn of the event loop, of one request or of many, go to Redis as one command. So do operations that are asked
 * for while Redis owes replies. Every command costs the client work: it was a third of the work of a sign-in step
 * (docs/performance.md). In a cluster each operation is a command, because two of them are seldom in one slot. Reads are plain
 * commands too.
 */
export function createRedisBatch(client: Redis | Cluster): CallRedis {
  const add = client.isCluster ? (call: Waiting) => void send(client, [call]) : createGatherer(client)

  return <Name extends keyof Replies>(call: RedisCall<Name>) => {
    const read = READS[call.name]
    const reply =
      read?.(client, call.keys[0] ?? '') ??
      new Promise<unknown>((resolve, reject) => add({ ...call, resolve, reject }))
    return reply as Promise<Replies[Name]> // `Replies` says what Redis answers to the name
  }
}

const READS: { readonly [name: string]: (client: Redis | Cluster, key: string) => Promise<unknown> } = {
  get: (client, key) => client.get(key),
  indexAll: (client, key) => client.hgetall(key),
}

function createGatherer(client: Redis | Cluster): (call: Waiting) => void {
  let waiting: Waiting[] = []
  let batchesSent = 0
  let isPlanned = false
  let longest: NodeJS.Timeout | undefined

  const plan = () => {
    if (!isPlanned) setImmediate(flush)
    isPlanned = true
  }

  const flush = () => {
    clearTimeout(longest)
    longest = undefined
    isPlanned = false
    const calls = waiting
    waiting = []
    for (let n = 0; n < calls.length; n += MAX_BATCH_SIZE) {
      batchesSent += 1
      void send(client, calls.slice(n, n + MAX_BATCH_SIZE)).then(onReplies)
    }
  }

  const onReplies = () => {
    batchesSent -= 1
    if (batchesSent === 0 && waiting.length > 0) plan() // a turn later: with the operations that these replies lead to
  }

  return (call) => {
    waiting.push(call)
    if (batchesSent === 0) plan()
    else longest ??= setTimeout(plan, MAX_WAIT_MS)
  }
}

/** Never rejects: each caller is told. */
async function send(client: Redis | Cluster, calls: readonly Waiting[]): Promise<void> {
  try {
    const keys = calls.flatMap((call) => call.keys)
    const args = calls.flatMap((call) => [call.name, call.keys.length, call.args.length, ...call.args])
    const replies = await client.gatehouseBatch(keys.length, ...keys, ...args)
    for (const [n, call] of calls.entries()) answer(call, replies[n])
  } catch (error) {
    for (const call of calls) call.reject(error)
  }
}

function answer(call: Waiting, reply: readonly [ok: 0 | 1, reply: unknown] | undefined): void {
  if (reply?.[0] === 1) call.resolve(reply[1])
  else call.reject(parseErrorReply(String(reply?.[1] ?? 'ERR no reply')))
}
