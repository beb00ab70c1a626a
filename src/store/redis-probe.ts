import type { CallRedis } from './redis-batch.ts'
import { OPERATIONS, type RedisOperation } from './redis-operations.ts'
import type { OperationName, Store } from './store.ts'

/**
 * Executes every operation of the store once, on keys of its own. Throws if the Redis user lacks a right to a command or to the
 * broker's keys, if Redis is out of memory, or if it is read-only.
 */
export async function probeRedis(call: CallRedis): Promise<void> {
  await Promise.all(
    (Object.keys(SAMPLES) as OperationName[]).map((name) => {
      const { request } = OPERATIONS[name] as RedisOperation<OperationName>
      return call({ name, ...request(...SAMPLES[name]) })
    }),
  )
}

/** All in one slot, so that one command executes all operations. */
const keyFor = (name: string) => `gatehouse:ping:{ping}:${name}`

const TTL_MS = 10_000
const WINDOW = {
  keySuffix: '',
  name: 'window',
  maxAttempts: Number.MAX_SAFE_INTEGER,
  ttlMs: TTL_MS,
}
const STEP = { lockKey: keyFor('lock'), recordKey: keyFor('record'), token: 'token' }

/** With these parameters, each operation runs every Redis command that it can use. */
const SAMPLES: { readonly [Name in OperationName]: Parameters<Store[Name]> } = {
  get: [keyFor('value')],
  set: [keyFor('value'), 'value', TTL_MS],
  swap: [keyFor('value'), 'value', TTL_MS],
  extendIf: [keyFor('value'), 'value', TTL_MS],
  deleteIf: [keyFor('value'), 'value'],
  delete: [keyFor('value')],
  acquire: [{ ...STEP, lockTtlMs: TTL_MS }],
  commit: [
    {
      ...STEP,
      expected: undefined,
      record: { write: 'value', ttlMs: TTL_MS },
      shared: { key: keyFor('shared'), value: 'value', ttlMs: TTL_MS },
    },
  ],
  indexPut: [keyFor('index'), 'field', 'value', TTL_MS],
  indexAll: [keyFor('index')],
  indexRemove: [keyFor('index'), 'field'],
  countAttempt: [
    {
      keyPrefix: keyFor('count'),
      windows: [WINDOW],
      override: { ifKeyExists: keyFor('marker'), windows: [WINDOW] },
    },
  ],
  refundAttempt: [keyFor('count'), [{ window: WINDOW, windowId: 'none' }]],
  clearWindows: [keyFor('count'), [WINDOW], { key: keyFor('marker'), ttlMs: TTL_MS }],
}
