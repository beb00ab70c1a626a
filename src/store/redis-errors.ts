import { type BrokerError, storeUnavailable } from '../errors.ts'
import { DependencyFailure, innermostFailure } from '../observability/dependency-failure.ts'

/**
 * What the caller of an operation gets: 503. An error of ioredis contains the arguments of its
 * command (a password, a record), so only a code leaves the store.
 */
export function toStoreError(error: unknown): BrokerError {
  return storeUnavailable(redisFailure(error))
}

/**
 * `code` is such as `ECONNREFUSED`, `WRONGPASS` or `timeout`; never an address, a key or a value.
 */
export function redisFailure(error: unknown): DependencyFailure {
  if (error instanceof DependencyFailure) return error
  // read with care below
  const { name, message = '', code, lastNodeError } = (error ?? {}) as ErrorShape
  if (lastNodeError !== undefined) return redisFailure(lastNodeError)
  if (name === 'ReplyError') return failure('refused', replyCode(message))
  if (message === 'Command timed out' || code === 'ABORT_ERR') return failure('timeout', 'timeout')
  if (typeof code === 'string') return failure(code === 'ETIMEDOUT' ? 'timeout' : 'unreachable', code)
  if (/^All sentinels are unreachable/.test(message)) return failure('unreachable', SENTINELS_UNREACHABLE)
  return failure('unreachable', NOT_CONNECTED)
}

/** Also of errors without a code: a connection that closes, a command that finds none. */
export const NOT_CONNECTED = 'not connected'
export const SENTINELS_UNREACHABLE = 'sentinels unreachable'
export const NO_DATABASE = 'no such database'
export const NO_CLUSTER = 'cluster support disabled'

interface ErrorShape {
  readonly name?: unknown
  readonly message?: string
  readonly code?: unknown
  /** Of the error that no node of a cluster answers. */
  readonly lastNodeError?: unknown
}

function failure(outcome: string, code: string): DependencyFailure {
  return new DependencyFailure(outcome, { code, message: `redis: ${code}` })
}

/**
 * Redis still reads, but refuses every write: it is full, a replica (after a failover), cannot
 * save, or has too few replicas (`min-replicas-to-write`). The write was certainly not executed.
 */
export function isWriteRefused(error: unknown): boolean {
  const { outcome, code = '' } = innermostFailure(error) ?? {}
  return outcome === 'refused' && REFUSED_WRITES.has(code)
}

const REFUSED_WRITES: ReadonlySet<string> = new Set(['OOM', 'READONLY', 'MISCONF', 'NOREPLICAS'])

/**
 * The start of the code of a reply to a command that is renamed (`rename-command`), or that a proxy
 * in front of Redis does not pass on.
 */
export const UNKNOWN_COMMAND = 'unknown command'
/** ioredis sends it on each connection. The code if there is no such command. */
export const NO_INFO = `${UNKNOWN_COMMAND} INFO`

/**
 * The code at the start of an error reply. Redis before 7 puts the position in the script before
 * it: "@user_script: 3: -OOM command not …". Some replies have no code of their own.
 */
function replyCode(reply: string): string {
  const code = /^(?!ERR\b)[A-Z]+\b/.exec(reply)?.[0] ?? /(?:-|: )(?!ERR\b)([A-Z]{3,})\b/.exec(reply)?.[1]
  if (code !== undefined) return code
  // Redis 7.0; Valkey and later Redis
  if (/user executing the script can't|ACL failure in script/.test(reply)) return 'NOPERM'
  if (/unknown redis command called from script/i.test(reply)) return `${UNKNOWN_COMMAND} in a script`
  const unknown = /(?:unknown|unsupported) command(?: [`'"](?<name>[a-z]{1,20})[`'"])?/i.exec(reply)
  if (unknown) return [UNKNOWN_COMMAND, unknown.groups?.name?.toUpperCase()].filter(Boolean).join(' ')
  if (reply.includes('DB index is out of range')) return NO_DATABASE
  if (reply.includes(NO_CLUSTER)) return NO_CLUSTER
  return reply.includes('max number of clients') ? 'MAXCLIENTS' : 'ERR'
}
