import type { LOG_FIELDS } from '../../src/observability/log-fields.ts'

type LogField =
  | keyof typeof LOG_FIELDS
  | 'time'
  | 'level'
  | 'event'
  | 'service'
  | 'version'
  | 'trace_id'
  | 'audit'
  | 'error'

interface LogFieldText {
  readonly meaning: string
  /** The field of the Elastic Common Schema. */
  readonly ecs?: string
  /** The field or attribute of OpenTelemetry. */
  readonly otel?: string
}

/** Fields of log lines. Those that only audit events have are in scripts/docs/audit.ts. */
export const LOG_FIELD_TEXTS: Readonly<Record<LogField, LogFieldText>> = {
  time: { meaning: 'time of the event, UTC', ecs: '@timestamp', otel: 'Timestamp' },
  level: { meaning: '`error`, `warn`, `info` or `debug`', ecs: 'log.level', otel: 'SeverityText' },
  event: { meaning: 'name of the event', ecs: 'event.action', otel: 'EventName' },
  service: { meaning: '`gatehouse`', ecs: 'service.name', otel: 'service.name' },
  version: { meaning: 'version of the broker', ecs: 'service.version', otel: 'service.version' },
  requestId: {
    meaning: 'id of the request, as in `X-Request-Id` and `errorId`',
    ecs: 'http.request.id',
    otel: 'http.request.header.x-request-id',
  },
  trace_id: {
    meaning: "trace id of the request's span, or of a trusted proxy's `traceparent`",
    ecs: 'trace.id',
    otel: 'TraceId',
  },
  method: { meaning: 'HTTP method', ecs: 'http.request.method', otel: 'http.request.method' },
  origin: { meaning: '`Origin` header, shortened', otel: 'http.request.header.origin' },
  route: { meaning: 'template of the route, never the path', otel: 'http.route' },
  status: {
    meaning: 'HTTP status of the response',
    ecs: 'http.response.status_code',
    otel: 'http.response.status_code',
  },
  durationMs: { meaning: 'duration of the request', ecs: 'event.duration' },
  address: {
    meaning: "the client's address, found with `TRUST_PROXY`",
    ecs: 'client.ip',
    otel: 'client.address',
  },
  errorCode: { meaning: "error code of the broker's response", ecs: 'error.code', otel: 'error.type' },
  dependency: {
    meaning: '`authn`, `pam` or `store`',
    ecs: 'service.target.name',
    otel: 'peer.service',
  },
  outcome: { meaning: 'how a dependency failed', ecs: 'error.type', otel: 'error.type' },
  code: { meaning: 'reason from the platform or Redis, such as `ECONNREFUSED`', ecs: 'error.code' },
  upstream: { meaning: '`authn` or `pam`', ecs: 'service.target.name', otel: 'peer.service' },
  upstreamStatus: { meaning: "HTTP status of the upstream's response" },
  upstreamErrorId: { meaning: "the upstream's error id" },
  upstreamErrorCode: { meaning: "the upstream's error code" },
  reason: { meaning: 'the reason, from a fixed list', ecs: 'event.reason' },
  userId: { meaning: "Okta's user id", ecs: 'user.id', otel: 'user.id' },
  rule: { meaning: 'query of `/forward-auth`, shortened' },
  operation: { meaning: 'the step or operation' },
  count: { meaning: 'a number; see the event' },
  name: { meaning: 'a name; see the event' },
  port: { meaning: 'port of a listener', ecs: 'server.port', otel: 'server.port' },
  host: { meaning: 'address of a listener', ecs: 'server.address', otel: 'server.address' },
  signal: { meaning: 'signal of the operating system' },
  state: { meaning: 'state of a circuit breaker' },
  retryAfterSeconds: { meaning: 'time until the next attempt' },
  lifetimeMs: { meaning: 'lifetime of a token' },
  offsetMs: { meaning: 'how far the clock of the replica is ahead' },
  revision: { meaning: 'commit of the build' },
  variables: {
    meaning:
      '`configured`: the names of the variables that are set, separated by commas. `listen_failed`: the one to change',
  },
  audit: { meaning: '`true` for audit events' },
  error: {
    meaning: 'name, code and stack frames of an error, without its message',
    ecs: 'error.stack_trace',
    otel: 'exception.stacktrace',
  },
}

/** Fields of audit events that have a name in one of the schemas. */
export const AUDIT_FIELD_NAMES: Readonly<Record<string, Omit<LogFieldText, 'meaning'>>> = {
  loginHash: { ecs: 'user.hash', otel: 'user.hash' },
  deviceHash: { ecs: 'device.id', otel: 'device.id' },
  sessionId: { otel: 'session.id' },
  userAgent: { ecs: 'user_agent.original', otel: 'user_agent.original' },
}
