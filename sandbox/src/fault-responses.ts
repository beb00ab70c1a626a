import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import type { FaultKind, ParsedFaultRule, RuleOf } from './fault-rules.ts'

/** A response. A string body is sent as it is, undefined as no body, anything else as JSON. */
export type CannedResponse = { status: number; headers?: Record<string, string | string[]>; body?: unknown }

/** Calls back once after `ms`. The returned function cancels the timer. */
export type StartTimer = (callback: () => void, ms: number) => () => void

export function sendCannedResponse(res: Response, { status, headers, body }: CannedResponse): void {
  res.status(status)
  if (body === undefined) {
    setHeaders(res, headers)
    res.end()
    return
  }
  res.setHeader('Content-Type', typeof body === 'string' ? 'text/plain; charset=utf-8' : JSON_TYPE)
  setHeaders(res, headers)
  res.end(serialize(body))
}

const JSON_TYPE = 'application/json; charset=utf-8'
const DEFAULT_BODY = {
  list: [{ id: '00000000-0000-4000-8000-000000000000', name: 'Truncated list', roles: [] }],
}
const HTML_PAGE = `<!DOCTYPE html>
<html><head><title>Service unavailable</title></head>
<body><h1>Something went wrong</h1><p>gateway-7.internal.example.test</p></body></html>
`

type FaultContext = {
  req: Request
  res: Response
  rateLimited: (retrySeconds: number) => CannedResponse
  startTimer: StartTimer
}
type FaultHandler<K extends FaultKind> = (rule: RuleOf<K>, context: FaultContext) => void | Promise<void>

const FAULT_HANDLERS: { [K in Exclude<FaultKind, 'delay'>]: FaultHandler<K> } = {
  status: (rule, { res }) => sendCannedResponse(res, toResponse(rule)),
  'error-rate': (rule, { res }) => sendCannedResponse(res, toResponse(rule)),
  'rate-limited': (rule, { res, rateLimited }) => {
    const response = rateLimited(rule.retrySeconds)
    sendCannedResponse(res, {
      status: response.status,
      headers: { ...response.headers, ...rule.headers },
      body: 'body' in rule ? rule.body : response.body,
    })
  },
  html: (rule, { res }) =>
    sendCannedResponse(res, {
      status: rule.status,
      headers: { 'Content-Type': 'text/html; charset=utf-8' },
      body: HTML_PAGE,
    }),
  cut: (_rule, { req }) => {
    req.socket.destroy()
  },
  half: (rule, { req, res }) => {
    const body = bodyOf(rule)
    res.writeHead(200, { 'Content-Type': JSON_TYPE, 'Content-Length': body.length })
    res.write(body.subarray(0, Math.floor(body.length / 2)), () => req.socket.destroy())
  },
  'wrong-length': (rule, { res }) => {
    const body = bodyOf(rule)
    res.writeHead(200, {
      'Content-Type': JSON_TYPE,
      'Content-Length': body.length + rule.extraBytes,
      Connection: 'close',
    })
    res.end(body)
  },
  huge: async (rule, { res }) => {
    res.writeHead(200, { 'Content-Type': JSON_TYPE })
    try {
      await pipeline(Readable.from(generateJson(rule.bytes)), res)
    } catch {
      // The client closed the connection.
    }
  },
  drip: (rule, { res, startTimer }) => sendByteByByte(bodyOf(rule), rule.everyMs, res, startTimer),
  'wrong-type': (rule, { res }) => {
    res.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' })
    res.end(bodyOf(rule))
  },
}

export function sendFault(
  rule: Exclude<ParsedFaultRule, { kind: 'delay' }>,
  context: FaultContext,
): void | Promise<void> {
  // TypeScript cannot relate `rule.kind` to the type of its handler.
  const send = FAULT_HANDLERS[rule.kind] as FaultHandler<FaultKind>
  return send(rule, context)
}

function toResponse(rule: RuleOf<'status'> | RuleOf<'error-rate'>): CannedResponse {
  return { status: rule.status, headers: rule.headers ?? {}, body: rule.body }
}

function bodyOf(rule: { body?: unknown }): Buffer {
  return Buffer.from(serialize(rule.body === undefined ? DEFAULT_BODY : rule.body))
}

function serialize(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

function setHeaders(res: Response, headers: CannedResponse['headers']): void {
  for (const [name, value] of Object.entries(headers ?? {})) res.setHeader(name, value)
}

/** Resolves to true after `ms`, or to false as soon as the client disconnects. */
export function waitUnlessClosed(ms: number, res: Response, startTimer: StartTimer): Promise<boolean> {
  if (res.req.socket.destroyed) return Promise.resolve(false)
  return new Promise((resolve) => {
    const cancelTimer = startTimer(() => finish(true), ms)
    const onClose = () => finish(false)
    res.once('close', onClose)
    function finish(isConnected: boolean) {
      cancelTimer()
      res.off('close', onClose)
      resolve(isConnected)
    }
  })
}

async function sendByteByByte(
  body: Buffer,
  everyMs: number,
  res: Response,
  startTimer: StartTimer,
): Promise<void> {
  res.writeHead(200, { 'Content-Type': JSON_TYPE, 'Content-Length': body.length })
  for (const byte of body) {
    res.write(Buffer.of(byte))
    if (!(await waitUnlessClosed(everyMs, res, startTimer))) return
  }
  res.end()
}

/** A JSON object of exactly `bytes` bytes, in chunks of 64 kB. */
function* generateJson(bytes: number): Generator<Buffer> {
  const head = '{"list":["'
  const tail = '"]}'
  yield Buffer.from(head)
  const chunk = Buffer.alloc(65_536, 'x')
  for (let left = bytes - head.length - tail.length; left > 0; left -= chunk.length)
    yield left < chunk.length ? chunk.subarray(0, left) : chunk
  yield Buffer.from(tail)
}
