import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
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
import type { RequestSpan, TracedCall, TraceParent, Tracing, TracingOptions } from './tracing.ts'
import { VERSION } from './version.ts'

/** Well within the seconds by which a platform's grace period is longer than `http.shutdownGraceMs`. */
const CLOSE_LIMIT_MS = 2000

/** What the children of a request's span need. */
interface Current {
  readonly context: Context
  waiting: number
  redisSpan?: Span | undefined
}

/** Loaded only if traces are configured. Nothing is registered globally, and no header is sent to an upstream. */
export function createTracing(options: TracingOptions): Tracing {
  const provider = createProvider(options)
  const tracer = provider.getTracer('gatehouse', VERSION)
  const requests = new AsyncLocalStorage<Current>()
  const startChild = ({ context }: Current, name: string, attributes: Attributes) =>
    tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, context)

  return {
    beginRequest: (parent) => beginRequest({ tracer, requests, scheme: options.scheme, parent }),

    beginCall(call) {
      const current = requests.getStore()
      if (current === undefined) return () => undefined
      const span = startChild(current, `${call.method} ${call.upstream}`, attributesOf(call))
      return (outcome) => endCall(span, outcome)
    },

    async waitForRedis(reply) {
      const current = requests.getStore()
      if (current === undefined) return reply
      current.redisSpan ??= startChild(current, 'redis', { 'db.system.name': 'redis' })
      const span = current.redisSpan
      current.waiting += 1
      try {
        return await reply
      } catch (error) {
        markFailed(span, innermostFailure(error)?.outcome ?? '_OTHER')
        throw error
      } finally {
        current.waiting -= 1
        if (current.waiting === 0) endWait(current)
      }
    },

    async close() {
      const exported = provider.shutdown().catch(() => undefined) // `logFailures` has logged it
      await Promise.race([exported, pause(CLOSE_LIMIT_MS, undefined, { ref: false })])
    },
  }
}

interface RequestOptions {
  readonly tracer: Tracer
  readonly requests: AsyncLocalStorage<Current>
  readonly scheme: string
  readonly parent: TraceParent | undefined
}

function beginRequest({ tracer, requests, scheme, parent }: RequestOptions): RequestSpan {
  const attributes = { 'url.scheme': scheme }
  const span = tracer.startSpan('HTTP', { kind: SpanKind.SERVER, attributes }, contextOf(parent))
  return {
    traceId: span.spanContext().traceId,
    run: (handle) => requests.run({ context: trace.setSpan(ROOT_CONTEXT, span), waiting: 0 }, handle),
    end({ method, route, status }) {
      const name = method === 'other' ? 'HTTP' : method
      span.updateName(route === 'none' ? name : `${name} ${route}`)
      span.setAttribute('http.request.method', method === 'other' ? '_OTHER' : method)
      if (route !== 'none') span.setAttribute('http.route', route)
      span.setAttribute('http.response.status_code', status)
      endSpan(span, status >= 500 ? String(status) : undefined)
    },
  }
}

function contextOf(parent: TraceParent | undefined): Context {
  if (parent === undefined) return ROOT_CONTEXT
  const { traceId, spanId, isSampled } = parent
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

function attributesOf({ method, origin: { protocol, hostname, port } }: TracedCall): Attributes {
  return {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
  }
}

function endCall(span: Span, outcome: string): void {
  const status = /^\d{3}$/.test(outcome) ? Number(outcome) : undefined
  if (status !== undefined) span.setAttribute('http.response.status_code', status)
  endSpan(span, status === undefined || status >= 400 ? outcome : undefined)
}

function endWait(current: Current): void {
  current.redisSpan?.end()
  current.redisSpan = undefined
}

function endSpan(span: Span, errorType: string | undefined): void {
  if (errorType !== undefined) markFailed(span, errorType)
  span.end()
}

function markFailed(span: Span, errorType: string): void {
  span.setAttribute('error.type', errorType).setStatus({ code: SpanStatusCode.ERROR })
}

function createProvider(options: TracingOptions): TracerProvider {
  const { endpoint, headers, serviceName, sampler, ratio, log } = options
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, headers: { ...headers?.value } })
  const root = new TraceIdRatioBasedSampler(
    sampler.endsWith('always_on') ? 1 : sampler.endsWith('always_off') ? 0 : ratio,
  )
  return new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': VERSION }),
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
