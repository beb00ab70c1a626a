import type { BrokerError } from '../errors.ts'
import type { LogFields } from './log-fields.ts'

/** What a line says of a dependency that failed: which, how, and in whose words. */
export type DependencyTrouble = Pick<LogFields, 'dependency' | 'outcome' | 'code' | 'upstreamStatus'>

/**
 * Reads it from an error and its causes. Without an `outcome` none of them says what happened: it may be a fault of
 * ours, and the error itself, with its stack, helps more.
 */
export function dependencyTrouble({ dependency, status, cause }: BrokerError): DependencyTrouble {
  const found = tellingCause(cause)
  if (found !== undefined) return { dependency, ...found }
  // Redis was away a moment ago, and was not asked again
  if (dependency === 'store' && cause === undefined) return { dependency, outcome: 'held-back' }
  return dependency !== undefined && status === 504 ? { dependency, outcome: 'timeout' } : { dependency }
}

type Telling = Omit<DependencyTrouble, 'dependency'>

/** The innermost that tells something: what PAM's failure is called says less than how the call under it ended. */
function tellingCause(error: unknown, depth = 0): Telling | undefined {
  if (typeof error !== 'object' || error === null || depth > MAX_DEPTH) return undefined
  const cause = 'cause' in error ? error.cause : undefined
  return tellingCause(cause, depth + 1) ?? told(error)
}

const MAX_DEPTH = 4

/** By shape and not by class, for this room knows none of the others. */
function told(error: object): Telling | undefined {
  const { name, kind, code, status, trouble, message } = error as Shape // each is looked at before it is used
  if (name === 'UpstreamFailure' && typeof kind === 'string') {
    const upstreamStatus = typeof status === 'number' ? { upstreamStatus: status } : {}
    return { outcome: kind, ...codeFrom(code), ...upstreamStatus }
  }
  if (name === 'PamFailure' && typeof trouble === 'string') return { outcome: trouble }
  return typeof message === 'string' ? toldBy(message) : undefined
}

interface Shape {
  readonly name?: unknown
  readonly kind?: unknown
  readonly code?: unknown
  readonly status?: unknown
  readonly trouble?: unknown
  readonly message?: unknown
}

/** Reads only messages that our own code writes, in these fixed forms. Other messages may quote a secret value. */
function toldBy(message: string): Telling | undefined {
  const reason = /^(?:redis|store): (.+)$/.exec(message)?.[1]
  if (reason !== undefined) return { outcome: storeOutcome(reason), ...codeFrom(reason) }
  const status = /^status (\d{3})\b/.exec(message)?.[1]
  if (status !== undefined) return { outcome: 'unusable', upstreamStatus: Number(status) }
  return message === 'SSWS token refused' ? { outcome: 'token-refused' } : undefined
}

/** Node's own codes begin with an E or have an underscore; Redis answers with a word such as OOM or READONLY. */
function storeOutcome(reason: string): string {
  if (/^(timeout|ETIMEDOUT)$/.test(reason)) return 'timeout'
  return /^([A-DF-Z][A-Z]+|no such database)$/.test(reason) ? 'refused' : 'unreachable'
}

/** A word or a few; a dot, a colon or a slash could be a host's, an address's or a path's. */
function codeFrom(code: unknown): { code?: string } {
  return typeof code === 'string' && /^[A-Za-z][\w -]{0,63}$/.test(code) ? { code } : {}
}
