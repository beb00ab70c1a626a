import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An OpenTelemetry collector (OTLP over HTTP, JSON) in this process. */
export interface TraceCollector {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string
  /** Every payload so far, as text. */
  text(): string
  spans(): CollectedSpan[]
  /** The headers of the latest export. */
  headers(): NodeJS.Dict<string | string[]>
  close(): Promise<void>
}

export interface CollectedSpan {
  readonly name: string
  /** 2: server, 3: client. */
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly attributes: Readonly<Record<string, string | number>>
  readonly startNs: bigint
  readonly endNs: bigint
}

export async function startTraceCollector(): Promise<TraceCollector> {
  const payloads: string[] = []
  let headers: NodeJS.Dict<string | string[]> = {}
  const server = createServer(async (req, res) => {
    headers = req.headers
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    if (req.method === 'POST' && req.url === '/v1/traces') payloads.push(Buffer.concat(chunks).toString())
    res.setHeader('Content-Type', 'application/json').end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // of a TCP server that listens
  return {
    url: `http://127.0.0.1:${port}`,
    text: () => payloads.join('\n'),
    spans: () => payloads.flatMap(spansIn),
    headers: () => headers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Payload {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

interface OtlpSpan extends Pick<CollectedSpan, 'name' | 'kind' | 'traceId' | 'spanId' | 'parentSpanId'> {
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly {
    readonly key: string
    readonly value: { readonly stringValue?: string; readonly intValue?: number }
  }[]
  readonly events?: readonly unknown[]
  readonly links?: readonly unknown[]
}

function spansIn(payload: string): CollectedSpan[] {
  const { resourceSpans } = JSON.parse(payload) as Payload // of the exporter
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .map(({ attributes, startTimeUnixNano, endTimeUnixNano, events, links, ...span }) => {
      if (events?.length || links?.length) throw new Error('a span has events or links')
      const pairs = attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '?'])
      return {
        ...span,
        attributes: Object.fromEntries(pairs),
        startNs: BigInt(startTimeUnixNano),
        endNs: BigInt(endTimeUnixNano),
      }
    })
}

const METHOD = '(?:GET|HEAD|POST|DELETE|OPTIONS|PUT|PATCH)'
/** A path with handles, ids or an address has a long segment, a digit or a character that no route has. */
const ROUTE = /^(?:\/(?:\.?[a-zA-Z]+(?:[-_.][a-zA-Z]+)*|v1|\{[a-z]+\}|:[a-zA-Z]+))+$/
const ALLOWED: Readonly<Record<string, RegExp>> = {
  'url.scheme': /^https?$/,
  'http.request.method': new RegExp(`^(?:${METHOD}|_OTHER)$`),
  'http.route': ROUTE,
  'http.response.status_code': /^\d{3}$/,
  'server.address': /^(?:127\.0\.0\.1|localhost)$/,
  'server.port': /^\d+$/,
  'db.system.name': /^redis$/,
  'error.type': /^(?:\d{3}|[a-z_]+|_OTHER)$/,
}
const NAME = new RegExp(`^(?:redis|HTTP|${METHOD}(?: (?:authn|pam|/\\S+))?)$`)

/** Throws if a span has a name or an attribute that no span may have. */
export function checkSpans(spans: readonly CollectedSpan[]): void {
  for (const { name, attributes } of spans) {
    const [, route] = name.split(' ')
    if (!NAME.test(name) || (route?.startsWith('/') && route !== attributes['http.route']))
      throw new Error(`a span is named ${name}`)
    for (const [key, value] of Object.entries(attributes))
      if (!ALLOWED[key]?.test(String(value))) throw new Error(`${name}: ${key} is ${value}`)
  }
}
