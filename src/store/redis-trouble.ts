import { BrokerError, storeUnavailable } from '../errors.ts'
import { DependencyFailure } from '../observability/dependency-failure.ts'

/**
 * What an error of the Redis client means. The client's errors carry the command's arguments (a password among
 * them when it is HELLO or AUTH), so only the short `reason` leaves this room.
 */
export interface Trouble {
  /** Such as `ECONNREFUSED`, `WRONGPASS`, `timeout`; never an address, a key or a value. */
  readonly reason: string
  /**
   * - `refused`: the command was certainly not carried out, and may be sent again;
   * - `unknown`: the connection broke under way; it may or may not have been carried out;
   * - `final`: Redis cannot serve us now, sending again at once would not help;
   * - `bug`: Redis served us and found the command wrong;
   * - `slip`: nothing that Redis or the network did. Our own code or the client's threw it, so it is thrown on as it is.
   */
  readonly effect: 'refused' | 'unknown' | 'final' | 'bug' | 'slip'
}

export function troubleOf(error: unknown): Trouble {
  // By its shape, not by instanceof: errors of the sockets may come from another realm.
  const { name, message, code } = typeof error === 'object' && error !== null ? (error as ErrorShape) : {}
  const text = typeof message === 'string' ? message : ''
  if (name === 'ReplyError') return troubleOfReply(text)
  if (typeof name === 'string' && SLIPS.has(name)) return { reason: name, effect: 'slip' }
  const known = CLIENT_MESSAGES.find(([pattern]) => pattern.test(text))
  if (known) return known[1]
  return { reason: typeof code === 'string' ? code : 'connection lost', effect: 'unknown' }
}

/** The cause of a 503: such as `redis: WRONGPASS`. */
export class StoreTrouble extends DependencyFailure {
  readonly reason: string

  constructor(reason: string) {
    super(outcomeOf(reason), { code: reason, message: `redis: ${reason}` })
    this.reason = reason
  }
}

/** Node's own codes begin with an E or have an underscore; Redis answers with a word such as OOM or READONLY. */
function outcomeOf(reason: string): string {
  if (/^(timeout|ETIMEDOUT)$/.test(reason)) return 'timeout'
  return /^([A-DF-Z][A-Z]+|no such database)$/.test(reason) ? 'refused' : 'unreachable'
}

/** The 503 that a trouble of Redis, or of the way to it, ends in. */
export function unavailableBecause(reason: string): BrokerError {
  return storeUnavailable(new StoreTrouble(reason))
}

/** What stands behind a 503 of `unavailableBecause`, in one word; of any other error, that it is none. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof BrokerError ? error.cause : undefined
  return cause instanceof StoreTrouble ? cause.reason : 'unexpected error'
}

interface ErrorShape {
  readonly name?: unknown
  readonly message?: unknown
  readonly code?: unknown
}

function troubleOfReply(message: string): Trouble {
  // Redis before 7 says where in the script it happened, and then what: "@user_script: 3: -OOM command not …".
  const code = /^(?!ERR\b)[A-Z]+\b/.exec(message)?.[0] ?? /(?:-|: )(?!ERR\b)([A-Z]{3,})\b/.exec(message)?.[1]
  if (code === undefined) {
    // what a user may not do within a script has no code
    if (/user executing the script can't/.test(message)) return { reason: 'NOPERM', effect: 'final' }
    if (/DB index|SELECT is not allowed/i.test(message))
      return { reason: 'no such database', effect: 'final' }
    return /max number of clients/i.test(message)
      ? { reason: 'MAXCLIENTS', effect: 'final' }
      : { reason: 'ERR', effect: 'bug' }
  }
  if (REFUSED.has(code)) return { reason: code, effect: 'refused' }
  return { reason: code, effect: BUGS.has(code) ? 'bug' : 'final' }
}

/** Replies that pass when a fail-over, a resharding or a start has come to its end. */
const REFUSED = new Set([
  'MOVED',
  'ASK',
  'TRYAGAIN',
  'CLUSTERDOWN',
  'LOADING',
  'READONLY',
  'MASTERDOWN',
  'UNBLOCKED',
])
const BUGS = new Set(['WRONGTYPE', 'CROSSSLOT', 'NOSCRIPT'])

/** The names of errors that the language itself throws when a program is wrong. */
const SLIPS = new Set(['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError', 'URIError', 'EvalError'])

export const SENTINELS_UNREACHABLE = 'sentinels unreachable'

/** The message of our own error for a command that was rejected before anything was written. */
export const NOT_SENT = 'not sent'

const CLIENT_MESSAGES: readonly (readonly [RegExp, Trouble])[] = [
  [/sentinels? (is|are) unreachable/i, { reason: SENTINELS_UNREACHABLE, effect: 'refused' }],
  [/timed? ?out/i, { reason: 'timeout', effect: 'final' }],
  [new RegExp(`^${NOT_SENT}$|enableOfflineQueue`), { reason: 'not connected', effect: 'refused' }],
  [/startup nodes|refresh slots cache/i, { reason: 'cluster unreachable', effect: 'refused' }],
]
