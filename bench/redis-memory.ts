import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Redis } from 'ioredis'
import { Pool } from 'undici'
import { createSandbox } from '../src/sandbox/sandbox.ts'
import { loadSandboxConfig } from '../src/sandbox/sandbox-config.ts'
import { withEnvironment } from './growth/environment.ts'
import { writeResults } from './output.ts'
import { prepare } from './prepare-requests.ts'
import { killAll, pinSelf, startRedis } from './processes.ts'
import { type RedisMemoryRow, redisMemoryTable } from './redis-memory-report.ts'
import { startGatehouse } from './targets.ts'

/**
 * `npm run bench:redis`: the memory of each kind of record in Redis. A broker process writes thousands of each kind to its
 * own redis-server. Then all keys of a kind are deleted, and the decrease of `used_memory` is their size: keys, values,
 * expiry times and hash tables. A PAM list is one key, measured with `MEMORY USAGE`. Takes about two minutes.
 */

const { values: options } = parseArgs({
  options: {
    users: { type: 'string', default: '5000' },
    attempts: { type: 'string', default: '20000' },
    /** Prints the results and does not write them. */
    dry: { type: 'boolean', default: false },
  },
})

/** As in the broker's environment in targets.ts. */
const API_TOKEN = 'plainly-fake-bench-ssws-token'
const SANDBOX_CONFIG = fileURLToPath(new URL('../../config/sandbox.json', import.meta.url))
const HOUR_MS = 3_600_000

pinSelf()
try {
  const rows = [
    ...(await usersSignedIn(Number(options.users))),
    ...(await transactions(Number(options.users))),
    ...(await failedSignIns(Number(options.attempts))),
    ...(await pamLists([100, 1000, 10_000])),
  ]
  const results = { at: new Date().toISOString(), rows }
  process.stdout.write(`${redisMemoryTable(results)}\n`)
  if (!options.dry) writeResults('redis-memory.json', results)
} finally {
  await killAll()
}
process.exit()

function usersSignedIn(users: number): Promise<RedisMemoryRow[]> {
  return withEnvironment({}, async ({ origins: [origin], redis }) => {
    await prepare(origin, 'S', users)
    await waitForExpiry(redis)
    const session = (await freed(redis, /^gatehouse:sess:/)) + (await freed(redis, /^gatehouse:user-sess:/))
    const known = await freed(redis, /^gatehouse:(known|user-device):/)
    return [
      {
        record: 'a session, with its entry in the user’s index',
        bytes: session / users,
        kept: '30 min without use, at most 12 h',
      },
      {
        record: 'a device of a user, with its entry in the user’s list',
        bytes: known / users,
        kept: '90 days, in the list 400',
      },
    ]
  })
}

function transactions(users: number): Promise<RedisMemoryRow[]> {
  return withEnvironment({}, async ({ origins: [origin], redis }) => {
    await prepare(origin, 'V', users)
    await waitForExpiry(redis)
    const bytes = (await freed(redis, /^gatehouse:txn:/)) / users
    return [{ record: 'a transaction, with two factors offered', bytes, kept: '5 min after its last step' }]
  })
}

