import { randomUUID } from 'node:crypto'
import { Cluster, type Redis } from 'ioredis'
import { innermostFailure } from '../observability/dependency-failure.ts'
import { type CallRedis, createRedisBatch, type RedisCall } from '../store/redis-batch.ts'
import { createRedisClient } from '../store/redis-client.ts'
import { createRedisConnection } from '../store/redis-connection.ts'
import { connectionLost, databaseNotFound, toRedisFailure } from '../store/redis-errors.ts'
import { probeRedis } from '../store/redis-probe.ts'
import type { Replies } from '../store/redis-scripts.ts'
import { parseRedisUrl } from '../store/redis-url.ts'
import {
  type Check,
  type CheckGroup,
  type DoctorContext,
  type Finding,
  fail,
  ok,
  skipAll,
  skipped,
  warn,
} from './check.ts'

const NAMES = ['reach', 'version', 'database', 'policy', 'scripts', 'write', 'latency']

/** Until a database is selected, the client sends nothing. */
const NOT_SELECTED = 'not possible without redis.database'

type Client = Redis | Cluster

export function redisChecks({ config, timeoutMs }: DoctorContext): CheckGroup {
  const { ca } = config.redis
  const url = config.redis.url.current()
  if (/^memory:/.test(url)) return skipAll('redis', NAMES, 'REDIS_URL is memory:, the embedded store')
  const limits = { commandTimeoutMs: timeoutMs, connectTimeoutMs: timeoutMs }
  const client = createRedisClient({ target: parseRedisUrl(url), ...(ca && { ca }), ...limits })
  const connection = createRedisConnection({ url, ...limits }, client)
  const key = `gatehouse:doctor:{${randomUUID()}}`
  let code: string | undefined
  /** Fails if Redis does not answer, refuses the credentials, or refuses the database. */
  const connect = async () => {
    code = await connection
      .run((call) => call({ name: 'get', keys: [key], args: [] }), true)
      .then(() => undefined, codeOf)
    if (connection.isReady()) code = undefined // only the read was refused; redis.write shows it
  }
  const needs = ['redis.database']
  const checks: Check[] = [
    {
      name: 'redis.reach',
      async run() {
        await connect()
        return judgeReach(code)
      },
    },
    {
      name: 'redis.version',
      needs: ['redis.reach'],
      run: () => (code === undefined ? fromInfo(client, 'server', judgeVersion) : skipped(NOT_SELECTED)),
    },
    { name: 'redis.database', needs: ['redis.reach'], run: () => judgeDatabase(code) },
    { name: 'redis.policy', needs, run: () => fromInfo(client, 'memory', judgePolicy) },
    { name: 'redis.scripts', needs, run: () => checkScripts(client, key) },
    // waits, because the client reconnects if a replica has refused a script
    { name: 'redis.write', needs, run: () => connect().then(() => checkWrite(client, key)) },
    { name: 'redis.latency', needs: ['redis.write'], run: () => checkLatency(client, key) },
  ]
  return { checks, close: () => connection.close() }
}

function codeOf(error: unknown): string {
  return innermostFailure(error)?.code ?? toRedisFailure(error, connectionLost)?.code ?? 'unexpected error'
}

const NO_DATABASE = databaseNotFound().code
/** Redis has answered: these are replies to SELECT. */
const REFUSED_SELECT = new Set([NO_DATABASE, 'NOPERM'])
const CREDENTIALS = new Set(['WRONGPASS', 'NOAUTH'])

function judgeReach(code: string | undefined): Finding {
  if (code === undefined || REFUSED_SELECT.has(code)) return ok('Redis answers')
  if (CREDENTIALS.has(code))
    return fail(`Redis refuses the user or password (${code})`, 'Correct the user and password in REDIS_URL.')
  return fail(
    `Redis does not answer (${code})`,
    'Start Redis, or correct host, port and scheme in REDIS_URL, REDIS_CA_FILE, and the firewall.',
  )
}

function judgeDatabase(code: string | undefined): Finding {
  if (code === undefined) return ok('the database of REDIS_URL exists')
  if (code === NO_DATABASE)
    return fail('the database of REDIS_URL does not exist', 'Correct the number at the end of REDIS_URL.')
  return fail(
    `the Redis user may not select the database (${code})`,
    'Allow the Redis user to run SELECT (docs/operations.md).',
  )
}

