import { Cluster, type Redis, Redis as RedisClient } from 'ioredis'
import { v4 as uuid } from 'uuid'
import type { MasterKeys } from '../crypto/keys.ts'
import { innermostFailure } from '../observability/dependency-failure.ts'
import { KEYS, keyOf } from '../store/keys.ts'
import { connected, createRedisClient, type RedisClientOptions } from '../store/redis-client.ts'
import {
  NO_CLUSTER,
  NO_DATABASE,
  NO_INFO,
  NOT_CONNECTED,
  redisFailure,
  SENTINELS_UNREACHABLE,
  UNKNOWN_COMMAND,
} from '../store/redis-errors.ts'
import { createRedisStore, probeStore } from '../store/redis-store.ts'
import { parseRedisUrl, type RedisTarget } from '../store/redis-url.ts'
import { judgeKeys, registryKey, unknownKeys } from '../store/secret-key-registry.ts'
import type { Store } from '../store/store.ts'
import { type Check, type CheckGroup, type DoctorContext, skipAll } from './check.ts'
import { judgeClocks } from './clock.ts'
import { type Finding, fail, ok, skipped, warn } from './finding.ts'
import { isTlsFailure, judgeTlsFailure } from './tls.ts'

const NAMES = 'reach database password version policy scripts scan write keys latency clock'.split(' ')

type Client = Redis | Cluster

export function redisChecks(context: DoctorContext): CheckGroup {
  const { config, now } = context
  const options = clientOptions(context)
  if (options === undefined) return skipAll('redis', NAMES, EMBEDDED)
  const { target, keyPrefix } = options
  const key = keyOf({ keyPrefix }, KEYS.doctorProbe, uuid())
  const { client, store, connect, close } = createDoctorClient(key, options)
  let code: string | undefined
  let isOtherServer = false
  const needs = ['redis.database']
  /** What a Sentinel server, or one node of a cluster, refuses. */
  const onRedis = (run: () => Promise<Finding>) => async () =>
    isOtherServer ? skipped('not possible without redis.version') : run()
  const checks: Check[] = [
    {
      name: 'redis.reach',
      run: async () => {
        const connecting = connect()
        const ofSentinels = await checkSentinels(options)
        if (ofSentinels !== undefined) return ofSentinels // the client would try again in vain
        code = await connecting
        return judgeReach(code, target)
      },
    },
    // until a database is selected, the client sends nothing
    { name: 'redis.database', needs: ['redis.reach'], run: () => judgeDatabase(code) },
    {
      name: 'redis.password',
      needs,
      run: async () => judgePassword(target, options.cert !== undefined, await admitsAnyone(key, options)),
    },
    {
      name: 'redis.version',
      needs,
      run: () =>
        fromInfo(client, 'server', (infos) => {
          const ofOther = judgeKind(infos, target)
          isOtherServer = ofOther !== undefined
          return ofOther ?? judgeVersion(infos)
        }),
    },
    { name: 'redis.policy', needs, run: onRedis(() => fromInfo(client, 'memory', judgePolicy)) },
    { name: 'redis.scripts', needs, run: onRedis(() => checkScripts(client, store, key)) },
    {
      name: 'redis.scan',
      needs,
      // waits, because the client reconnects if a replica has refused a script
      run: onRedis(() => connect().then(() => checkScan(client, key, config.ops.tokens.value.length > 0))),
    },
    { name: 'redis.write', needs, run: onRedis(() => connect().then(() => checkWrite(client, key))) },
    {
      name: 'redis.keys',
      needs: ['redis.write'],
      run: () => checkKeys(client, registryKey(store), config.secretKeys.value, now()),
    },
    { name: 'redis.latency', needs: ['redis.write'], run: () => checkLatency(client, key) },
    { name: 'redis.clock', needs: ['redis.write'], run: () => checkClock(store, now) },
  ]
  return { checks, close }
}

const EMBEDDED = 'REDIS_URL is memory:, the embedded store'

