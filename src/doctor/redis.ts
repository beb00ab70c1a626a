import { Cluster, type Redis } from 'ioredis'
import { v4 as uuid } from 'uuid'
import type { MasterKeys } from '../crypto/keys.ts'
import { innermostFailure } from '../observability/dependency-failure.ts'
import { judgeKeys, registryKey, unknownKeys } from '../store/key-registry.ts'
import { KEYS, keyOf } from '../store/keys.ts'
import { connected, createRedisClient, type RedisClientOptions } from '../store/redis-client.ts'
import { NO_DATABASE, NO_INFO, NOT_CONNECTED, redisFailure, UNKNOWN_COMMAND } from '../store/redis-errors.ts'
import { createRedisStore, probeStore } from '../store/redis-store.ts'
import { parseRedisUrl } from '../store/redis-url.ts'
import type { Store } from '../store/store.ts'
import { type Check, type CheckGroup, type DoctorContext, skipAll } from './check.ts'
import { type Finding, fail, ok, skipped, warn } from './finding.ts'

const NAMES = ['reach', 'database', 'version', 'policy', 'scripts', 'write', 'keys', 'latency']

type Client = Redis | Cluster

export function redisChecks({ config, timeoutMs, now }: DoctorContext): CheckGroup {
  const { ca, cert, keyPrefix } = config.redis
  const tls = { ca, cert, privateKey: config.redis.privateKey?.value }
  const url = config.redis.url.value
  if (/^memory:/.test(url)) return skipAll('redis', NAMES, 'REDIS_URL is memory:, the embedded store')
  const limits = { commandTimeoutMs: timeoutMs, connectTimeoutMs: timeoutMs }
  const target = parseRedisUrl(url)
  const key = keyOf({ keyPrefix }, KEYS.doctorProbe, uuid())
  const { client, store, connect, close } = createDoctorClient(key, { target, keyPrefix, ...tls, ...limits })
  let code: string | undefined
  const needs = ['redis.database']
  const checks: Check[] = [
    {
      name: 'redis.reach',
      run: async () => {
        code = await connect()
        return judgeReach(code)
      },
    },
    // until a database is selected, the client sends nothing
    { name: 'redis.database', needs: ['redis.reach'], run: () => judgeDatabase(code) },
    { name: 'redis.version', needs, run: () => fromInfo(client, 'server', judgeVersion) },
    { name: 'redis.policy', needs, run: () => fromInfo(client, 'memory', judgePolicy) },
    { name: 'redis.scripts', needs, run: () => checkScripts(client, store, key) },
    // waits, because the client reconnects if a replica has refused a script
    { name: 'redis.write', needs, run: () => connect().then(() => checkWrite(client, key)) },
    {
      name: 'redis.keys',
      needs: ['redis.write'],
      run: () => checkKeys(client, registryKey(store), config.secretKeys.value, now()),
    },
    { name: 'redis.latency', needs: ['redis.write'], run: () => checkLatency(client, key) },
  ]
  return { checks, close }
}

function createDoctorClient(key: string, options: RedisClientOptions & { keyPrefix: string }) {
  let onState: (reason?: string) => void = () => {}
  const client = createRedisClient({
    ...options,
    onEvent(state) {
      if (state.event !== 'store_disconnected') onState('reason' in state ? state.reason : undefined)
    },
  })
  const store = createRedisStore({ ...options, redis: client })
  return {
    client,
    store,
    close: async () => client.disconnect(),

    /**
     * Returns a code if Redis does not answer, refuses the credentials, or refuses the database.
     */
    async connect(): Promise<string | undefined> {
      const state = new Promise<string | undefined>((resolve) => {
        onState = resolve
        setTimeout(resolve, options.connectTimeoutMs, 'timeout').unref()
      })
      const failed = await connected(client, options.connectTimeoutMs).then(() => undefined, codeOf)
      const refused = await client.get(key).then(() => undefined, codeOf)
      if (refused !== NOT_CONNECTED) return undefined // redis.write shows any other
      // a cluster that is found, but whose nodes refuse, has no reason in `state`
      return (await state) ?? failed
    },
  }
}

const codeOf = (error: unknown) => (innermostFailure(error) ?? redisFailure(error)).code ?? 'unexpected error'

/** Redis has answered: these are replies to SELECT. */
const REFUSED_SELECT = new Set([NO_DATABASE, 'NOPERM'])
const CREDENTIALS = new Set(['WRONGPASS', 'NOAUTH'])

