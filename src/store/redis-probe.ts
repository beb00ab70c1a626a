import type { Cluster, Redis } from 'ioredis'
import type { CallOperation } from './redis-batch.ts'
import type { Operation } from './redis-scripts.ts'

/**
 * Carries out every operation of the store once, on keys of its own. It fails when the Redis user may not run one of
 * them or may not use the broker's keys, when Redis is full, or when it takes no writes.
 */
export async function probeRedis(client: Redis | Cluster, call: CallOperation): Promise<void> {
  const names = Object.keys(SAMPLES) as Operation[]
  await Promise.all([
    client.get(keyFor('record')),
    client.hgetall(keyFor('index')),
    ...names.map((name) => call(name, SAMPLES[name].keys, SAMPLES[name].args)),
  ])
}

/** In one slot, so that one command carries all of them. */
const keyFor = (name: string) => `gatehouse:ping:{ping}:${name}`

const TTL_MS = 10_000
const LONG_AFTER_MS = Number.MAX_SAFE_INTEGER
const WINDOWS = [['', 'window', 1_000_000, TTL_MS, ':former']]
const RECORD = ['write', 'value', TTL_MS]
const NOTHING_LEFT = ['0', '', 0]

interface Sample {
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
}

/** Keys and arguments as `redis-scripts.ts` describes them, such that every command in the operation is run. */
const SAMPLES: Readonly<Record<Operation, Sample>> = {
  set: { keys: [keyFor('value')], args: ['value', TTL_MS, ''] },
  swap: { keys: [keyFor('value')], args: ['value', TTL_MS] },
  deleteIf: { keys: [keyFor('value')], args: ['value'] },
  delete: { keys: [keyFor('value')], args: [] },
  claim: { keys: [keyFor('lock'), keyFor('record'), keyFor('word')], args: ['token', TTL_MS, '1', 'bar'] },
  settle: {
    keys: [keyFor('lock'), keyFor('record'), keyFor('record'), keyFor('record')],
    args: ['token', '', '0', ...RECORD, ...NOTHING_LEFT, ...NOTHING_LEFT],
  },
  indexPut: { keys: [keyFor('index')], args: ['field', 'value', TTL_MS] },
  indexRemove: { keys: [keyFor('index')], args: ['field'] },
  count: {
    keys: [keyFor('count'), keyFor('count')],
    args: ['caller', '1', LONG_AFTER_MS, JSON.stringify([WINDOWS, WINDOWS])],
  },
  uncount: { keys: [keyFor('count')], args: ['', 'window', 'caller'] },
  endCounts: { keys: [keyFor('count'), keyFor('mark')], args: ['1', TTL_MS, '', 'window', ':former'] },
}
