import { type BrokerError, pamError } from '../../errors.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import type { UpstreamAnswer } from '../../upstream/upstream-client.ts'
import type { UpstreamFailure } from '../../upstream/upstream-failure.ts'

/** The 16 errors of the API (PAM spec, "Errors"). */
export const PAM_ERROR_NAMES = [
  'invalid_request',
  'authentication_error',
  'authorization_error',
  'server_authorization_revoked',
  'forbidden_error',
  'quota_exceeded',
  'disabled_team',
  'resource_does_not_exist',
  'resource_deprecated',
  'resource_already_exists',
  'unsupported_content_type',
  'too_many_requests',
  'client_closed_connection',
  'unknown_error',
  'service_offline',
  'gateway_timeout',
] as const

export type PamErrorName = (typeof PAM_ERROR_NAMES)[number]

/** What can go wrong with a lookup: the API's own errors, one of them by what was asked for, and ours. */
export type PamTrouble =
  | Exclude<PamErrorName, 'resource_does_not_exist'>
  | 'unknown_person'
  | 'unknown_team'
  /** "Does not exist" on a later page of a list: that place in the list is gone. */
  | 'page_gone'
  /** The token answer speaks of another team than `PAM_TEAM`. */
  | 'other_team'
  /** No whole answer: refused, cut, too slow. */
  | 'no_answer'
  /** Not sent: the last calls all failed, or no connection became free in time. */
  | 'held_back'
  /** An answer that cannot be taken: not JSON, a malformed group, a link that must not be followed, too much. */
  | 'unreadable'

/** What the broker does about a trouble, and what the SPA is told: one row of DESIGN §6. */
export interface PamRule {
  /** How often the call is sent again, beside the first time. */
  readonly retries: number
  /** Mint once, repeat once. */
  readonly renewsToken: boolean
  /** An older answer may be given instead. */
  readonly stale: boolean
  /** The pages of the list that were read before stay good: the next read continues after them. */
  readonly keepsPages: boolean
  /** What is thrown away: this list, or every list of the team (and the team is left alone for a while). */
  readonly purges: 'nothing' | 'list' | 'team'
  /** Counts towards holding calls back. */
  readonly breaker: boolean
  /** Somebody must act. */
  readonly alarm: boolean
  readonly status: 404 | 502 | 503 | 504
  readonly code: `pam_${string}`
  /** `Retry-After` when nothing better is known, in seconds; undefined: no such header. */
  readonly retryAfterSeconds: number | undefined
}

