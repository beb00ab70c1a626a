import { expect } from '@jest/globals'
import { BrokerError } from '../../src/errors.ts'
import { createRedisClient, type RedisClientOptions, type StoreEvent } from '../../src/store/redis-client.ts'
import { createRedisStore, type RedisStoreOptions } from '../../src/store/redis-store.ts'
import { parseRedisUrl } from '../../src/store/redis-url.ts'
import type { Store } from '../../src/store/store.ts'
import { type RedisServer, type RedisServerOptions, startRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

/** The time limit of an operation. */
export const BOUND_MS = 500
/** Additional time for a slow machine; still detects an operation that never ends. */
export const SLACK_MS = 20_000

const cleanUps: (() => Promise<void>)[] = []

/** For `afterEach`: stops everything that the test has started, in reverse order. */
export async function cleanUpAll(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
}

export async function server(options?: RedisServerOptions): Promise<RedisServer> {
  return stopped(await startRedis(options))
}

export function stopped<Server extends { stop(): Promise<void> }>(started: Server): Server {
  cleanUps.push(() => started.stop())
  return started
}

export function connect(
  url: string,
  given: Partial<Omit<RedisClientOptions, 'target'> & Pick<RedisStoreOptions, 'onReply' | 'traced'>> = {},
) {
  const events: StoreEvent[] = []
  let failures = 0
  const options = { commandTimeoutMs: BOUND_MS, connectTimeoutMs: BOUND_MS, ...given }
  const redis = createRedisClient({
    target: parseRedisUrl(url),
    onEvent: (event) => events.push(event),
    ...options,
  })
  const store = createRedisStore({
    ...options,
    redis,
    onFailure: () => {
      failures += 1
    },
  })
  cleanUps.push(() => store.close())
  return { store, redis, isReady: () => redis.status === 'ready', events, failures: () => failures }
}

const WINDOW = { keySuffix: '', name: 'a', maxAttempts: 1_000_000, ttlMs: 1000 }
const record = { lockKey: 'gatehouse:lock:{r}', recordKey: 'gatehouse:txn:{r}' }
const shared = { key: 'gatehouse:lock:{r}:x', value: 'x', ttlMs: 1000 }
export const OPERATIONS: readonly [name: string, run: (store: Store) => Promise<unknown>][] = [
  ['get', (store) => store.get('gatehouse:a')],
  ['set', (store) => store.set('gatehouse:a', '1', 1000)],
  ['set when absent', (store) => store.set('gatehouse:a', '1', 1000, 'absent')],
  ['set when present', (store) => store.set('gatehouse:a', '1', 1000, 'present')],
  ['swap', (store) => store.swap('gatehouse:a', '1', 1000)],
  ['delete', (store) => store.delete('gatehouse:a')],
  ['replaceIf', (store) => store.replaceIf('gatehouse:a', '1', '2', 1000)],
  ['deleteIf', (store) => store.deleteIf('gatehouse:a', '1')],
  ['deleteAll', (store) => store.deleteAll('gatehouse:a')],
  ['acquire', (store) => store.acquire({ ...record, token: 't', lockTtlMs: 1000 })],
  ['commit', (store) => store.commit({ ...record, token: 't', expected: undefined, record: 'keep', shared })],
  [
    'commit, deleting',
    (store) => store.commit({ ...record, token: 't', expected: undefined, record: 'delete', shared }),
  ],
  ['indexPut', (store) => store.indexPut('gatehouse:i', 'f', '1', 1000)],
  ['indexAll', (store) => store.indexAll('gatehouse:i')],
  ['indexRemove', (store) => store.indexRemove('gatehouse:i', 'f')],
  ['countAttempt', (store) => store.countAttempt({ keyPrefix: 'gatehouse:c:{c}', windows: [WINDOW] })],
  ['refundAttempt', (store) => store.refundAttempt('gatehouse:c:{c}', [{ window: WINDOW, windowId: 'b' }])],
  ['clearWindows', (store) => store.clearWindows('gatehouse:c:{c}', [WINDOW])],
  [
    'clearWindows, leaving a mark',
    (store) => store.clearWindows('gatehouse:c:{c}', [WINDOW], { keys: ['gatehouse:m:{c}'], ttlMs: 1000 }),
  ],
  ['ping', (store) => store.ping()],
  ['time', (store) => store.time()],
]

/**
 * Runs all operations concurrently: each must be 503 within the time limit. Returns the reasons.
 */
export async function expectUnavailable(store: Store, operations = OPERATIONS): Promise<string[]> {
  const started = performance.now()
  const outcomes = await Promise.all(
    operations.map(([, run]) => run(store).then(() => undefined, unavailableReason)),
  )
  const tookMs = performance.now() - started
  expect(operations.filter((_, n) => outcomes[n] === undefined).map(([name]) => name)).toEqual([])
  expect(tookMs).toBeLessThan(BOUND_MS + SLACK_MS)
  return outcomes.map((outcome) => outcome ?? '')
}

export function unavailableReason(error: unknown): string | undefined {
  if (!(error instanceof BrokerError) || error.status !== 503) return undefined
  expect(error.headers).toHaveProperty('Retry-After')
  return error.cause instanceof Error ? error.cause.message : 'no cause'
}

export async function expectWorking(store: Store): Promise<void> {
  await until(() => store.ping().then(() => true), { what: 'a store that works again' })
  for (const [name, run] of OPERATIONS)
    await until(() => run(store).then(() => true), { what: `${name} that works again` })
}

export const secretIn = (events: readonly object[], ...secrets: string[]) =>
  secrets.filter((secret) => JSON.stringify(events).includes(secret))
