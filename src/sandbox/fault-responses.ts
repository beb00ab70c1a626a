import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import type { Kind, ParsedFaultRule, RuleOf } from './fault-rules.ts'

/** A status, headers and a body: text goes out as it is, anything else as JSON, undefined as nothing. */
export type CannedResponse = { status: number; headers?: Record<string, string | string[]>; body?: unknown }

/** Rings once after so many ms, unless the function that it returns was called before. */
export type StartTimer = (ring: () => void, ms: number) => () => void

/** Sends a canned answer; shared with the sandboxes' own error answers. */
export function sendCannedResponse(res: Response, { status, headers, body }: CannedResponse): void {
  res.status(status)
  if (body === undefined) {
    setHeaders(res, headers)
    res.end()
    return
  }
  res.setHeader('Content-Type', typeof body === 'string' ? 'text/plain; charset=utf-8' : JSON_TYPE)
  setHeaders(res, headers)
  res.end(asText(body))
}

const JSON_TYPE = 'application/json; charset=utf-8'
const SOME_BODY = {
  list: [{ id: '00000000-0000-4000-8000-000000000000', name: 'Half of a list', roles: [] }],
}
const HTML_PAGE = `<!DOCTYPE html>
<html><head><title>Service unavailable</title></head>
<body><h1>Something went wrong</h1><p>gateway-7.internal.example.test</p></body></html>
`

type Parts = {
  req: Request
  res: Response
  rateLimited: (retrySeconds: number) => CannedResponse
  startTimer: StartTimer
}
type AnswerFault<K extends Kind> = (rule: RuleOf<K>, parts: Parts) => void | Promise<void>

const ANSWERS: { [K in Exclude<Kind, 'delay'>]: AnswerFault<K> } = {
  status: (rule, { res }) => sendCannedResponse(res, canned(rule)),
  'error-rate': (rule, { res }) => sendCannedResponse(res, canned(rule)),
  'rate-limited': (rule, { res, rateLimited }) => {
    const shape = rateLimited(rule.retrySeconds)
    sendCannedResponse(res, {
      status: shape.status,
      headers: { ...shape.headers, ...rule.headers },
      body: 'body' in rule ? rule.body : shape.body,
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
      await pipeline(Readable.from(manyBytes(rule.bytes)), res)
    } catch {
      // The client has had enough and went away: nothing is left to answer.
    }
  },
  drip: (rule, { res, startTimer }) => drip(bodyOf(rule), rule.everyMs, res, startTimer),
  'wrong-type': (rule, { res }) => {
    res.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' })
    res.end(bodyOf(rule))
  },
}

export function sendFault(
  rule: Exclude<ParsedFaultRule, { kind: 'delay' }>,
  parts: Parts,
): void | Promise<void> {
  // One entry a kind, each typed for its own rule; the compiler cannot see that the key picks the pair.
  const send = ANSWERS[rule.kind] as AnswerFault<Kind>
  return send(rule, parts)
}

function canned(rule: RuleOf<'status'> | RuleOf<'error-rate'>): CannedResponse {
  return { status: rule.status, headers: rule.headers ?? {}, body: rule.body }
}

function bodyOf(rule: { body?: unknown }): Buffer {
  return Buffer.from(asText(rule.body === undefined ? SOME_BODY : rule.body))
}

function asText(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

function setHeaders(res: Response, headers: CannedResponse['headers']): void {
  for (const [name, value] of Object.entries(headers ?? {})) res.setHeader(name, value)
}

/** True after the time; false as soon as the client is gone. */
export function waitUnlessClosed(ms: number, res: Response, startTimer: StartTimer): Promise<boolean> {
  if (res.req.socket.destroyed) return Promise.resolve(false)
  return new Promise((resolve) => {
    const stop = startTimer(() => done(true), ms)
    const gone = () => done(false)
    res.once('close', gone)
    function done(stillThere: boolean) {
      stop()
      res.off('close', gone)
      resolve(stillThere)
    }
  })
}

async function drip(body: Buffer, everyMs: number, res: Response, startTimer: StartTimer): Promise<void> {
  res.writeHead(200, { 'Content-Type': JSON_TYPE, 'Content-Length': body.length })
  for (const byte of body) {
    res.write(Buffer.of(byte))
    if (!(await waitUnlessClosed(everyMs, res, startTimer))) return
  }
  res.end()
}

/** A JSON object of exactly so many bytes, in pieces of 64 kB. */
function* manyBytes(bytes: number): Generator<Buffer> {
  const head = '{"list":["'
  const tail = '"]}'
  yield Buffer.from(head)
  const piece = Buffer.alloc(65_536, 'x')
  for (let left = bytes - head.length - tail.length; left > 0; left -= piece.length)
    yield left < piece.length ? piece.subarray(0, left) : piece
  yield Buffer.from(tail)
}
