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
import { inScene } from './growth/scene.ts'
import { writeResults } from './page.ts'
import { endAll, pinSelf, startRedis } from './processes.ts'
import { type RedisMemoryRow, redisMemoryTable } from './redis-memory-report.ts'
import { startGatehouse } from './targets.ts'
import { prepare } from './visitors.ts'

/**
 * `npm run bench:redis`: what each kind of record takes in Redis. A broker process and a redis-server of its own write
 * thousands of each; then every key of a kind is deleted, and what `used_memory` falls by is what they took: keys,
 * values, expiry times and the tables that find them. A PAM list is one key: `MEMORY USAGE`. About two minutes.
 */

const { values: options } = parseArgs({
  options: {
    users: { type: 'string', default: '5000' },
    attempts: { type: 'string', default: '20000' },
    /** Only prints. */
    dry: { type: 'boolean', default: false },
  },
})

/** The same as the bench's environment gives to the broker. */
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
  await endAll()
}
process.exit()

function usersSignedIn(users: number): Promise<RedisMemoryRow[]> {
  return inScene({}, async ({ origins: [origin], redis }) => {
    await prepare(origin, 'S', users)
    await settled(redis)
    const session = (await freed(redis, /^gatehouse:sess:/)) + (await freed(redis, /^gatehouse:user-sess:/))
    const known = await freed(redis, /^gatehouse:known:/)
    return [
      {
        what: 'a session, with its entry in the user’s index',
        bytes: session / users,
        kept: '30 min without use, at most 12 h',
      },
      { what: 'a known device of a user', bytes: known / users, kept: '90 days' },
    ]
  })
}

function transactions(users: number): Promise<RedisMemoryRow[]> {
  return inScene({}, async ({ origins: [origin], redis }) => {
    await prepare(origin, 'V', users)
    await settled(redis)
    const bytes = (await freed(redis, /^gatehouse:txn:/)) / users
    return [{ what: 'a transaction, with two factors offered', bytes, kept: '5 min after its last step' }]
  })
}

/** Each with a name, an address and a device that were never seen before, against the sandbox. */
async function failedSignIns(attempts: number): Promise<RedisMemoryRow[]> {
  const logs = mkdtempSync(join(tmpdir(), 'gatehouse-redis-'))
  const config = loadSandboxConfig(SANDBOX_CONFIG)
  const rateLimits = { ...config.rateLimits, trustedPerWindow: 10_000_000, publicPerWindow: 10_000_000 }
  const sandbox = createSandbox({ config: { ...config, apiTokens: [API_TOKEN], rateLimits } })
  const { authnUrl, pamUrl, close } = await sandbox.listen()
  const { url, client: redis } = await startRedis()
  const env = { AUTHN_BASE_URL: authnUrl, PAM_BASE_URL: pamUrl, REDIS_URL: url }
  const { port } = await startGatehouse({ env, logFile: join(logs, 'broker.log') })

  await flood(`http://127.0.0.1:${port}`, 1, attempts) // what the first one costs is not theirs
  const before = await usedBytes(redis)
  await flood(`http://127.0.0.1:${port}`, attempts)
  await settled(redis)
  const whole = (await usedBytes(redis)) - before
  const inARow = await freed(redis, /:in_a_row$/)
  const address = await freed(redis, /^gatehouse:limit:/, HOUR_MS)
  await close()
  redis.disconnect()
  rmSync(logs, { recursive: true }) // after a failure they stay

  const row = (what: string, bytes: number, kept: string) => ({ what, bytes: bytes / attempts, kept })
  return [
    row('a failed sign-in with a new name, address and device, in total', whole, ''),
    row('of which: counts for the address', address, '1 h'),
    row('of which: counts for the user', whole - address - inARow, '24 h'),
    row('of which: failures in a row of the user', inARow, '30 days'),
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
          username: `nobody.${n}@example.test`,
          password: 'plainly-fake-wrong-password',
        }),
      })
      await answer.body.dump()
      if (answer.statusCode !== 401) throw new Error(`a failed sign-in was answered ${answer.statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: 32 }, worker))
  await pool.destroy()
}

async function pamLists(sizes: readonly number[]): Promise<RedisMemoryRow[]> {
  const rows: RedisMemoryRow[] = []
  for (const size of sizes) {
    const bytes = await inScene(
      { stubEnv: { STUB_GROUPS: String(size) } },
      async ({ origins: [origin], redis }) => {
        const [ask] = await prepare(origin, 'G', 1)
        if (ask === undefined) throw new Error('nobody has signed in')
        const answer = await fetch(origin + ask.path, { headers: ask.headers })
        if (!answer.ok) throw new Error(`the groups were answered ${answer.status}`)
        await answer.text()
        const lists = await redis.keys('gatehouse:pam-groups:*')
        const sizes = await Promise.all(lists.map((key) => redis.memory('USAGE', key)))
        return sizes.reduce<number>((sum, bytes) => sum + Number(bytes), 0)
      },
    )
    rows.push({ what: `a PAM list of ${size.toLocaleString('en')} groups`, bytes, kept: '15 min' })
  }
  return rows
}

/** What Redis gets back when every key of a kind is deleted; of those alone that end within `ttlMs`, where that is given. */
async function freed(redis: Redis, kind: RegExp, ttlMs = Number.POSITIVE_INFINITY): Promise<number> {
  const keys = (await redis.keys('gatehouse:*')).filter((key) => kind.test(key))
  const ttls = await Promise.all(keys.map((key) => redis.pttl(key)))
  const chosen = keys.filter((_, n) => (ttls[n] ?? 0) <= ttlMs)
  if (chosen.length === 0) throw new Error(`there is no key ${kind}`)
  const before = await usedBytes(redis)
  for (let n = 0; n < chosen.length; n += 1000) await redis.del(...chosen.slice(n, n + 1000))
  await pause(2000) // Redis makes its tables smaller little by little
  return before - (await usedBytes(redis))
}

/** Waits until what is kept for seconds, the shared results, is gone: from Redis' memory too, not from its answers alone. */
async function settled(redis: Redis): Promise<void> {
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
