import type { Cluster, Redis, Result } from 'ioredis'

/** The operations that Redis has no command for. Each takes keys of one slot only. */
const SCRIPTS = {
  gatehouseDeleteIf: {
    numberOfKeys: 1,
    lua: `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`,
  },

  /** lock, record, word; token, lock's time to live, word's presence, how one begins that bars → holder, record, word */
  gatehouseClaim: {
    numberOfKeys: 3,
    lua: `
local value = redis.call('GET', KEYS[2])
local word = ARGV[3] == '1' and redis.call('GET', KEYS[3])
local barred = word and string.sub(word, 1, #ARGV[4]) == ARGV[4]
local holder = redis.call('GET', KEYS[1]) or (not barred and ARGV[1])
if holder == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return {holder, value, word}`,
  },

  /**
   * lock, record, result, word; token, expected or '' + its presence, what to do, value, ttl, then of the result and of the
   * word: presence, value, ttl
   */
  gatehouseSettle: {
    numberOfKeys: 4,
    lua: `
local current = redis.call('GET', KEYS[2])
local settled
if ARGV[3] == '1' then settled = current == ARGV[2] else settled = not current end
if ARGV[4] == 'write' then
  settled = settled or current == ARGV[5]
  if settled then redis.call('SET', KEYS[2], ARGV[5], 'PX', ARGV[6]) end
elseif ARGV[4] == 'delete' and settled then
  redis.call('DEL', KEYS[2])
end
if settled and ARGV[7] == '1' then redis.call('SET', KEYS[3], ARGV[8], 'PX', ARGV[9]) end
if settled and ARGV[10] == '1' then redis.call('SET', KEYS[4], ARGV[11], 'PX', ARGV[12]) end
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return settled and 1 or 0`,
  },

  /** index; field, value, time to live → how many fields there are */
  gatehouseIndexPut: {
    numberOfKeys: 1,
    lua: `
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return redis.call('HLEN', KEYS[1])`,
  },

  /**
   * place, key that decides; who counts, that key's presence, when it is too late or 0, in JSON both lists of windows, each
   * as name, most and time to live → which list counted, index of the full window or -1, its time left, by whom each was
   * begun, whether it was too late.
   * The windows' keys are made here, from the place: a command of ours has a fixed number of keys, or a cluster's
   * client would not see which slot it is for. All have the place's hash tag.
   */
  gatehouseCount: {
    numberOfKeys: 2,
    lua: `
if ARGV[3] ~= '0' then
  local now = redis.call('TIME')
  if now[1] * 1000 + now[2] / 1000 > tonumber(ARGV[3]) then return {0, -1, 0, {}, 1} end
end
local instead = ARGV[2] == '1' and redis.call('EXISTS', KEYS[2]) or 0
local windows = cjson.decode(ARGV[4])[instead + 1]
local full, left = -1, -1
for i, window in ipairs(windows) do
  local key = KEYS[1] .. window[1]
  if tonumber(redis.call('HGET', key, 'count') or 0) >= window[2] then
    local ms = redis.call('PTTL', key)
    if ms > left then full, left = i - 1, ms end
  end
end
if full >= 0 then return {instead, full, left, {}, 0} end
local begun = {}
for i, window in ipairs(windows) do
  local key = KEYS[1] .. window[1]
  if redis.call('HSETNX', key, 'begunBy', ARGV[1]) == 1 then redis.call('PEXPIRE', key, window[3]) end
  redis.call('HINCRBY', key, 'count', 1)
  begun[i] = redis.call('HGET', key, 'begunBy')
end
return {instead, -1, 0, begun, 0}`,
  },

  /** place; name of each window and by whom it was begun */
  gatehouseUncount: {
    numberOfKeys: 1,
    lua: `
for i = 1, #ARGV, 2 do
  local key = KEYS[1] .. ARGV[i]
  if redis.call('HGET', key, 'begunBy') == ARGV[i + 1] and redis.call('HINCRBY', key, 'count', -1) <= 0 then
    redis.call('DEL', key)
  end
end
return 1`,
  },

  /** place, mark; the mark's presence and time to live, name of each window */
  gatehouseEndCounts: {
    numberOfKeys: 2,
    lua: `
for i = 3, #ARGV do redis.call('DEL', KEYS[1] .. ARGV[i]) end
if ARGV[1] == '1' then redis.call('SET', KEYS[2], '1', 'PX', ARGV[2]) end
return 1`,
  },
} as const

/** Sent as EVALSHA; ioredis sends the whole script where the server does not have it. */
export function defineScripts(client: Redis | Cluster): void {
  for (const [name, script] of Object.entries(SCRIPTS)) client.defineCommand(name, script)
}

declare module 'ioredis' {
  interface RedisCommander<Context> {
    gatehouseDeleteIf(key: string, expected: string): Result<number, Context>
    gatehouseClaim(
      lockKey: string,
      recordKey: string,
      wordKey: string,
      token: string,
      lockTtlMs: number,
      hasWord: '0' | '1',
      bar: string,
    ): Result<[holder: string | null, value: string | null, word: string | null], Context>
    gatehouseSettle(
      lockKey: string,
      recordKey: string,
      resultKey: string,
      wordKey: string,
      token: string,
      expected: string,
      expectsValue: '0' | '1',
      action: 'write' | 'keep' | 'delete',
      value: string,
      ttlMs: number,
      hasResult: '0' | '1',
      result: string,
      resultTtlMs: number,
      hasWord: '0' | '1',
      word: string,
      wordTtlMs: number,
    ): Result<number, Context>
    gatehouseCount(
      place: string,
      decidingKey: string,
      by: string,
      hasDecidingKey: '0' | '1',
      notAfterMs: number,
      windows: string,
    ): Result<[instead: number, full: number, leftMs: number, begunBy: string[], late: number], Context>
    gatehouseUncount(place: string, ...namesAndBegunBy: string[]): Result<number, Context>
    gatehouseEndCounts(
      place: string,
      markKey: string,
      hasMark: '0' | '1',
      markTtlMs: number,
      ...names: string[]
    ): Result<number, Context>
    gatehouseIndexPut(key: string, field: string, value: string, ttlMs: number): Result<number, Context>
  }
}
