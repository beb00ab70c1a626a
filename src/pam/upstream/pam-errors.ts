import { type BrokerError, pamError } from '../../errors.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import type { UpstreamResponse } from '../../upstream/upstream-client.ts'
import type { UpstreamFailure } from '../../upstream/upstream-failure.ts'

/** What the broker does after a failure, and what the SPA gets: one row of DESIGN §6. */
export interface PamRule {
  /** How often the call is sent again, after the first time. */
  readonly retries: number
  /** A token is minted once, and the call repeated once. */
  readonly renewsToken: boolean
  /** An older answer may be served instead. */
  readonly stale: boolean
  /** The pages of the list that were read stay valid: the next read continues after them. */
  readonly keepsPages: boolean
  /** What is discarded: this list, or every list of the team (and PAM is not called for a while). */
  readonly purges: 'nothing' | 'list' | 'team'
  /** Counts for the breaker. */
  readonly breaker: boolean
  /** An operator must act. */
  readonly alarm: boolean
  readonly status: 404 | 502 | 503 | 504
  readonly code: `pam_${string}`
  /** `Retry-After` in seconds, if PAM names no time; undefined: no such header. */
  readonly retryAfterSeconds: number | undefined
}

const PERMANENT = {
  retries: 0,
  renewsToken: false,
  stale: false,
  keepsPages: false,
  purges: 'nothing',
  breaker: false,
  alarm: false,
  status: 502,
  retryAfterSeconds: undefined,
} as const

/** Data that were read before stay valid. */
const TEMPORARY = { ...PERMANENT, stale: true, keepsPages: true } as const
const FORBIDDEN = { ...PERMANENT, purges: 'list', alarm: true, code: 'pam_not_permitted' } as const
const OFFLINE = { ...TEMPORARY, status: 503, code: 'pam_unavailable', retryAfterSeconds: 5 } as const
const TIMEOUT = { ...TEMPORARY, retries: 1, status: 504, code: 'pam_timeout' } as const

/** The errors of the API, except `resource_does_not_exist`: that depends on what was requested. */
const API_RULES = {
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
  too_many_requests: { ...TEMPORARY, status: 503, code: 'pam_rate_limited', retryAfterSeconds: 2 },
  client_closed_connection: { ...TEMPORARY, retries: 1, code: 'pam_unavailable' },
  unknown_error: { ...TEMPORARY, retries: 2, code: 'pam_unavailable' },
  service_offline: { ...OFFLINE, retries: 2, breaker: true },
  gateway_timeout: TIMEOUT,
} as const satisfies Record<string, PamRule>

const OWN_RULES = {
  unknown_person: { ...PERMANENT, status: 404, code: 'pam_user_unknown' },
  unknown_team: { ...PERMANENT, alarm: true, code: 'pam_misconfigured' },
  /** "Does not exist" on a later page of a list: that place in the list is gone. */
  page_gone: { ...PERMANENT, stale: true, code: 'pam_unavailable' },
  /** The token was issued for another team than `PAM_TEAM`. */
  other_team: { ...PERMANENT, alarm: true, code: 'pam_misconfigured' },
  /** No complete answer: refused, cut, too slow. */
  no_answer: TIMEOUT,
  /** Not sent: the breaker is open, or no connection became free in time. */
  held_back: OFFLINE,
  /** An answer that cannot be used: not JSON, a malformed group, a link that must not be followed, too much. */
  unreadable: { ...PERMANENT, stale: true, alarm: true, code: 'pam_unexpected' },
} as const satisfies Record<string, PamRule>

export type PamOutcome = keyof typeof API_RULES | keyof typeof OWN_RULES
export const PAM_RULES: Readonly<Record<PamOutcome, PamRule>> = { ...API_RULES, ...OWN_RULES }

export function isPamOutcome(name: string): name is PamOutcome {
  return Object.hasOwn(PAM_RULES, name)
}

/** The 16 errors of the API (PAM spec, "Errors"). */
export type PamErrorName = keyof typeof API_RULES | 'resource_does_not_exist'
export const PAM_ERROR_NAMES = [
  ...Object.keys(API_RULES),
  'resource_does_not_exist',
] as readonly PamErrorName[]

/** What was requested: it decides what "does not exist" means. `token` is the token-issuing operation. */
export type PamSubject = keyof typeof NOT_FOUND

