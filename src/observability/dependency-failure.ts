import type { BrokerError } from '../errors.ts'
import type { LogFields } from './log-fields.ts'

/**
 * How a call to a dependency failed, told where it happens; it becomes the cause of a `BrokerError`. It holds no host, path, key
 * or value.
 */
export class DependencyFailure extends Error {
  override readonly name: string = 'DependencyFailure'
  /** One of the words in docs/operations.md, such as `timeout`. */
  readonly outcome: string
  /** The platform's or Redis' own word, such as `ECONNREFUSED` or `OOM`. */
  readonly code: string | undefined
  readonly upstreamStatus: number | undefined

  constructor(outcome: string, details: FailureDetails = {}) {
    super(details.message ?? outcome, { cause: details.cause })
    this.outcome = outcome
    this.code = details.code
    this.upstreamStatus = details.upstreamStatus
  }
}

export interface FailureDetails {
  readonly code?: string | undefined
  readonly upstreamStatus?: number | undefined
  readonly message?: string | undefined
  readonly cause?: unknown
}

/**
 * What a log line says about the dependency that failed. Without an `outcome`, the error may be a fault of the broker: its stack
 * helps more.
 */
export function failureFields({ dependency, cause }: BrokerError): LogFields {
  const failure = innermostFailure(cause)
  if (failure === undefined) return { dependency }
  const { outcome, code, upstreamStatus } = failure
  return {
    dependency,
    outcome,
    code: code !== undefined && CODE.test(code) ? code : undefined,
    upstreamStatus,
  }
}

/** A word or a few. With a dot, a colon or a slash it could be a host, an address or a path. */
const CODE = /^[A-Za-z][\w -]{0,63}$/

/** The innermost one: the name of PAM's failure says less than how the call under it ended. */
export function innermostFailure(error: unknown, depth = 0): DependencyFailure | undefined {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return undefined
  return innermostFailure(error.cause, depth + 1) ?? (error instanceof DependencyFailure ? error : undefined)
}

const MAX_DEPTH = 4
