import { type BrokerError, pamError } from '../../errors.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import { fieldsOf, type UpstreamResponse } from '../../upstream/http-api.ts'
import type { UpstreamFailure } from '../../upstream/upstream-failure.ts'

/**
 * One row of the table in docs/logs.md#pam-errors: the broker's reaction to a failure, and its
 * response to the SPA.
 */
export interface PamErrorPolicy {
  readonly retries: number
  /** Mint a new token and repeat the call, once. */
  readonly renewsToken: boolean
  /** The cached list may be served instead. */
  readonly stale: boolean
  /**
   * The lists to delete from the cache: this one, or all of the team (then PAM is not called for a
   * while).
   */
  readonly purges: 'nothing' | 'list' | 'team'
  /** Logged as an error, because an operator must act. */
  readonly alarm: boolean
  readonly status: 404 | 502 | 503 | 504
  readonly code: `pam_${string}`
  /** The default `Retry-After`; undefined: no such header. */
  readonly retryAfterSeconds?: number
}

const DEFAULT_RETRY_SECONDS = 5

const PERMANENT = {
  retries: 0,
  renewsToken: false,
  stale: false,
  purges: 'nothing',
  alarm: false,
  status: 502,
} as const

const TEMPORARY = { ...PERMANENT, stale: true } as const
const FORBIDDEN = { ...PERMANENT, purges: 'list', alarm: true, code: 'pam_not_permitted' } as const
const OFFLINE = {
  ...TEMPORARY,
  status: 503,
  code: 'pam_unavailable',
  retryAfterSeconds: DEFAULT_RETRY_SECONDS,
} as const
const TIMEOUT = { ...TEMPORARY, retries: 1, status: 504, code: 'pam_timeout' } as const

/** `resource_does_not_exist` is missing: its policy depends on the subject of the request. */
const API_POLICIES = {
  invalid_request: { ...PERMANENT, code: 'pam_bad_request' },
  authentication_error: { ...TEMPORARY, renewsToken: true, alarm: true, code: 'pam_credentials' },
  authorization_error: { ...FORBIDDEN, renewsToken: true },
  server_authorization_revoked: { ...PERMANENT, code: 'pam_unexpected' },
  forbidden_error: FORBIDDEN,
  quota_exceeded: { ...TEMPORARY, code: 'pam_quota' },
  disabled_team: {
    ...FORBIDDEN,
    purges: 'team',
    status: 503,
    code: 'pam_team_disabled',
    retryAfterSeconds: 300,
  },
  resource_deprecated: { ...PERMANENT, alarm: true, code: 'pam_deprecated' },
  resource_already_exists: { ...PERMANENT, code: 'pam_unexpected' },
  unsupported_content_type: { ...PERMANENT, code: 'pam_bad_request' },
  /** Retried if the API opens within the time that the caller may wait. */
  too_many_requests: {
    ...TEMPORARY,
    retries: 1,
    status: 503,
    code: 'pam_rate_limited',
    retryAfterSeconds: 2,
  },
  client_closed_connection: { ...TEMPORARY, retries: 1, code: 'pam_unavailable' },
  unknown_error: { ...TEMPORARY, retries: 2, code: 'pam_unavailable' },
  service_offline: { ...OFFLINE, retries: 2 },
  gateway_timeout: TIMEOUT,
} as const satisfies Record<string, PamErrorPolicy>

const BROKER_POLICIES = {
  unknown_user: { ...PERMANENT, status: 404, code: 'pam_user_unknown' },
  unknown_team: { ...PERMANENT, alarm: true, code: 'pam_misconfigured' },
  /** `resource_does_not_exist` for a later page: the list has changed since the first page. */
  page_gone: { ...PERMANENT, stale: true, code: 'pam_unavailable' },
  /** The token was issued for another team than `PAM_TEAM`. */
  other_team: { ...PERMANENT, alarm: true, code: 'pam_misconfigured' },
  /** No complete response: connection refused or cut, or a timeout. */
  no_answer: TIMEOUT,
  /** Not sent: the breaker is open, or no connection was free in time. */
  held_back: OFFLINE,
  /**
   * The response cannot be used: not JSON, a malformed group, a link that must not be followed, too
   * large.
   */
  unreadable: { ...PERMANENT, stale: true, alarm: true, code: 'pam_unexpected' },
} as const satisfies Record<string, PamErrorPolicy>

export type PamOutcome = keyof typeof API_POLICIES | keyof typeof BROKER_POLICIES
export const PAM_ERROR_POLICIES: Readonly<Record<PamOutcome, PamErrorPolicy>> = {
  ...API_POLICIES,
  ...BROKER_POLICIES,
}

export function isPamOutcome(name: string): name is PamOutcome {
  return Object.hasOwn(PAM_ERROR_POLICIES, name)
}

