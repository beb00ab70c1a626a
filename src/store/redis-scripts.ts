import type { Result } from 'ioredis'
import { CLEANUP_THRESHOLD, SHORT } from './attempt-counters.ts'

/**
 * Functions for windows. A window is a field of a hash: "count endsAtMs windowId", the end in
 * milliseconds since 1970.
 */
const WINDOWS = `
local function windowAt(key, name)
  local count, ends, windowId = string.match(redis.call('HGET', key, name) or '', '^(%d+) (%d+) (.+)$')
  return tonumber(count or 0), tonumber(ends or 0), windowId
end
local function writeWindow(key, name, count, ends, windowId)
  redis.call('HSET', key, name, string.format('%d %.0f %s', count, ends, windowId))
end
local function removeEnded(key, now)
  local windows = redis.call('HLEN', key)
  if windows < ${CLEANUP_THRESHOLD} or now % windows >= ${CLEANUP_THRESHOLD} then return end
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    if tonumber(string.match(fields[i + 1], ' (%d+) ')) <= now then redis.call('HDEL', key, fields[i]) end
  end
end`

/**
 * The operations that are more than one Redis command, as commands of the client. ioredis sends a
 * script as EVAL once for each connection, and as EVALSHA after that. The keys of a script are in
 * one slot.
 */
export const SCRIPTS = {
  /** key; value → 1 if deleted */
  deleteIf: {
    numberOfKeys: 1,
    lua: `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`,
  },

  /** key; expected value, value, ttl → 1 if replaced */
  replaceIf: {
    numberOfKeys: 1,
    lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`,
  },

  /** key; number, ttl → 1 if written */
  raise: {
    numberOfKeys: 1,
    lua: `
if tonumber(redis.call('GET', KEYS[1]) or '-1') >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`,
  },

  /** lock, record; token, ttl of the lock → holder, record */
  acquire: {
    numberOfKeys: 2,
    lua: `
local holder = redis.call('GET', KEYS[1])
if not holder then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return {holder or ARGV[1], redis.call('GET', KEYS[2])}`,
  },

  /**
   * lock, record, shared result; token, expected record or '', '1' if there is one, change, value,
   * ttl, shared value, its ttl → 1 if committed
   */
  commit: {
    numberOfKeys: 3,
    lua: `
local current = redis.call('GET', KEYS[2])
local committed
if ARGV[3] == '1' then committed = current == ARGV[2] else committed = not current end
if committed then
  redis.call('SET', KEYS[3], ARGV[7], 'PX', ARGV[8]) -- first: if memory is full, nothing is changed
  if ARGV[4] == 'write' then redis.call('SET', KEYS[2], ARGV[5], 'PX', ARGV[6]) end
  if ARGV[4] == 'delete' then redis.call('DEL', KEYS[2]) end
end
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return committed and 1 or 0`,
  },

  /** index; value, ttl, fields → number of fields */
  indexPut: {
    numberOfKeys: 1,
    lua: `
for i = 3, #ARGV do redis.call('HSET', KEYS[1], ARGV[i], ARGV[1]) end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return redis.call('HLEN', KEYS[1])`,
  },

  /**
   * key prefix, and the key of the override if there is one; id for new windows, notAfterMs or '',
   * JSON of both lists of windows, the key without which windows are shortened or '', to which time
   * to live → 1 if overridden, index of the full window or -1, its time left, id of each counted
   * window, 1 if late, 1 if windows are shortened
   */
  countAttempt: {
    lua: `${WINDOWS}
local time = redis.call('TIME')
local now, keyPrefix = time[1] * 1000 + math.floor(time[2] / 1000), KEYS[1]
if ARGV[2] ~= '' and now > tonumber(ARGV[2]) then return {0, -1, 0, {}, 1, 0} end
local overridden = KEYS[2] and redis.call('EXISTS', KEYS[2]) or 0
local windows = cjson.decode(ARGV[3])[overridden + 1]
local short = overridden == 0 and ARGV[4] ~= '' and redis.call('EXISTS', ARGV[4]) == 0
if short then
  for _, window in ipairs(windows) do
    if window.ttlMs > tonumber(ARGV[5]) then window.keySuffix, window.ttlMs = '${SHORT.keySuffix}', tonumber(ARGV[5]) end
  end
end
local full, left, running = -1, -1, {}
for i, window in ipairs(windows) do
  local count, ends, windowId = windowAt(keyPrefix .. window.keySuffix, window.name)
  if ends <= now then count, ends, windowId = 0, nil, ARGV[1] end
  running[i] = {count, ends, windowId}
  if count >= window.maxAttempts and ends - now > left then full, left = i - 1, ends - now end
end
if full >= 0 then return {overridden, full, left, {}, 0, 0} end
local ids = {}
for i, window in ipairs(windows) do
  local key, count, ends = keyPrefix .. window.keySuffix, running[i][1], running[i][2]
  local ttl = math.max(1, math.ceil(window.ttlMs))
  ids[i] = running[i][3]
  if not ends then removeEnded(key, now) end
  writeWindow(key, window.name, count + 1, ends or now + ttl, ids[i])
  if not ends and redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end
end
return {overridden, -1, 0, ids, 0, short and 1 or 0}`,
  },

  /** key prefix; JSON of the counted windows */
  refundAttempt: {
    numberOfKeys: 1,
    lua: `${WINDOWS}
for _, counted in ipairs(cjson.decode(ARGV[1])) do
  local key, name = KEYS[1] .. counted.window.keySuffix, counted.window.name
  local count, ends, windowId = windowAt(key, name)
  if windowId == counted.windowId and count > 1 then writeWindow(key, name, count - 1, ends, windowId)
  elseif windowId == counted.windowId then redis.call('HDEL', key, name) end
end`,
  },

  /** key prefix, and the markers; JSON of the windows, ttl of the markers */
  clearWindows: {
    lua: `
for i = 2, #KEYS do redis.call('SET', KEYS[i], '1', 'PX', ARGV[2]) end
for _, window in ipairs(cjson.decode(ARGV[1])) do
  redis.call('HDEL', KEYS[1] .. window.keySuffix, window.name)
end`,
  },
} as const

type Argument = string | number
export type CountReply = [
  overridden: 0 | 1,
  full: number,
  leftMs: number,
  windowIds: string[],
  late: 0 | 1,
  isShort: 0 | 1,
]

declare module 'ioredis' {
  interface RedisCommander<Context> {
    deleteIf(key: string, value: string): Result<number, Context>
    replaceIf(key: string, ...args: Argument[]): Result<0 | 1, Context>
    raise(key: string, ...args: Argument[]): Result<0 | 1, Context>
    acquire(
      lock: string,
      record: string,
      ...args: Argument[]
    ): Result<[holder: string, record: string | null], Context>
    commit(lock: string, record: string, shared: string, ...args: Argument[]): Result<0 | 1, Context>
    indexPut(key: string, ...args: Argument[]): Result<number, Context>
    countAttempt(numberOfKeys: number, ...keysAndArgs: Argument[]): Result<CountReply, Context>
    refundAttempt(keyPrefix: string, counted: string): Result<null, Context>
    clearWindows(numberOfKeys: number, ...keysAndArgs: Argument[]): Result<null, Context>
  }
}
