/** Every field that may stand in a log line. A new one is added here, with what it may hold, or it is not written. */
export interface LogFields {
  /** Our id of the request, also in `X-Request-Id` and in our errors' `errorId`. */
  readonly requestId?: string | undefined
  readonly traceId?: string | undefined
  readonly method?: string | undefined
  /** The `Origin` header, cut short, without anything but visible ASCII. */
  readonly origin?: string | undefined
  /** The route's template, such as `/api/v1/authn/factors/:id/verify`; never the path itself. */
  readonly route?: string | undefined
  readonly status?: number | undefined
  readonly durationMs?: number | undefined
  /** The client's address as found through TRUST_PROXY. */
  readonly address?: string | undefined
  readonly errorCode?: string | undefined
  /** What did not work, of all that we need. */
  readonly dependency?: 'authn' | 'pam' | 'store' | undefined
  /** How it did not work, in the words of `dependency-trouble.ts`; those of an upstream call are the metrics' own. */
  readonly outcome?: string | undefined
  /** The platform's or Redis' own word for it, such as `ECONNREFUSED` or `OOM`; never a host and never a value. */
  readonly code?: string | undefined
  readonly upstream?: 'authn' | 'pam' | undefined
  readonly upstreamStatus?: number | undefined
  /** The upstream's own error id, for its support. */
  readonly upstreamErrorId?: string | undefined
  readonly upstreamErrorCode?: string | undefined
  readonly upstreamRequestId?: string | undefined
  /** A word from our own code: why something was done. */
  readonly reason?: string | undefined
  /** The upstream's opaque user id. */
  readonly userId?: string | undefined
  /** Keyed hashes, to follow one person, device or transaction through the lines. */
  readonly loginHash?: string | undefined
  readonly deviceHash?: string | undefined
  /** Of the device that a transaction belongs to, where another one showed its handle. */
  readonly boundDeviceHash?: string | undefined
  readonly transactionHash?: string | undefined
  /** The public id; never the cookie's. */
  readonly sessionId?: string | undefined
  readonly operation?: string | undefined
  readonly transactionStatus?: string | undefined
  readonly factorType?: string | undefined
  /** A factor's provider as the org names it. */
  readonly provider?: string | undefined
  /** What was proved, RFC 8176 names with spaces between them. */
  readonly methods?: string | undefined
  /** A limit's own name, as in the metrics. */
  readonly limit?: string | undefined
  readonly count?: number | undefined
  readonly name?: string | undefined
  readonly port?: number | undefined
  /** What a listener of ours binds to. */
  readonly host?: string | undefined
  readonly signal?: string | undefined
  readonly version?: string | undefined
  readonly state?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly ageMs?: number | undefined
  /** How long a token that was issued lasts. */
  readonly lifetimeMs?: number | undefined
  readonly audit?: boolean | undefined
}

const NAMES: Readonly<Record<keyof LogFields, true>> = {
  requestId: true,
  traceId: true,
  method: true,
  origin: true,
  route: true,
  status: true,
  durationMs: true,
  address: true,
  errorCode: true,
  dependency: true,
  outcome: true,
  code: true,
  upstream: true,
  upstreamStatus: true,
  upstreamErrorId: true,
  upstreamErrorCode: true,
  upstreamRequestId: true,
  reason: true,
  userId: true,
  loginHash: true,
  deviceHash: true,
  boundDeviceHash: true,
  transactionHash: true,
  sessionId: true,
  operation: true,
  transactionStatus: true,
  factorType: true,
  provider: true,
  methods: true,
  limit: true,
  count: true,
  name: true,
  port: true,
  host: true,
  signal: true,
  version: true,
  state: true,
  retryAfterSeconds: true,
  ageMs: true,
  lifetimeMs: true,
  audit: true,
}

export function isLogField(name: string): name is keyof LogFields {
  return Object.hasOwn(NAMES, name)
}