/** The 16 errors of the API (PAM spec, "Errors"). */
export type PamErrorName = keyof typeof API_POLICIES | 'resource_does_not_exist'
export const PAM_ERROR_NAMES = [
  ...Object.keys(API_POLICIES),
  'resource_does_not_exist',
] as readonly PamErrorName[]

/**
 * The requested resource decides what `resource_does_not_exist` means. `token` is the token-issuing
 * operation.
 */
export type PamSubject = keyof typeof NOT_FOUND

const NOT_FOUND = {
  token: 'unknown_team',
  team: 'unknown_team',
  user: 'unknown_user',
  later_page: 'page_gone',
} as const satisfies Record<string, PamOutcome>

/** A failed call. It has no part of the response except the status and the kind of error. */
export class PamFailure extends DependencyFailure {
  override readonly name = 'PamFailure'
  declare readonly outcome: PamOutcome
  readonly policy: PamErrorPolicy
  /** The HTTP status; undefined: no response. */
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined

  constructor(
    outcome: PamOutcome,
    details: Partial<Pick<PamFailure, 'status' | 'retryAfterMs' | 'cause'>> & { reason?: string } = {},
  ) {
    const { reason, status, retryAfterMs, cause } = details
    super(outcome, { message: reason === undefined ? outcome : `${outcome}: ${reason}`, cause })
    this.policy = PAM_ERROR_POLICIES[outcome]
    this.status = status
    this.retryAfterMs = retryAfterMs
  }

  /** A PAM 401 never becomes a 401 for the SPA. With `status`: the code is that of this failure. */
  toBrokerError(status = this.policy.status): BrokerError {
    const { code, retryAfterSeconds = status === 503 ? DEFAULT_RETRY_SECONDS : undefined } = this.policy
    const hasKnownTime = retryAfterSeconds !== undefined && this.retryAfterMs !== undefined
    const seconds = hasKnownTime ? Math.max(1, Math.ceil(this.retryAfterMs / 1000)) : retryAfterSeconds
    return pamError(status, code, { retryAfterSeconds: seconds, cause: this })
  }
}

/** The response cannot be used. The reason names its part. */
export function unreadable(reason: string): PamFailure {
  return new PamFailure('unreadable', { reason })
}

/** The body may name one of the 16 errors; otherwise the status decides. */
export function readErrorName({ status, json }: Pick<UpstreamResponse, 'status' | 'json'>): PamErrorName {
  return nameIn(json) ?? NAME_BY_STATUS[status] ?? (status >= 500 ? 'unknown_error' : 'invalid_request')
}

/** undefined: success. Redirects are never followed, so they are unreadable responses. */
export function failureFromAnswer(answer: UpstreamResponse, subject: PamSubject): PamFailure | undefined {
  const { status } = answer
  if (status >= 200 && status < 300) return undefined
  if (status < 400) return unreadable('redirect')
  return new PamFailure(outcomeOf(readErrorName(answer), status, subject), { status })
}

export function failureFromUpstream(failure: UpstreamFailure): PamFailure {
  if (failure.outcome === 'response_too_large')
    return new PamFailure('unreadable', { reason: 'too large', cause: failure })
  if (failure.outcome === 'breaker_open' || failure.outcome === 'pool_exhausted')
    return new PamFailure('held_back', { retryAfterMs: failure.retryAfterMs, cause: failure })
  return new PamFailure('no_answer', { cause: failure })
}

function outcomeOf(name: PamErrorName, status: number, subject: PamSubject): PamOutcome {
  // Any 401 of the token-issuing operation means that the key was refused.
  if (subject === 'token' && status === 401) return 'authentication_error'
  return name === 'resource_does_not_exist' ? NOT_FOUND[subject] : name
}

/** `nottype` is Okta's own name of a field (O4). */
const FIELDS = ['error', 'code', 'name', 'message', 'nottype'] as const
const NAMES = new RegExp(`(?<![A-Za-z0-9_])(?:${PAM_ERROR_NAMES.join('|')})(?![A-Za-z0-9_])`)

function nameIn(json: unknown): PamErrorName | undefined {
  const fields = fieldsOf(json)
  const texts = FIELDS.map((field) => fields[field]).filter((value) => typeof value === 'string')
  const found = NAMES.exec(texts.join('\n'))?.[0]
  return PAM_ERROR_NAMES.find((name) => name === found)
}

/** For a status with several errors, the most general one. */
const NAME_BY_STATUS: Readonly<Record<number, PamErrorName>> = {
  401: 'authentication_error',
  403: 'forbidden_error',
  404: 'resource_does_not_exist',
  409: 'resource_already_exists',
  415: 'unsupported_content_type',
  429: 'too_many_requests',
  499: 'client_closed_connection',
  503: 'service_offline',
  504: 'gateway_timeout',
}
