import { type StubUpstream, sendJson, startStubUpstream } from './stub-upstream.ts'

/** An OpenTelemetry collector (OTLP over HTTP, JSON) in this process. */
export interface TraceCollector extends StubUpstream {
  /** Every payload so far. */
  text(): string
  spans(): CollectedSpan[]
}

export interface CollectedSpan extends Omit<OtlpSpan, 'attributes'> {
  readonly attributes: Readonly<Record<string, string | number | undefined>>
}

export async function startTraceCollector(): Promise<TraceCollector> {
  const stub = await startStubUpstream((_req, res) => sendJson(res, 200, {}))
  return {
    ...stub,
    text: () => stub.requests.map(({ text }) => text).join('\n'),
    spans: () =>
      stub.requests
        .flatMap(({ body }) => (body as Payload).resourceSpans) // of the exporter
        .flatMap(({ scopeSpans }) => scopeSpans)
        .flatMap(({ spans }) => spans)
        .map(({ attributes, ...span }) => ({ ...span, attributes: valuesOf(attributes) })),
  }
}

interface Payload {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

interface OtlpSpan {
  readonly name: string
  /** 2: server, 3: client. */
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: readonly {
    readonly key: string
    readonly value: { readonly stringValue?: string; readonly intValue?: number }
  }[]
  readonly status: { readonly message?: string }
  readonly events: readonly unknown[]
  readonly links: readonly unknown[]
}

const valuesOf = (attributes: OtlpSpan['attributes']) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]))

const METHOD = '(?:GET|HEAD|POST|DELETE|OPTIONS|PUT|PATCH)'
const ALLOWED: Readonly<Record<string, RegExp>> = {
  'url.scheme': /^https?$/,
  'http.request.method': new RegExp(`^(?:${METHOD}|_OTHER)$`),
  // a path with a handle, an id or an address has a digit, or a character that no route has
  'http.route': /^(?:\/(?:\.?[a-zA-Z]+(?:[-_.][a-zA-Z]+)*|v1|:[a-zA-Z]+))+$/,
  'http.response.status_code': /^\d{3}$/,
  'server.address': /^(?:127\.0\.0\.1|localhost)$/,
  'server.port': /^\d+$/,
  'db.system.name': /^redis$/,
  'db.operation.name': /^[A-Z]+$/,
  'db.stored_procedure.name': /^[a-zA-Z]+$/,
  'error.type': /^(?:\d{3}|[a-z_]+|_OTHER)$/,
}

/** Throws if a span has anything that no span may have. */
export function checkSpans(spans: readonly CollectedSpan[]): void {
  for (const { name, attributes, status, events, links } of spans) {
    const target = attributes['http.route'] ?? '(?:authn|pam)'
    const command = [attributes['db.operation.name'], attributes['db.stored_procedure.name']]
    const isCommand = name === command.filter((part) => part !== undefined).join(' ')
    if (!isCommand && !new RegExp(`^(?:HTTP|${METHOD})(?: ${target})?$`).test(name))
      throw new Error(`a span is ${name}`)
    if (status.message !== undefined || events.length + links.length > 0)
      throw new Error(`${name} has more than attributes`)
    for (const [key, value] of Object.entries(attributes))
      if (!ALLOWED[key]?.test(String(value))) throw new Error(`${name}: ${key} is ${value}`)
  }
}
