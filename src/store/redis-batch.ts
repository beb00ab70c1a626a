import type { Cluster, Redis } from 'ioredis'
import type { Operation, Replies } from './redis-scripts.ts'

/** Has Redis carry out one operation of `redis-scripts.ts`, on keys of one slot. */
export type CallOperation = <Name extends Operation>(
  name: Name,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<Replies[Name]>

interface Call {
  readonly name: Operation
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
  resolve(reply: unknown): void
  reject(error: unknown): void
}

/** Redis does nothing else while it carries out a batch; one of this size takes it about as long as one slow command. */
const MOST_AT_ONCE = 64
/** An operation waits at most so long for the replies to earlier ones; then it is sent without them. */
const LONGEST_WAIT_MS = 20

/**
 * Operations that are asked for in the same turn of the event loop, by one request or by many, go to Redis as one
 * command; so do those that are asked for while Redis owes replies. Every command costs the client work, and that was a
 * third of the work of a sign-in step (docs/performance.md). In a cluster each operation goes by itself, because two of
 * them seldom lie in one slot.
 */
export function createRedisBatch(client: Redis | Cluster): CallOperation {
  let waiting: Call[] = []
  let underWay = 0
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
    for (let n = 0; n < calls.length; n += MOST_AT_ONCE) {
      underWay += 1
      void send(client, calls.slice(n, n + MOST_AT_ONCE)).then(over)
    }
  }

  const over = () => {
    underWay -= 1
    if (underWay === 0 && waiting.length > 0) plan() // a turn later: with what these replies lead to
  }

  const add = (call: Call) => {
    if (client.isCluster) return void send(client, [call])
    waiting.push(call)
    if (underWay === 0) plan()
    else longest ??= setTimeout(plan, LONGEST_WAIT_MS)
  }

  return <Name extends Operation>(
    name: Name,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<Replies[Name]> =>
    new Promise((resolve, reject) => {
      // what answers to the name is said in redis-scripts.ts alone, beside what it does
      add({ name, keys, args, resolve: resolve as Call['resolve'], reject })
    })
}

/** Never rejects: who asked is told. */
async function send(client: Redis | Cluster, calls: readonly Call[]): Promise<void> {
  try {
    const keys = calls.flatMap((call) => call.keys)
    const args = calls.flatMap((call) => [call.name, call.keys.length, call.args.length, ...call.args])
    const replies = await (client.isCluster
      ? client[`gatehouseBatchOf${keys.length}`]?.(...keys, ...args)
      : client.gatehouseBatch(keys.length, ...keys, ...args))
    for (const [n, call] of calls.entries()) answer(call, replies?.[n])
  } catch (error) {
    for (const call of calls) call.reject(error)
  }
}

function answer(call: Call, reply: readonly [ok: 0 | 1, reply: unknown] | undefined): void {
  if (reply?.[0] === 1) call.resolve(reply[1])
  else call.reject(new OperationError(String(reply?.[1] ?? 'ERR no reply')))
}

/** As the client's own errors of that name, which `redis-trouble.ts` reads. */
class OperationError extends Error {
  override readonly name = 'ReplyError'
}
