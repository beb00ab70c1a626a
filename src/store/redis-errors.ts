import { storeUnavailable } from '../errors.ts'
import { DependencyFailure } from '../observability/dependency-failure.ts'

/**
 * A failure of Redis or of the connection. ioredis errors contain the arguments of the command (a password, if it is HELLO or AUTH),
 * so only this error leaves the module.
 */
export class RedisFailure extends DependencyFailure {
  /** Such as `ECONNREFUSED`, `WRONGPASS` or `timeout`; never an address, a key or a value. */
  override readonly code: string
  readonly effect: Effect

  constructor(code: string, effect: Effect, outcome = 'unreachable') {
    super(outcome, { code, message: `redis: ${code}` })
    this.code = code
    this.effect = effect
  }
}

/**
 * What happened to the command:
 * - `not-executed`: it can be sent again;
 * - `unknown`: the connection broke, and the command may have been executed;
 * - `unavailable`: Redis cannot serve it now, and sending it again at once would not help;
 * - `invalid`: Redis rejected the command itself. This is a bug in the broker, not a 503.
 */
type Effect = 'not-executed' | 'unknown' | 'unavailable' | 'invalid'

export const timeout = () => new RedisFailure('timeout', 'unavailable', 'timeout')
export const notConnected = () => new RedisFailure('not connected', 'not-executed')
export const connectionLost = () => new RedisFailure('connection lost', 'unknown')
export const sentinelsUnreachable = () => new RedisFailure('sentinels unreachable', 'not-executed')
export const databaseNotFound = () => new RedisFailure('no such database', 'unavailable', 'refused')

/** The error that the caller of an operation gets. */
export function toStoreError(failure: RedisFailure): Error {
  return failure.effect === 'invalid' ? failure : storeUnavailable(failure)
}

/**
 * Classifies an error of ioredis; `unnamed` is the class of an error without a code. Undefined for a bug in the broker or in ioredis,
 * as opposed to a failure of Redis or the network.
 */
export function toRedisFailure(error: unknown, unnamed: () => RedisFailure): RedisFailure | undefined {
  if (error instanceof RedisFailure) return error
  // not by instanceof: socket errors may come from another realm
  const { name, message, code } = (error ?? {}) as ErrorShape
  if (name === 'ReplyError') return parseErrorReply(String(message))
  if (name === 'ClusterAllFailedError') return new RedisFailure('cluster unreachable', 'not-executed')
  if (PROGRAMMING_ERRORS.has(name)) return undefined
  if (typeof code !== 'string') return unnamed()
  return new RedisFailure(code, 'unknown', code === 'ETIMEDOUT' ? 'timeout' : 'unreachable')
}

interface ErrorShape {
  readonly name?: unknown
  readonly message?: unknown
  readonly code?: unknown
}

const PROGRAMMING_ERRORS = new Set<unknown>([
  'TypeError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'URIError',
  'EvalError',
])

export function parseErrorReply(reply: string): RedisFailure {
  const code = replyCode(reply)
  return new RedisFailure(code, EFFECTS[code] ?? 'unavailable', 'refused')
}

/**
 * The code at the start of an error reply. Redis before 7 puts the position in the script before it:
 * "@user_script: 3: -OOM command not …". Two replies have no code of their own.
 */
function replyCode(reply: string): string {
  const code = /^(?!ERR\b)[A-Z]+\b/.exec(reply)?.[0] ?? /(?:-|: )(?!ERR\b)([A-Z]{3,})\b/.exec(reply)?.[1]
  if (code !== undefined) return code
  if (reply.includes("user executing the script can't")) return 'NOPERM'
  return reply.includes('max number of clients') ? 'MAXCLIENTS' : 'ERR'
}

const EFFECTS: { readonly [code: string]: Effect } = {
  // temporary: a failover, a resharding or a start is in progress
  MOVED: 'not-executed',
  ASK: 'not-executed',
  TRYAGAIN: 'not-executed',
  CLUSTERDOWN: 'not-executed',
  LOADING: 'not-executed',
  READONLY: 'not-executed',
  MASTERDOWN: 'not-executed',
  UNBLOCKED: 'not-executed',
  WRONGTYPE: 'invalid',
  CROSSSLOT: 'invalid',
  NOSCRIPT: 'invalid',
  ERR: 'invalid',
}
