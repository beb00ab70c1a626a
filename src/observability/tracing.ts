import type { Logger } from './logger.ts'

/**
 * The spans of a request, for OpenTelemetry. Undefined if `OTEL_EXPORTER_OTLP_ENDPOINT` is not set: then neither OpenTelemetry nor an
 * `AsyncLocalStorage` exists. No span contains a path, a query, a header, a body or anything else of a user.
 */
export interface Tracing {
  /** Starts the server span of a request. */
  beginRequest(parent: TraceParent | undefined): RequestSpan
  /** Starts the client span of a call to an upstream. Call the result with the response's status, or the outcome of the failure. */
  beginCall(call: TracedCall): (outcome: string) => void
  /** The client span of a wait for Redis. Operations of a request that wait at the same time share one: they share a round trip. */
  waitForRedis<Reply>(reply: Promise<Reply>): Promise<Reply>
  /** Exports what is left, within a time limit. */
  close(): Promise<void>
}

export interface RequestSpan {
  readonly traceId: string
  /** Runs the request's handlers: the calls and waits in them become its children. */
  run(handle: () => void): void
  end(request: { readonly method: string; readonly route: string; readonly status: number }): void
}

export interface TracedCall {
  readonly upstream: string
  readonly method: string
  /** Only its host name and port are used. */
  readonly origin: URL
}

export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
}

/** W3C Trace Context. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]([0-9a-f])$/

/** Undefined if the header is missing or malformed. */
export function parseTraceparent(header: string | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags = '0'] = TRACEPARENT.exec(header ?? '') ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  return { traceId, spanId, isSampled: Number.parseInt(flags, 16) % 2 === 1 }
}

/** `OTEL_TRACES_SAMPLER`, as OpenTelemetry defines it. */
export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

export interface TracingOptions {
  /** The traces are sent to `/v1/traces` below it. */
  readonly endpoint: string
  /** For the collector. */
  readonly headers: { readonly value: Readonly<Record<string, string>> } | undefined
  readonly serviceName: string
  readonly sampler: (typeof SAMPLERS)[number]
  /** The part of traces that a `traceidratio` sampler exports, from 0 to 1. */
  readonly ratio: number
  /** Of PUBLIC_URL, without a colon. */
  readonly scheme: string
  readonly log: Pick<Logger, 'warn'>
}
