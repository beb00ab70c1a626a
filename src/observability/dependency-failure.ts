import type { BrokerError } from '../errors.ts'
import type { LogFields } from './log-fields.ts'

/**
 * How a call to a dependency failed; the cause of a `BrokerError`. It contains no host, path, key
 * or value.
 */
export class DependencyFailure extends Error {
  override readonly name: string = 'DependencyFailure'
  /** One of the outcomes in docs/logs.md, such as `timeout`. */
  readonly outcome: string
  /** The error code of the platform or of Redis, such as `ECONNREFUSED` or `OOM`. */
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
 * The log fields of a failed dependency. Without an `outcome`, the error may be a fault of the
 * broker, so its stack is logged.
 */
export function failureFields({ dependency, cause }: BrokerError): LogFields {
  const failure = innermostFailure(cause)
  if (failure === undefined) return { dependency }
  const { outcome, code, upstreamStatus } = failure
  return { dependency, outcome, code: code && CODE.test(code) ? code : undefined, upstreamStatus }
}

/** Words only: text with a dot, a colon or a slash could be a host, an address or a path. */
const CODE = /^[A-Za-z][\w -]{0,63}$/

/** The innermost one says how the call ended; the PAM failure around it says less. */
export function innermostFailure(error: unknown, depth = 0): DependencyFailure | undefined {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return undefined
  return innermostFailure(error.cause, depth + 1) ?? (error instanceof DependencyFailure ? error : undefined)
}

const MAX_DEPTH = 4
