import { storeUnavailable } from '../errors.ts'
import { DependencyFailure } from '../observability/dependency-failure.ts'

/**
 * A failure of Redis, or of the way to it. The client's own errors hold the command's arguments (a password, if it is HELLO or
 * AUTH), so only this one leaves the module.
 */
export class RedisFailure extends DependencyFailure {
  /** Such as `ECONNREFUSED`, `WRONGPASS`, `timeout`; never an address, a key or a value. */
  override readonly code: string
  /** What became of the command. */
  readonly effect: Effect

  constructor(code: string, effect: Effect, outcome = 'unreachable') {
    super(outcome, { code, message: `redis: ${code}` })
    this.code = code
    this.effect = effect
  }
}

/**
 * - `unsent`: it was certainly not carried out, and may be sent again;
 * - `unknown`: the connection broke under way; it may have been carried out;
 * - `final`: Redis cannot serve us now, and sending it again at once would not help;
 * - `fault`: Redis found the command wrong: a fault of the broker, and no 503.
 */
type Effect = 'unsent' | 'unknown' | 'final' | 'fault'

export const timeout = () => new RedisFailure('timeout', 'final', 'timeout')
export const notConnected = () => new RedisFailure('not connected', 'unsent')
export const connectionLost = () => new RedisFailure('connection lost', 'unknown')
export const SENTINELS_UNREACHABLE = 'sentinels unreachable'
export const sentinelsUnreachable = () => new RedisFailure(SENTINELS_UNREACHABLE, 'unsent')
export const databaseNotFound = () => new RedisFailure('no such database', 'final', 'refused')

/** What the caller of an operation gets. */
export function toStoreError(failure: RedisFailure): Error {
  return failure.effect === 'fault' ? failure : storeUnavailable(failure)
}

/**
 * What an error of the client means; `unnamed` is the meaning of one that has no code. undefined: it is nothing that Redis or the
 * network did, but a fault of the broker or of the client.
 */
export function toRedisFailure(error: unknown, unnamed: () => RedisFailure): RedisFailure | undefined {
  if (error instanceof RedisFailure) return error
  // By its shape: errors of the sockets may come from another realm.
  const { name, message, code } = (error ?? {}) as ErrorShape
  if (name === 'ReplyError') return parseErrorReply(String(message))
  if (name === 'ClusterAllFailedError') return new RedisFailure('cluster unreachable', 'unsent')
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
  const code = codeOfReply(reply)
  return new RedisFailure(code, EFFECTS[code] ?? 'final', 'refused')
}

/**
 * The code that an error reply of the protocol begins with. Redis before 7 puts the place in a script before it:
 * "@user_script: 3: -OOM command not …". Two replies have no code of their own.
 */
function codeOfReply(reply: string): string {
  const code = /^(?!ERR\b)[A-Z]+\b/.exec(reply)?.[0] ?? /(?:-|: )(?!ERR\b)([A-Z]{3,})\b/.exec(reply)?.[1]
  if (code !== undefined) return code
  if (reply.includes("user executing the script can't")) return 'NOPERM'
  return reply.includes('max number of clients') ? 'MAXCLIENTS' : 'ERR'
}

const EFFECTS: { readonly [code: string]: Effect } = {
  // These pass when a failover, a resharding or a start is over.
  MOVED: 'unsent',
  ASK: 'unsent',
  TRYAGAIN: 'unsent',
  CLUSTERDOWN: 'unsent',
  LOADING: 'unsent',
  READONLY: 'unsent',
  MASTERDOWN: 'unsent',
  UNBLOCKED: 'unsent',
  WRONGTYPE: 'fault',
  CROSSSLOT: 'fault',
  NOSCRIPT: 'fault',
  ERR: 'fault',
}