/** Undefined: the embedded store. */
function clientOptions({ config, timeoutMs }: DoctorContext) {
  const { ca, cert, keyPrefix, privateKey, url } = config.redis
  if (/^memory:/.test(url.value)) return undefined
  const limits = { commandTimeoutMs: timeoutMs, connectTimeoutMs: timeoutMs }
  return { target: parseRedisUrl(url.value), keyPrefix, ca, cert, privateKey: privateKey?.value, ...limits }
}

/**
 * Runs `use` while the value is in Redis under the key of the doctor with this name, which is
 * deleted afterwards. A finding says why that is not possible.
 */
export async function withStoredValue(
  context: DoctorContext,
  { name, value }: { readonly name: string; readonly value: string },
  use: () => Promise<Finding>,
): Promise<Finding> {
  const options = clientOptions(context)
  if (options === undefined) return skipped(EMBEDDED)
  const key = keyOf(options, KEYS.doctorProbe, name)
  const { client, connect, close } = createDoctorClient(key, options)
  try {
    if ((await connect()) !== undefined) return skipped('not possible without redis.reach')
    await client.set(key, value, 'PX', TTL_MS)
    return await use()
  } catch (error) {
    if (innermostFailure(error) === undefined && redisFailure(error).outcome !== 'refused') throw error
    return skipped('not possible without redis.write')
  } finally {
    await client.del(key).catch(() => {}) // without the right to delete, the key expires
    await close()
  }
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

export function judgeReach(
  code: string | undefined,
  { form, sentinel }: Pick<RedisTarget, 'form' | 'sentinel'>,
): Finding {
  if (code === 'NOPERM' && form === 'cluster')
    return fail(
      'the Redis user may not run CLUSTER (NOPERM)',
      'Give the Redis user +cluster|slots +cluster|info +client|setname on every node (docs/operations.md#redis).',
    )
  if (code === undefined || REFUSED_SELECT.has(code)) return ok('Redis answers')
  if (CREDENTIALS.has(code))
    return fail(`Redis refuses the user or password (${code})`, 'Correct the user and password in REDIS_URL.')
  if (code === NO_INFO)
    return fail(
      'Redis answers, but does not know INFO, without which the broker does not use it',
      RENAMED_FIX,
    )
  if (code === NO_CLUSTER) return fail('Redis is not a cluster', 'Use redis:// or rediss:// in REDIS_URL.')
  if (isTlsFailure({ code }))
    return judgeTlsFailure(code, {
      server: 'Redis',
      variable: 'REDIS_URL',
      authorities: 'REDIS_CA_FILE',
    })
  if (code === 'MAXCLIENTS')
    return fail(
      'Redis accepts no further connection (MAXCLIENTS)',
      'Raise maxclients of Redis, or find out who opens so many (CLIENT LIST).',
    )
  if (code === 'LOADING')
    return fail('Redis is loading its data (LOADING)', 'Wait until it has loaded, and run the doctor again.')
  const announced = 'The addresses that its servers announce must be reachable from here.'
  if (sentinel !== undefined && code !== SENTINELS_UNREACHABLE)
    return fail(
      `the primary that the Sentinel servers name does not answer (${code})`,
      `Start it, or correct the firewall and the certificates. ${announced}`,
    )
  const hints = [
    'Start Redis, or correct host, port and scheme in REDIS_URL (rediss:// needs its TLS port), REDIS_CA_FILE, REDIS_CERT_FILE, and the firewall.',
    ...(code === NOT_CONNECTED && form !== 'cluster'
      ? [
          'If it closes connections, it may be in protected mode, without a password (its log says so), or another server.',
        ]
      : []),
    ...(form === 'cluster'
      ? [`A cluster must serve all slots (redis-cli --cluster check). ${announced}`]
      : []),
  ]
  return fail(`Redis does not answer (${code})`, hints.join(' '))
}

const SENTINEL_PASSWORD_FIX =
  'Correct sentinelUsername and sentinelPassword in REDIS_URL (docs/configuration.md#redis), or the user on the Sentinel servers.'

/** What a Sentinel server says about the name of the primary, or the code of its failure. */
export type SentinelAnswer = 'known' | 'unknown' | { readonly code: string }

/** Asks the Sentinel servers, if there are some, whether they know the primary. */
async function checkSentinels(options: RedisClientOptions): Promise<Finding | undefined> {
  const { target, ca, cert, privateKey: key, connectTimeoutMs, commandTimeoutMs } = options
  const { sentinel, addresses, tls } = target
  if (sentinel === undefined) return undefined
  const ask = async ({ host, port }: (typeof addresses)[number]): Promise<SentinelAnswer> => {
    const client = new RedisClient({
      ...sentinel.credentials,
      ...(tls ? { tls: { ca, cert, key } } : {}),
      host,
      port,
      connectTimeout: connectTimeoutMs / 2,
      commandTimeout: commandTimeoutMs / 2,
      lazyConnect: true,
      enableReadyCheck: false,
      disableClientInfo: true,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
    })
    let reported: unknown
    client.on('error', (error) => {
      reported = error // says more than the failed command
    })
    try {
      await client.connect()
      const address = await client.call('SENTINEL', 'get-master-addr-by-name', sentinel.masterName)
      return address === null ? 'unknown' : 'known'
    } catch (error) {
      const ofCommand = codeOf(error)
      return { code: reported !== undefined && ofCommand === NOT_CONNECTED ? codeOf(reported) : ofCommand }
    } finally {
      client.disconnect()
    }
  }
  return judgeSentinels(await Promise.all(addresses.map(ask)))
}

/** Undefined: they are not the reason. */
export function judgeSentinels(answers: readonly SentinelAnswer[]): Finding | undefined {
  if (answers.includes('known')) return undefined
  if (answers.includes('unknown'))
    return fail(
      'no Sentinel server knows a primary of the name in REDIS_URL',
      'Correct name= in REDIS_URL: it is the name after `sentinel monitor` in the configuration of the Sentinel servers.',
    )
  const codes = answers.flatMap((answer) => (typeof answer === 'object' ? answer.code : []))
  if (codes.some((code) => code.startsWith(UNKNOWN_COMMAND)))
    return fail(
      'the servers in REDIS_URL are not Sentinel servers',
      'Name the Sentinel servers, with their port (usually 26379), or use redis:// for Redis itself.',
    )
  const refused = codes.find((code) => CREDENTIALS.has(code) || code === 'NOPERM')
  if (refused === undefined) return undefined
  return fail(`the Sentinel servers refuse the user or password (${refused})`, SENTINEL_PASSWORD_FIX)
}

/** Redis has accepted the connection. */
export function judgePassword(
  { credentials, addresses }: Pick<RedisTarget, 'credentials' | 'addresses'>,
  hasCertificate: boolean,
  isOpen: boolean,
): Finding {
  const isLocal = addresses.every(({ host }) => /^(localhost|127\.|::1$)/.test(host))
  if (credentials !== undefined && isOpen && !isLocal) return warn(OPEN, OPEN_FIX)
  if (credentials !== undefined) return ok('the broker signs in to Redis')
  if (hasCertificate) return ok('the broker has a client certificate')
  if (isLocal) return ok('Redis needs no password, on this machine')
  return warn(OPEN, OPEN_FIX)
}

const OPEN = 'Redis needs no password: whoever reaches it can end and count sessions, and reset limits'
const OPEN_FIX =
  'Give Gatehouse a user of its own (docs/operations.md#redis), set it in REDIS_URL, and give the default user a password or turn it off.'

/** Whether the server that the broker uses reads a key without credentials. */
async function admitsAnyone(
  key: string,
  options: RedisClientOptions & { keyPrefix: string },
): Promise<boolean> {
  if (options.target.credentials === undefined) return true
  const target = { ...options.target, credentials: undefined }
  const { client, connect, close } = createDoctorClient(key, { ...options, target })
  try {
    if ((await connect()) !== undefined) return false
    return await client.get(key).then(
      () => true,
      () => false,
    )
  } finally {
    await close()
  }
}

/** DELETE /admin/sessions needs it, and nothing else. */
async function checkScan(client: Client, key: string, hasOpsTokens: boolean): Promise<Finding> {
  if (!hasOpsTokens) return skipped('there are neither OPS_TOKENS nor OPS_TOKEN')
  const [node] = client instanceof Cluster ? client.nodes('master') : [client]
  try {
    await node?.scan('0', 'MATCH', key, 'COUNT', '1')
    return ok('the Redis user may run SCAN')
  } catch (error) {
    return warn(
      `Redis refuses SCAN (${codeOf(error)}), so DELETE /admin/sessions fails`,
      'Give the Redis user +scan (docs/operations.md#redis).',
    )
  }
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

/** A server of another kind than REDIS_URL says. */
export function judgeKind(
  infos: readonly string[],
  { form }: Pick<RedisTarget, 'form'>,
): Finding | undefined {
  const modes = infos.map((info) => /^redis_mode:(\w+)/m.exec(info)?.[1])
  if (modes.includes('sentinel'))
    return fail('this is a Sentinel server, not Redis', 'Use redis+sentinel://…?name=… in REDIS_URL.')
  if (modes.includes('cluster') && form !== 'cluster')
    return fail(
      'this is a node of a cluster: other nodes have the other keys',
      'Use redis+cluster:// or rediss+cluster:// in REDIS_URL.',
    )
  return undefined
}

export function judgeVersion(infos: readonly string[]): Finding {
  const versions = infos.map((info) => /^redis_version:(\d+\.\d+)/m.exec(info)?.[1])
  if (versions.includes(undefined))
    return warn('INFO does not name a version', 'Check that the server is compatible with Redis 6.2.')
  const old = versions.find((version) => Number(version) < OLDEST_VERSION)
  if (old !== undefined) return fail(`Redis ${old} is too old`, 'Update Redis to version 6.2 or later.')
  return ok(`Redis ${versions[0]}`)
}

export function judgePolicy(infos: readonly string[]): Finding {
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
  if (other === undefined) return judgeMemory(infos) ?? ok('maxmemory-policy is noeviction')
  return fail(`maxmemory-policy is ${other}: Redis may delete sessions and limits when memory is full`, fix)
}

const SMALL_MEMORY_MB = 64
const FULL_SHARE = 0.8

/** Of the server with the least left. */
function judgeMemory(infos: readonly string[]): Finding | undefined {
  const numbers = infos.map((info) => {
    const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)\\s*$`, 'm').exec(info)?.[1])
    return { mb: Math.floor(read('maxmemory') / 1_048_576), share: read('used_memory') / read('maxmemory') }
  })
  const fullest = Math.max(...numbers.map(({ share }) => share).filter(Number.isFinite), 0)
  if (fullest > FULL_SHARE)
    return warn(
      `${Math.round(fullest * 100)} % of maxmemory are used: when it is full, nobody can sign in`,
      'Raise maxmemory (docs/operations.md#sizing), and look for keys of others in this Redis.',
    )
  const smallest = Math.min(...numbers.map(({ mb }) => mb).filter(Number.isFinite))
  if (smallest >= SMALL_MEMORY_MB) return undefined
  return warn(
    `maxmemory is ${smallest} MB, which some thousand devices and sessions use up`,
    'Raise maxmemory: docs/operations.md#sizing has the size of each record.',
  )
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
  MISCONF: 'Redis cannot save its data: look at its log and its disk.',
  NOREPLICAS: 'Start the replicas of this Redis, which it needs for writes (min-replicas-to-write).',
  READONLY: 'Connect to the primary, not to a replica.',
  MASTERDOWN: 'This is a replica that has lost its primary. Connect to the primary, not to a replica.',
}

/** The broker itself refuses to start with keys that this check fails. */
async function checkKeys(client: Client, key: string, keys: MasterKeys, nowMs: number): Promise<Finding> {
  const stored = await client.hgetall(key).catch(codeOf)
  if (typeof stored === 'string')
    return fail(`Redis refuses to read the keys of the replicas (${stored})`, refusedFix(stored))
  const { opened, unopened } = judgeKeys(stored, key, keys, nowMs)
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

/** The lives of sessions, limits and locks are counted by both. */
async function checkClock(store: Store, now: () => number): Promise<Finding> {
  const startedAt = now()
  try {
    return judgeClocks(await store.time(), startedAt)
  } catch (error) {
    const code = codeOf(error)
    return fail(`Redis refuses to say its time (${code})`, refusedFix(code))
  }
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