function judgeReach(code: string | undefined): Finding {
  if (code === undefined || REFUSED_SELECT.has(code)) return ok('Redis answers')
  if (CREDENTIALS.has(code))
    return fail(`Redis refuses the user or password (${code})`, 'Correct the user and password in REDIS_URL.')
  if (code === NO_INFO)
    return fail(
      'Redis answers, but does not know INFO, without which the broker does not use it',
      RENAMED_FIX,
    )
  return fail(
    `Redis does not answer (${code})`,
    'Start Redis, or correct host, port and scheme in REDIS_URL (rediss:// needs its TLS port), REDIS_CA_FILE, REDIS_CERT_FILE, and the firewall. A cluster must serve all slots (redis-cli --cluster check).',
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

const OLDEST_VERSION = 6.2

function judgeVersion(infos: readonly string[]): Finding {
  const versions = infos.map((info) => /^redis_version:(\d+\.\d+)/m.exec(info)?.[1])
  if (versions.includes(undefined))
    return warn('INFO does not name a version', 'Check that the server is compatible with Redis 6.2.')
  const old = versions.find((version) => Number(version) < OLDEST_VERSION)
  if (old !== undefined) return fail(`Redis ${old} is too old`, 'Update Redis to version 6.2 or later.')
  return ok(`Redis ${versions[0]}`)
}

function judgePolicy(infos: readonly string[]): Finding {
  const policies = infos.map((info) => /^maxmemory_policy:([a-z-]{1,30})\s*$/m.exec(info)?.[1])
  const fix = 'Set maxmemory-policy to noeviction, and alert on used memory.'
  if (policies.includes(undefined))
    return skipped('INFO does not name the policy', `Check it with CONFIG GET maxmemory-policy. ${fix}`)
  const other = policies.find((policy) => policy !== 'noeviction')
  if (other === undefined && infos.some((info) => /^maxmemory:0\s*$/m.test(info)))
    return warn(
      'maxmemory is 0: Redis takes all memory of its machine, which may then end it',
      'Set maxmemory to less than the memory of the machine, and alert on used memory.',
    )
  if (other === undefined) return ok('maxmemory-policy is noeviction')
  return fail(`maxmemory-policy is ${other}: Redis may delete sessions and limits when memory is full`, fix)
}

const TTL_MS = 10_000

/** Runs every command of the store, all on the doctor's own key, which is deleted afterwards. */
async function checkScripts(client: Client, store: Store, key: string): Promise<Finding> {
  try {
    await probeStore(store, key) // scripts are sent as EVAL
    await probeStore(store, key) // scripts are sent as EVALSHA
    return ok('the Redis user may run all scripts of the broker')
  } catch (error) {
    const code = codeOf(error)
    return fail(`Redis refuses a script or a command in it (${code})`, refusedFix(code))
  } finally {
    await client.del(key).catch(() => {}) // without the right to delete, the key expires
  }
}

async function checkWrite(client: Client, key: string): Promise<Finding> {
  try {
    const value = uuid()
    await client.set(key, value, 'PX', TTL_MS)
    const read = await client.get(key)
    await client.del(key)
    if (read === value) return ok('a key was written, read and deleted')
    return fail('a key that was just written could not be read', 'Connect to the primary, not to a replica.')
  } catch (error) {
    const code = codeOf(error)
    return fail(`Redis refuses to write, read or delete a key (${code})`, refusedFix(code))
  }
}

const RENAMED_FIX =
  'If the configuration of Redis renames the command (rename-command), use an ACL user instead. If REDIS_URL is the address of a proxy, use that of Redis.'
const WRITE_FIX = 'Look at the log of Redis.'
const refusedFix = (code: string) =>
  code.startsWith(UNKNOWN_COMMAND) ? RENAMED_FIX : (REFUSED_FIXES[code] ?? WRITE_FIX)
const REFUSED_FIXES: Readonly<Record<string, string>> = {
  NOPERM: 'Give the Redis user the rights in docs/operations.md, on keys that begin with REDIS_KEY_PREFIX.',
  OOM: 'Give Redis more memory (maxmemory).',
  READONLY: 'Connect to the primary, not to a replica.',
}

/** The broker itself refuses to start with keys that this check fails. */
async function checkKeys(client: Client, key: string, keys: MasterKeys, nowMs: number): Promise<Finding> {
  const { opened, unopened } = judgeKeys(await client.hgetall(key), key, keys, nowMs)
  const [problem, fix] = unknownKeys(key)
  if (opened.length === 0 && unopened.length > 0) return fail(`SECRET_KEYS ${problem}`, fix)
  if (unopened.length > 0)
    return warn(
      'a replica that uses this Redis has a key that SECRET_KEYS lacks',
      'Finish the rotation of SECRET_KEYS, or correct the replica that has other keys.',
    )
  return ok(
    opened.length > 0 ? 'SECRET_KEYS has the keys of the replicas' : 'no replica has used this Redis yet',
  )
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
  const medianMs = times.sort((a, b) => a - b)[Math.floor(SAMPLES / 2)] ?? 0
  const detail = `a read takes ${medianMs.toFixed(1)} ms (median of ${SAMPLES})`
  if (medianMs <= SLOW_MS) return ok(detail)
  return warn(detail, 'Run Redis close to the broker: each step of a sign-in has several round trips.')
}
