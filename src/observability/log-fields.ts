/**
 * Every field of a log line, audit lines excepted (`audit-events.ts`), with the type of its value. A field that is not
 * listed is not written.
 */
export const LOG_FIELDS = {
  /** The broker's id of the request, also in `X-Request-Id` and in `errorId` of its own errors. */
  requestId: 'string',
  method: 'string',
  /** The `Origin` header: visible ASCII only, cut at a maximum length. */
  origin: 'string',
  /** The route's template, such as `/api/v1/authn/factors/:id/verify`; never the path itself. */
  route: 'string',
  status: 'number',
  durationMs: 'number',
  /** The client's address, found with TRUST_PROXY. */
  address: 'string',
  errorCode: 'string',
  /** The dependency that failed: `authn`, `pam` or `store`. */
  dependency: 'string',
  /** How it failed; for an upstream call, as in the label `outcome` of the metrics. */
  outcome: 'string',
  /** The error code of the platform or of Redis, such as `ECONNREFUSED` or `OOM`; never a host or a value. */
  code: 'string',
  /** `authn` or `pam`. */
  upstream: 'string',
  upstreamStatus: 'number',
  /** The upstream's error id, for its support. */
  upstreamErrorId: 'string',
  upstreamErrorCode: 'string',
  /** A constant of the broker's code. */
  reason: 'string',
  /** Okta's opaque user id. */
  userId: 'string',
  operation: 'string',
  count: 'number',
  name: 'string',
  port: 'number',
  /** The address that a listener binds to. */
  host: 'string',
  signal: 'string',
  state: 'string',
  retryAfterSeconds: 'number',
  /** The lifetime of an issued token or of a recovery challenge. */
  lifetimeMs: 'number',

  // of `configured`
  /** The commit that the image was built from. */
  revision: 'string',
  /** The names of the variables that are set, separated by commas. */
  variables: 'string',
} as const

export type LogFields = {
  readonly [Name in keyof typeof LOG_FIELDS]?: Types[(typeof LOG_FIELDS)[Name]] | undefined
}

interface Types {
  string: string
  number: number
}