/** Failed sign-ins against the sandbox, each with a new username, address and device. */
async function failedSignIns(attempts: number): Promise<RedisMemoryRow[]> {
  const logs = mkdtempSync(join(tmpdir(), 'gatehouse-redis-'))
  const config = loadSandboxConfig(SANDBOX_CONFIG)
  const rateLimits = { ...config.rateLimits, trustedPerWindow: 10_000_000, publicPerWindow: 10_000_000 }
  const sandbox = createSandbox({ config: { ...config, apiTokens: [API_TOKEN], rateLimits } })
  const { authnUrl, pamUrl, close } = await sandbox.listen()
  const { url, client: redis } = await startRedis()
  const env = { AUTHN_BASE_URL: authnUrl, PAM_BASE_URL: pamUrl, REDIS_URL: url }
  const { port } = await startGatehouse({ env, logFile: join(logs, 'broker.log') })

  await flood(`http://127.0.0.1:${port}`, 1, attempts) // exclude one-time costs
  const before = await usedBytes(redis)
  await flood(`http://127.0.0.1:${port}`, attempts)
  await waitForExpiry(redis)
  const total = (await usedBytes(redis)) - before
  const consecutive = await freed(redis, /:in_a_row$/)
  const address = await freed(redis, /^gatehouse:limit:/, HOUR_MS)
  await close()
  redis.disconnect()
  rmSync(logs, { recursive: true }) // kept after a failure

  const row = (record: string, bytes: number, kept: string) => ({ record, bytes: bytes / attempts, kept })
  return [
    row('a failed sign-in with a new name, address and device, in total', total, ''),
    row('of which: counts for the address', address, '1 h'),
    row('of which: counts for the user', total - address - consecutive, '24 h'),
    row('of which: failures in a row of the user', consecutive, '30 days'),
  ]
}

async function flood(origin: string, attempts: number, from = 0): Promise<void> {
  const pool = new Pool(origin, { connections: 32 })
  let next = from
  const worker = async () => {
    while (next < from + attempts) {
      const n = next++
      const answer = await pool.request({
        method: 'POST',
        path: '/api/v1/authn',
        headers: {
          'content-type': 'application/json',
          'sec-fetch-site': 'same-origin',
          'x-forwarded-for': `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`,
        },
        body: JSON.stringify({
          username: `unknown.${n}@example.test`,
          password: 'plainly-fake-wrong-password',
        }),
      })
      await answer.body.dump()
      if (answer.statusCode !== 401) throw new Error(`a failed sign-in responded ${answer.statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: 32 }, worker))
  await pool.destroy()
}

async function pamLists(sizes: readonly number[]): Promise<RedisMemoryRow[]> {
  const rows: RedisMemoryRow[] = []
  for (const size of sizes) {
    const bytes = await withEnvironment(
      { stubEnv: { STUB_GROUPS: String(size) } },
      async ({ origins: [origin], redis }) => {
        const [request] = await prepare(origin, 'G', 1)
        if (request === undefined) throw new Error('no request was prepared')
        const answer = await fetch(origin + request.path, { headers: request.headers })
        if (!answer.ok) throw new Error(`the groups request responded ${answer.status}`)
        await answer.text()
        const lists = await redis.keys('gatehouse:pam-groups:*')
        const sizes = await Promise.all(lists.map((key) => redis.memory('USAGE', key)))
        return sizes.reduce<number>((sum, bytes) => sum + Number(bytes), 0)
      },
    )
    rows.push({ record: `a PAM list of ${size.toLocaleString('en')} groups`, bytes, kept: '15 min' })
  }
  return rows
}

/** The memory that is freed by deleting all keys of a kind, optionally only those that expire within `ttlMs`. */
async function freed(redis: Redis, kind: RegExp, ttlMs = Number.POSITIVE_INFINITY): Promise<number> {
  const keys = (await redis.keys('gatehouse:*')).filter((key) => kind.test(key))
  const ttls = await Promise.all(keys.map((key) => redis.pttl(key)))
  const chosen = keys.filter((_, n) => (ttls[n] ?? 0) <= ttlMs)
  if (chosen.length === 0) throw new Error(`no key matches ${kind}`)
  const before = await usedBytes(redis)
  for (let n = 0; n < chosen.length; n += 1000) await redis.del(...chosen.slice(n, n + 1000))
  await pause(2000) // Redis shrinks its hash tables gradually
  return before - (await usedBytes(redis))
}

/** Waits until the shared results, which live for seconds, have expired and Redis has freed their memory. */
async function waitForExpiry(redis: Redis): Promise<void> {
  for (;;) {
    const keys = await redis.keys('*')
    const isOver =
      !keys.some((key) => key.startsWith('gatehouse:lock:')) && keys.length === (await redis.dbsize())
    if (isOver) return
    await pause(500)
  }
}

async function usedBytes(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1])
}
