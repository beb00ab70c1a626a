import type { Cluster, Redis } from 'ioredis'
import { assertCountable, assertOneSlot, newWindowId, wholeMs } from './keys.ts'
import { createRedisBatch } from './redis-batch.ts'
import { createRedisClient } from './redis-client.ts'
import { createRedisLink, type StoreEvent } from './redis-link.ts'
import { probeRedis } from './redis-probe.ts'
import { createRedisRunner, type RedisRunner } from './redis-runner.ts'
import { parseRedisUrl } from './redis-url.ts'
import type { OpenedStore, Store } from './store.ts'
import { tlsMismatch } from './tls-mismatch.ts'

export interface RedisStoreParts {
  readonly url: string
  /** A private certificate authority, as PEM text; used by the TLS schemes. */
  readonly ca?: string
  /** No operation takes longer than this, whatever happens. */
  readonly commandTimeoutMs: number
  readonly connectTimeoutMs: number
  /** Told when the connection comes and goes; the event never carries the URL, an address or a password. */
  readonly onEvent?: (event: StoreEvent) => void
  /** Told once of each operation that ended in `storeUnavailable`. */
  readonly onFailure?: () => void
}

/**
 * The store on Redis 6.2 or later: standalone, behind sentinels, or a cluster. It returns at once and connects in
 * the background, so Redis need not be there yet.
 *
 * Every failure of Redis or of the way to it is `storeUnavailable`. An operation is sent again within its time only
 * when that cannot change what it means: a deletion that may have been carried out is not, as its answer would be wrong.
 */
export function createRedisStore({
  url,
  ca,
  commandTimeoutMs,
  connectTimeoutMs,
  onEvent,
  onFailure,
}: RedisStoreParts): OpenedStore {
  const target = parseRedisUrl(url)
  const client = createRedisClient({
    target,
    ...(ca === undefined ? {} : { ca }),
    commandTimeoutMs,
    connectTimeoutMs,
  })
  const link = createRedisLink({
    client,
    patienceMs: commandTimeoutMs,
    diagnose: () => tlsMismatch(target, connectTimeoutMs),
    ...(onEvent ? { onEvent } : {}),
  })
  const run = createRedisRunner({ link, commandTimeoutMs, ...(onFailure ? { onFailure } : {}) })

  return { store: createOperations(client, run, link.close), status: link.status }
}

function createOperations(client: Redis | Cluster, run: RedisRunner, close: () => Promise<void>): Store {
  const call = createRedisBatch(client)
  return {
    keepsOrder: !client.isCluster,

    async get(key) {
      return (await run('repeatable', () => client.get(key))) ?? undefined
    },

    async set(key, value, ttlMs, when) {
      const condition = when === undefined ? '' : CONDITIONS[when]
      const args = [value, wholeMs(ttlMs), condition]
      return (await run(when === 'absent' ? 'once' : 'repeatable', () => call('set', [key], args))) === 1
    },

    async swap(key, value, ttlMs) {
      const args = [value, wholeMs(ttlMs)]
      return (await run('once', () => call('swap', [key], args))) ?? undefined
    },

    async delete(key) {
      return (await run('once', () => call('delete', [key], []))) === 1
    },

    async deleteIf(key, expected) {
      return (await run('once', () => call('deleteIf', [key], [expected]))) === 1
    },

    async claim({ lockKey, recordKey, token, lockTtlMs, word: asked }) {
      const wordKey = asked?.key ?? recordKey
      assertOneSlot(lockKey, recordKey, wordKey)
      const lockMs = wholeMs(lockTtlMs)
      const [holder, value, word] = await run('repeatable', () =>
        call('claim', [lockKey, recordKey, wordKey], [token, lockMs, asked ? '1' : '0', asked?.bar ?? '']),
      )
      return {
        claimed: holder === token,
        holder: holder ?? undefined,
        value: value ?? undefined,
        word: word ?? undefined,
      }
    },

    async settle({ lockKey, recordKey, token, expected, record, result, word }) {
      const [resultKey, wordKey] = [result?.key ?? recordKey, word?.key ?? recordKey]
      assertOneSlot(lockKey, recordKey, resultKey, wordKey)
      const action = typeof record === 'object' ? 'write' : record
      const recordMs = typeof record === 'object' ? wholeMs(record.ttlMs) : 0
      const resultMs = result ? wholeMs(result.ttlMs) : 0
      const wordMs = word ? wholeMs(word.ttlMs) : 0
      const settled = await run(action === 'delete' ? 'once' : 'repeatable', () =>
        call(
          'settle',
          [lockKey, recordKey, resultKey, wordKey],
          [
            token,
            ...(expected === undefined ? ['', '0'] : [expected, '1']),
            ...(typeof record === 'object' ? ['write', record.write, recordMs] : [record, '', 0]),
            ...(result ? ['1', result.value, resultMs] : ['0', '', 0]),
            ...(word ? ['1', word.value, wordMs] : ['0', '', 0]),
          ],
        ),
      )
      return settled === 1
    },

    async indexPut(key, field, value, ttlMs) {
      const ms = wholeMs(ttlMs)
      return run('repeatable', () => call('indexPut', [key], [field, value, ms]))
    },

    async indexAll(key) {
      return run('repeatable', () => client.hgetall(key))
    },

    async indexRemove(key, field) {
      return (await run('once', () => call('indexRemove', [key], [field]))) === 1
    },

    async count(counting) {
      assertCountable(counting)
      const { place, windows, instead, notAfterMs } = counting
      // in one argument: as arguments of their own they would be thirty
      const both = [windows, instead?.windows ?? []].map((some) =>
        some.map(({ keySuffix, name, most, ttlMs, formerSuffix = '' }) => [
          keySuffix,
          name,
          most,
          wholeMs(ttlMs),
          formerSuffix,
        ]),
      )
      const [decided, full, leftMs, begunBy, late] = await run('once', () =>
        call(
          'count',
          [place, instead?.ifThere ?? place],
          [newWindowId(), instead ? '1' : '0', notAfterMs ?? '', JSON.stringify(both)],
        ),
      )
      const chosen = decided === 1 ? (instead?.windows ?? []) : windows
      return {
        instead: decided === 1,
        full: full < 0 ? undefined : { index: full, leftMs },
        ...(late === 1 ? { late: true } : {}),
        countedIn: chosen.flatMap((window, index) => {
          const by = begunBy[index]
          return by === undefined ? [] : [{ window, begunBy: by }]
        }),
      }
    },

    async uncount(place, counted) {
      if (counted.length === 0) return
      const flat = counted.flatMap(({ window, begunBy }) => [window.keySuffix, window.name, begunBy])
      await run('once', () => call('uncount', [place], flat))
    },

    async endCounts(place, windows, mark) {
      if (windows.length === 0 && mark === undefined) return
      const markKey = mark?.key ?? place
      assertOneSlot(place, markKey)
      const markMs = mark ? wholeMs(mark.ttlMs) : 0
      const flat = windows.flatMap(({ keySuffix, name, formerSuffix = '' }) => [
        keySuffix,
        name,
        formerSuffix,
      ])
      await run('once', () => call('endCounts', [place, markKey], [mark ? '1' : '0', markMs, ...flat]))
    },

    async ping() {
      await run('repeatable', () => probeRedis(client, call))
    },

    close,
  }
}

const CONDITIONS = { absent: 'NX', present: 'XX' } as const
