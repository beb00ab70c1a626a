import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Attributes,
  type Context,
  INVALID_SPAN_CONTEXT,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { innermostFailure } from './dependency-failure.ts'
import { createLogThrottle } from './log-throttle.ts'
import type { Logger } from './logger.ts'
import { VERSION } from './version.ts'

export interface TracingOptions {
  /** The traces are sent to `/v1/traces` below it. */
  readonly endpoint: string
  /** For the collector. */
  readonly headers: { readonly value: Readonly<Record<string, string>> } | undefined
  readonly serviceName: string
  /** Of this process. */
  readonly instanceId: string
  /** `OTEL_TRACES_SAMPLER`, as OpenTelemetry defines it. */
  readonly sampler: string
  /** The part of traces that a `traceidratio` sampler exports, from 0 to 1. */
  readonly ratio: number
  /** Of PUBLIC_URL. */
  readonly scheme: string
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Import only the type: the module is loaded if traces are configured, and OpenTelemetry with it.
 */
export type Tracing = ReturnType<typeof createTracing>

/**
 * The spans of requests, for OpenTelemetry. Nothing is registered globally, and no header is sent
 * to an upstream. No span contains a path, a query, a header, a body or anything else of a user.
 */
export function createTracing(options: TracingOptions) {
  const provider = createProvider(options)
  const tracer = provider.getTracer('gatehouse', VERSION)
  const requests = new AsyncLocalStorage<Context>()
  const startChild = (name: string, attributes: Attributes) => {
    const request = requests.getStore()
    return request ? tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, request) : NO_SPAN
  }

  return {
    /** Starts the server span of a request. The `traceparent` must be well-formed. */
    beginRequest(traceparent: string | undefined) {
      const attributes = { 'url.scheme': options.scheme }
      const span = tracer.startSpan('HTTP', { kind: SpanKind.SERVER, attributes }, contextOf(traceparent))
      /** Runs the request's handlers: the calls and waits in them become its children. */
      const run = (handle: () => void) => requests.run(trace.setSpan(ROOT_CONTEXT, span), handle)
      return { traceId: span.spanContext().traceId, run, end: (how: EndedRequest) => endRequest(span, how) }
    },

    /**
     * Starts the client span of a call. Call the result with the response's status, or the outcome
     * of the failure.
     */
    beginCall(upstream: string, method: string, baseUrl: string) {
      const { hostname, port, protocol } = new URL(baseUrl)
      const span = startChild(`${method} ${upstream}`, {
        'http.request.method': method,
        'server.address': hostname,
        'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
      })
      return (outcome: string) => endCall(span, outcome)
    },

    /** The client span of a wait for Redis. */
    waitForRedis<Reply>(reply: Promise<Reply>, command: string, script?: string): Promise<Reply> {
      const span = startChild(script === undefined ? command : `${command} ${script}`, {
        'db.system.name': 'redis',
        'db.operation.name': command,
        'db.stored_procedure.name': script,
      })
      const fail = (error: unknown) => endSpan(span, innermostFailure(error)?.outcome ?? '_OTHER')
      reply.then(() => endSpan(span), fail)
      return reply
    },

    /** Exports what is left. The exporter limits the time. */
    close: () => shutDown(provider, requests),
  }
}

async function shutDown(provider: ReturnType<typeof createProvider>, requests: AsyncLocalStorage<Context>) {
  requests.disable() // Node 20 visits it whenever a promise is created
  await provider.shutdown().catch(() => {}) // `logFailures` has logged it
}

/** Outside a request. */
const NO_SPAN = trace.wrapSpanContext(INVALID_SPAN_CONTEXT)

function contextOf(traceparent: string | undefined): Context {
  if (traceparent === undefined) return ROOT_CONTEXT
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  const traceFlags = Number.parseInt(flags, 16)
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

/** `method` and `route` as in metrics. */
type EndedRequest = { readonly method: string; readonly route: string; readonly status: number }

function endRequest(span: Span, { method, route, status }: EndedRequest): void {
  const name = method === 'other' ? 'HTTP' : method
  span.updateName(route === 'none' ? name : `${name} ${route}`)
  span.setAttributes({
    'http.request.method': method === 'other' ? '_OTHER' : method,
    'http.route': route === 'none' ? undefined : route,
    'http.response.status_code': status,
  })
  endSpan(span, status < 500 ? undefined : String(status))
}

function endCall(span: Span, outcome: string): void {
  const status = Number(outcome) || undefined
  span.setAttributes({ 'http.response.status_code': status })
  endSpan(span, status !== undefined && status < 400 ? undefined : outcome)
}

function endSpan(span: Span, errorType?: string): void {
  if (errorType !== undefined)
    span.setAttribute('error.type', errorType).setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

/**
 * With its retries. Well within the seconds by which a platform's grace period is longer than
 * `http.shutdownGraceMs`.
 */
const EXPORT_LIMIT_MS = 2000

function createProvider({ endpoint, headers, serviceName, instanceId, sampler, ratio, log }: TracingOptions) {
  const exporter = new OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    headers: { ...headers?.value },
    timeoutMillis: EXPORT_LIMIT_MS,
  })
  const part = sampler.endsWith('always_on') ? 1 : sampler.endsWith('always_off') ? 0 : ratio
  const root = new TraceIdRatioBasedSampler(part)
  return new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': serviceName,
      'service.version': VERSION,
      'service.instance.id': instanceId,
    }),
    sampler: sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root,
    spanProcessors: [new BatchSpanProcessor({ exporter: logFailures(exporter, log) })],
  })
}

/** OpenTelemetry itself reports failures only to a logger of its own, which is not set. */
function logFailures(exporter: SpanExporter, log: TracingOptions['log']): SpanExporter {
  const throttle = createLogThrottle({ periodMs: 60_000 })
  return {
    shutdown: () => exporter.shutdown(),
    export(spans, done) {
      exporter.export(spans, (result) => {
        const count = result.error === undefined ? 0 : throttle('')
        if (count > 0) log.warn('trace_export_failed', { count })
        done(result)
      })
    },
  }
}
