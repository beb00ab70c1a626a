/**
 * Every field of a log line, audit lines excepted (`audit-events.ts`), with the type of its value.
 * A field that is not listed is not written. `scripts/docs/log-fields.ts` describes them for
 * `docs/logs.md`.
 */
export const LOG_FIELDS = {
  requestId: 'string',
  method: 'string',
  origin: 'string',
  route: 'string',
  status: 'number',
  durationMs: 'number',
  address: 'string',
  errorCode: 'string',
  dependency: 'string',
  outcome: 'string',
  code: 'string',
  upstream: 'string',
  upstreamStatus: 'number',
  upstreamErrorId: 'string',
  upstreamErrorCode: 'string',
  reason: 'string',
  userId: 'string',
  rule: 'string',
  operation: 'string',
  count: 'number',
  name: 'string',
  port: 'number',
  host: 'string',
  signal: 'string',
  state: 'string',
  retryAfterSeconds: 'number',
  lifetimeMs: 'number',
  offsetMs: 'number',
  revision: 'string',
  variables: 'string',
} as const

export type LogFields = {
  readonly [Name in keyof typeof LOG_FIELDS]?: Types[(typeof LOG_FIELDS)[Name]] | undefined
}

interface Types {
  string: string
  number: number
}