const NOT_FOUND = {
  token: 'unknown_team',
  team: 'unknown_team',
  person: 'unknown_person',
  later_page: 'page_gone',
} as const satisfies Record<string, PamOutcome>

export interface PamFailureDetails {
  readonly reason?: string
  /** Of the answer; undefined: there was none. */
  readonly status?: number | undefined
  readonly retryAfterMs?: number | undefined
  /** The call was given up in favour of others: this says nothing about the API. */
  readonly wasDeferred?: boolean
  readonly cause?: unknown
}

/** A lookup that failed. It contains nothing of the answer but its kind. */
export class PamFailure extends DependencyFailure {
  override readonly name = 'PamFailure'
  declare readonly outcome: PamOutcome
  readonly rule: PamRule
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  readonly wasDeferred: boolean

  constructor(outcome: PamOutcome, details: PamFailureDetails = {}) {
    const { reason, status, retryAfterMs, wasDeferred = false, cause } = details
    super(outcome, { message: reason === undefined ? outcome : `${outcome}: ${reason}`, cause })
    this.rule = PAM_RULES[outcome]
    this.status = status
    this.retryAfterMs = retryAfterMs
    this.wasDeferred = wasDeferred
  }

  /** The SPA's answer; a PAM 401 is never the SPA's 401. */
  toBrokerError(): BrokerError {
    const { status, code, retryAfterSeconds } = this.rule
    return this.#brokerError(status, code, retryAfterSeconds)
  }

  /** The answer if there are no data that are recent enough: 503 with the code of this failure. */
  toNotRecent(): BrokerError {
    const { code, retryAfterSeconds = 5 } = this.rule
    return this.#brokerError(503, code, retryAfterSeconds)
  }

  #brokerError(
    status: PamRule['status'],
    code: PamRule['code'],
    defaultSeconds: number | undefined,
  ): BrokerError {
    const knownSeconds =
      this.retryAfterMs === undefined ? undefined : Math.max(1, Math.ceil(this.retryAfterMs / 1000))
    const retryAfterSeconds = defaultSeconds === undefined ? undefined : (knownSeconds ?? defaultSeconds)
    return pamError(status, code, { retryAfterSeconds, cause: this })
  }
}

/** Which of the 16 errors an answer is: by a name found in the body, else by the status (DESIGN §6). */
export function errorNameOf({ status, json }: Pick<UpstreamResponse, 'status' | 'json'>): PamErrorName {
  return nameIn(json) ?? NAME_BY_STATUS[status] ?? (status >= 500 ? 'unknown_error' : 'invalid_request')
}

/** undefined: the answer is no error. A redirect is never followed, so it is no usable answer. */
export function failureOf(answer: UpstreamResponse, subject: PamSubject): PamFailure | undefined {
  const { status } = answer
  if (status >= 200 && status < 300) return undefined
  if (status < 400) return new PamFailure('unreadable', { reason: 'redirect' })
  return new PamFailure(outcomeOf(errorNameOf(answer), status, subject), { status })
}

export function failureOfCall(failure: UpstreamFailure): PamFailure {
  if (failure.outcome === 'too-large')
    return new PamFailure('unreadable', { reason: 'too large', cause: failure })
  if (failure.outcome === 'breaker-open' || failure.outcome === 'busy')
    return new PamFailure('held_back', { retryAfterMs: failure.retryAfterMs, cause: failure })
  return new PamFailure('no_answer', { cause: failure })
}

function outcomeOf(name: PamErrorName, status: number, subject: PamSubject): PamOutcome {
  // Whatever its name, a 401 of the token-issuing operation means that the key was refused.
  if (subject === 'token' && status === 401) return 'authentication_error'
  return name === 'resource_does_not_exist' ? NOT_FOUND[subject] : name
}

const FIELDS = ['error', 'code', 'name', 'message'] as const
const NAMES = new RegExp(`(?<![A-Za-z0-9_])(?:${PAM_ERROR_NAMES.join('|')})(?![A-Za-z0-9_])`)

function nameIn(json: unknown): PamErrorName | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  for (const field of FIELDS) {
    const value: unknown = Object.hasOwn(json, field) ? (json as Record<string, unknown>)[field] : undefined
    const found = typeof value === 'string' ? NAMES.exec(value)?.[0] : undefined
    const name = PAM_ERROR_NAMES.find((one) => one === found)
    if (name !== undefined) return name
  }
  return undefined
}

/** If a status has several errors, the most general one. */
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