const PLAIN = {
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

/** A temporary failure: data that was read before stays valid. */
const TEMPORARY = { ...PLAIN, stale: true, keepsPages: true } as const

export const PAM_RULES: Readonly<Record<PamTrouble, PamRule>> = {
  invalid_request: { ...PLAIN, code: 'pam_bad_request' },
  unsupported_content_type: { ...PLAIN, code: 'pam_bad_request' },
  authentication_error: { ...TEMPORARY, renewsToken: true, alarm: true, code: 'pam_credentials' },
  authorization_error: {
    ...PLAIN,
    renewsToken: true,
    purges: 'list',
    alarm: true,
    code: 'pam_not_permitted',
  },
  forbidden_error: { ...PLAIN, purges: 'list', alarm: true, code: 'pam_not_permitted' },
  server_authorization_revoked: { ...PLAIN, code: 'pam_unexpected' },
  resource_already_exists: { ...PLAIN, code: 'pam_unexpected' },
  quota_exceeded: { ...TEMPORARY, code: 'pam_quota' },
  disabled_team: {
    ...PLAIN,
    purges: 'team',
    alarm: true,
    status: 503,
    code: 'pam_team_disabled',
    retryAfterSeconds: 300,
  },
  unknown_person: { ...PLAIN, status: 404, code: 'pam_user_unknown' },
  unknown_team: { ...PLAIN, alarm: true, code: 'pam_misconfigured' },
  other_team: { ...PLAIN, alarm: true, code: 'pam_misconfigured' },
  page_gone: { ...PLAIN, stale: true, code: 'pam_unavailable' },
  resource_deprecated: { ...PLAIN, alarm: true, code: 'pam_deprecated' },
  too_many_requests: { ...TEMPORARY, status: 503, code: 'pam_rate_limited', retryAfterSeconds: 2 },
  client_closed_connection: { ...TEMPORARY, retries: 1, code: 'pam_unavailable' },
  unknown_error: { ...TEMPORARY, retries: 2, code: 'pam_unavailable' },
  service_offline: {
    ...TEMPORARY,
    retries: 2,
    breaker: true,
    status: 503,
    code: 'pam_unavailable',
    retryAfterSeconds: 5,
  },
  held_back: { ...TEMPORARY, status: 503, code: 'pam_unavailable', retryAfterSeconds: 5 },
  gateway_timeout: { ...TEMPORARY, retries: 1, status: 504, code: 'pam_timeout' },
  no_answer: { ...TEMPORARY, retries: 1, status: 504, code: 'pam_timeout' },
  unreadable: { ...PLAIN, stale: true, alarm: true, code: 'pam_unexpected' },
}

export function isPamTrouble(name: string): name is PamTrouble {
  return Object.hasOwn(PAM_RULES, name)
}

/** What was asked for: it decides what "does not exist" means. `token` is the issuing operation. */
export type PamSubject = keyof typeof NOT_FOUND

const NOT_FOUND = {
  token: 'unknown_team',
  team: 'unknown_team',
  person: 'unknown_person',
  later_page: 'page_gone',
} as const satisfies Record<string, PamTrouble>

/** A lookup that failed; carries nothing of the answer but its kind. */
export class PamFailure extends DependencyFailure {
  override readonly name = 'PamFailure'
  readonly trouble: PamTrouble
  readonly rule: PamRule
  /** Of the answer; undefined when there was none. */
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  /** The call was given up for the sake of others: no verdict about the API. */
  readonly gaveWay: boolean

  constructor(
    trouble: PamTrouble,
    details: {
      reason?: string
      status?: number
      retryAfterMs?: number | undefined
      gaveWay?: boolean
      cause?: unknown
    } = {},
  ) {
    const { reason, cause } = details
    super(trouble, { message: reason === undefined ? trouble : `${trouble}: ${reason}`, cause })
    this.trouble = trouble
    this.rule = PAM_RULES[trouble]
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs
    this.gaveWay = details.gaveWay ?? false
  }

  /** The SPA's answer; a PAM 401 is never the SPA's 401. */
  toBrokerError(): BrokerError {
    const { status, code, retryAfterSeconds } = this.rule
    const seconds =
      this.retryAfterMs === undefined || retryAfterSeconds === undefined
        ? retryAfterSeconds
        : Math.max(1, Math.ceil(this.retryAfterMs / 1000))
    return pamError(status, code, { retryAfterSeconds: seconds, cause: this })
  }
}

/** Which of the 16 errors an answer is: by a name found in the body, else by the status (DESIGN §6). */
export function errorNameOf({ status, json }: Pick<UpstreamAnswer, 'status' | 'json'>): PamErrorName {
  return nameIn(json) ?? NAME_BY_STATUS[status] ?? (status >= 500 ? 'unknown_error' : 'invalid_request')
}

/** undefined: the answer is not an error. A redirect is never followed, so it is no answer that we can take. */
export function failureOf(answer: UpstreamAnswer, subject: PamSubject): PamFailure | undefined {
  const { status } = answer
  if (status >= 200 && status < 300) return undefined
  if (status < 400) return new PamFailure('unreadable', { reason: 'redirect' })
  return new PamFailure(troubleOf(errorNameOf(answer), status, subject), { status })
}

export function failureOfCall(failure: UpstreamFailure): PamFailure {
  if (failure.outcome === 'too-large')
    return new PamFailure('unreadable', { reason: 'too large', cause: failure })
  if (failure.outcome === 'breaker-open' || failure.outcome === 'busy')
    return new PamFailure('held_back', { retryAfterMs: failure.retryAfterMs, cause: failure })
  return new PamFailure('no_answer', { cause: failure })
}

function troubleOf(name: PamErrorName, status: number, subject: PamSubject): PamTrouble {
  // Whatever a 401 of the issuing operation calls itself: the key was not accepted.
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

/** Where a status has several errors, the plainest one. */
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
