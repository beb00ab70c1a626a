import type { Cluster, Redis, Result } from 'ioredis'
import { CLEANUP_THRESHOLD } from './store.ts'

/**
 * The operations as bodies of Lua functions. Every write is a script, so writes reach Redis in the order of the calls. The keys of
 * one operation are in one slot.
 */
const SCRIPTS = {
  /** key; value, ttl, '' or 'NX' or 'XX' → 1 if written */
  set: `
if ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end
return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], ARGV[3]) and 1 or 0`,

  /** key; value, ttl → the previous value */
  swap: `
local before = redis.call('GET', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return before`,

  delete: `
return redis.call('DEL', KEYS[1])`,

  deleteIf: `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`,

  /** key; value, ttl → 1 if extended */
  extendIf: `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0`,

  /** lock, record; token, ttl of the lock → holder, record */
  acquire: `
local holder = redis.call('GET', KEYS[1]) or ARGV[1]
if holder == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return {holder, redis.call('GET', KEYS[2])}`,

  /** lock, record, shared result; token, expected record or '', '1' if there is one, change, value, ttl, shared value, its ttl → 1 if committed */
  commit: `
local current = redis.call('GET', KEYS[2])
local committed
if ARGV[3] == '1' then committed = current == ARGV[2] else committed = not current end
if ARGV[4] == 'write' then
  committed = committed or current == ARGV[5]
  if committed then redis.call('SET', KEYS[2], ARGV[5], 'PX', ARGV[6]) end
elseif ARGV[4] == 'delete' and committed then
  redis.call('DEL', KEYS[2])
end
if committed then redis.call('SET', KEYS[3], ARGV[7], 'PX', ARGV[8]) end
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return committed and 1 or 0`,

  /** index; field → number of removed fields */
  indexRemove: `
return redis.call('HDEL', KEYS[1], ARGV[1])`,

  /** index; field, value, ttl → number of fields */
  indexPut: `
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return redis.call('HLEN', KEYS[1])`,

  /**
   * key prefix, and the key of the override if there is one; id for new windows, notAfterMs or '', JSON of both lists of windows →
   * 1 if overridden, index of the full window or -1, its time left, id of each counted window, 1 if late
   */
  countAttempt: `
local now, keyPrefix = nowMs(), KEYS[1]
if ARGV[2] ~= '' and now > tonumber(ARGV[2]) then return {0, -1, 0, {}, 1} end
local overridden = KEYS[2] and redis.call('EXISTS', KEYS[2]) or 0
local windows = cjson.decode(ARGV[3])[overridden + 1]
local full, left, running = -1, -1, {}
for i, window in ipairs(windows) do
  local count, ends, windowId = windowAt(keyPrefix .. window.keySuffix, window.name)
  if ends <= now then count, ends, windowId = 0, nil, ARGV[1] end
  running[i] = {count, ends, windowId}
  if count >= window.maxAttempts and ends - now > left then full, left = i - 1, ends - now end
end
if full >= 0 then return {overridden, full, left, {}, 0} end
local ids = {}
for i, window in ipairs(windows) do
  local key, ttl, count, ends = keyPrefix .. window.keySuffix, window.ttlMs, running[i][1], running[i][2]
  ids[i] = running[i][3]
  if not ends then removeEnded(key, now) end
  writeWindow(key, window.name, count + 1, ends or now + ttl, ids[i])
  if not ends and redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end
end
return {overridden, -1, 0, ids, 0}`,

  /** key prefix; JSON of the counted windows */
  refundAttempt: `
for _, counted in ipairs(cjson.decode(ARGV[1])) do
  local key, name = KEYS[1] .. counted.window.keySuffix, counted.window.name
  local count, ends, windowId = windowAt(key, name)
  if windowId == counted.windowId and count > 1 then writeWindow(key, name, count - 1, ends, windowId)
  elseif windowId == counted.windowId then redis.call('HDEL', key, name) end
end
return 1`,

  /** key prefix, and the marker if there is one; JSON of the windows, ttl of the marker */
  clearWindows: `
for _, window in ipairs(cjson.decode(ARGV[1])) do
  redis.call('HDEL', KEYS[1] .. window.keySuffix, window.name)
end
if KEYS[2] then redis.call('SET', KEYS[2], '1', 'PX', ARGV[2]) end
return 1`,
} as const satisfies { readonly [Name in Exclude<keyof Replies, 'get' | 'indexAll'>]: string }

/** Functions for windows. A window is a field of a hash: "count endsAtMs windowId", the end in milliseconds since 1970. */
const WINDOWS = `
local function nowMs()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
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

/** Replies of Redis to each operation. The first two are plain commands: GET and HGETALL. */
export interface Replies {
  get: string | null
  indexAll: Record<string, string>
  set: 0 | 1
  swap: string | null
  delete: number
  indexRemove: number
  deleteIf: number
  extendIf: number
  acquire: [holder: string, record: string | null]
  commit: 0 | 1
  indexPut: number
  countAttempt: [overridden: number, full: number, leftMs: number, windowIds: string[], late: number]
  refundAttempt: 1
  clearWindows: 1
}

/**
 * One script for all operations, so that several are sent as one command (`redis-batch.ts`). Its keys are those of all operations in
 * order. Its arguments are, for each operation: name, number of keys, number of arguments, and the arguments. It returns for each
 * operation {1, reply} or {0, error}, so one failure does not affect the others. A read-only server makes the whole script fail,
 * and the client then looks for the new primary.
 */
const BATCH = `${WINDOWS}
local operations = {}
${Object.entries(SCRIPTS)
  .map(([name, body]) => `operations.${name} = function(KEYS, ARGV)${body}\nend`)
  .join('\n')}
local replies, key, at = {}, 0, 0
while at < #ARGV do
  local keys, arguments = ARGV[at + 2], ARGV[at + 3]
  local ok, reply = pcall(operations[ARGV[at + 1]],
    {unpack(KEYS, key + 1, key + keys)}, {unpack(ARGV, at + 4, at + 3 + arguments)})
  if not ok then
    reply = type(reply) == 'table' and reply.err or tostring(reply)
    if string.find(reply, 'READONLY', 1, true) then return redis.error_reply('READONLY replica') end
  end
  replies[#replies + 1] = {ok and 1 or 0, reply}
  key, at = key + keys, at + 3 + arguments
end
return replies`

/** ioredis sends it as EVALSHA, and as EVAL to a server that does not have the script. */
export function defineBatch(client: Redis | Cluster): void {
  client.defineCommand('gatehouseBatch', { lua: BATCH })
}

declare module 'ioredis' {
  interface RedisCommander<Context> {
    gatehouseBatch(
      numberOfKeys: number,
      ...keysAndArguments: (string | number)[]
    ): Result<[ok: 0 | 1, reply: unknown][], Context>
  }
}