/** The sections of every primary, because a cluster may be mixed. */
async function fromInfo(
  client: Client,
  section: string,
  judge: (infos: string[]) => Finding,
): Promise<Finding> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client]
  try {
    return judge(await Promise.all(nodes.map((node) => node.info(section))))
  } catch (error) {
    if (codeOf(error) !== 'NOPERM') throw error
    return skipped('the Redis user may not run INFO', 'Allow INFO (+info), or check it with redis-cli INFO.')
  }
}

const OLDEST_VERSION = [6, 2] as const

function judgeVersion(infos: readonly string[]): Finding {
  const versions = infos.map((info) => /^redis_version:(\d+)\.(\d+)/m.exec(info))
  const unknown = versions.some((version) => version === null)
  if (unknown)
    return warn('INFO does not name a version', 'Check that the server is compatible with Redis 6.2.')
  const [major, minor] = OLDEST_VERSION
  const isOld = (version: RegExpExecArray | null) =>
    Number(version?.[1]) < major || (Number(version?.[1]) === major && Number(version?.[2]) < minor)
  const old = versions.find(isOld)
  if (old) return fail(`Redis ${old[1]}.${old[2]} is too old`, 'Update Redis to version 6.2 or later.')
  return ok(`Redis ${versions[0]?.[1]}.${versions[0]?.[2]}`)
}

function judgePolicy(infos: readonly string[]): Finding {
  const policies = infos.map((info) => /^maxmemory_policy:([a-z-]{1,30})\s*$/m.exec(info)?.[1])
  const fix = 'Set maxmemory-policy to noeviction, and alert on used memory.'
  if (policies.includes(undefined))
    return skipped('INFO does not name the policy', `Check it with CONFIG GET maxmemory-policy. ${fix}`)
  const other = policies.find((policy) => policy !== 'noeviction')
  if (other === undefined) return ok('maxmemory-policy is noeviction')
  return fail(`maxmemory-policy is ${other}: Redis may delete sessions and limits when memory is full`, fix)
}

const TTL_MS = 10_000

/** Runs every operation of the store, all on the doctor's own key, which is deleted before and after each one. */
async function checkScripts(client: Client, key: string): Promise<Finding> {
  const call = createRedisBatch(client)
  const remove = () => call({ name: 'delete', keys: [key], args: [] })
  const onOwnKey: CallRedis = async <Name extends keyof Replies>(given: RedisCall<Name>) => {
    const calls = [remove(), call({ ...given, keys: given.keys.map(() => key) }), remove()] as const
    return (await Promise.all(calls))[1]
  }
  try {
    await probeRedis(onOwnKey) // sent as EVAL
    await probeRedis(onOwnKey) // sent as EVALSHA
    return ok('the Redis user may run all scripts of the broker')
  } catch (error) {
    const code = codeOf(error)
    return fail(`Redis refuses a script or a command in it (${code})`, REFUSED_FIXES[code] ?? WRITE_FIX)
  } finally {
    await client.del(key).catch(() => {}) // without the right to delete, the key expires
  }
}

async function checkWrite(client: Client, key: string): Promise<Finding> {
  try {
    const value = randomUUID()
    await client.set(key, value, 'PX', TTL_MS)
    const read = await client.get(key)
    await client.del(key)
    if (read === value) return ok('a key was written, read and deleted')
    return fail('a key that was just written could not be read', 'Connect to the primary, not to a replica.')
  } catch (error) {
    const code = codeOf(error)
    return fail(`Redis refuses to write, read or delete a key (${code})`, REFUSED_FIXES[code] ?? WRITE_FIX)
  }
}

const WRITE_FIX = 'Look at the log of Redis.'
const REFUSED_FIXES: Readonly<Record<string, string>> = {
  NOPERM: 'Give the Redis user the rights in docs/operations.md, on keys that begin with gatehouse:.',
  OOM: 'Give Redis more memory (maxmemory).',
  READONLY: 'Connect to the primary, not to a replica.',
}

const SAMPLES = 5
const SLOW_MS = 10

async function checkLatency(client: Client, key: string): Promise<Finding> {
  const times: number[] = []
  for (let sample = 0; sample < SAMPLES; sample++) {
    const startedAt = performance.now()
    await client.get(key)
    times.push(performance.now() - startedAt)
  }
  const medianMs = times.sort((one, other) => one - other)[Math.floor(SAMPLES / 2)] ?? 0
  const detail = `a read takes ${medianMs.toFixed(1)} ms (median of ${SAMPLES})`
  if (medianMs <= SLOW_MS) return ok(detail)
  return warn(detail, 'Run Redis close to the broker: each step of a sign-in has several round trips.')
}
