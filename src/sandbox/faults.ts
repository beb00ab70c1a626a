import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, RequestHandler, Response } from 'express'
import { z } from 'zod'

/** A status, headers and a body: text goes out as it is, anything else as JSON, undefined as nothing. */
export type CannedAnswer = { status: number; headers?: Record<string, string | string[]>; body?: unknown }

const headers = z.record(z.string().min(1), z.union([z.string(), z.array(z.string())]))
const status = z.int().min(200).max(599)

/** Every kind may be narrowed by path prefix and method, and limited to so many times. */
const scope = {
  path: z.string().startsWith('/').optional(),
  method: z
    .string()
    .min(1)
    .transform((method) => method.toUpperCase())
    .optional(),
  times: z.int().min(1).optional(),
}

const faultRule = z.discriminatedUnion('kind', [
  z.strictObject({ ...scope, kind: z.literal('delay'), ms: z.number().min(0) }),
  z.strictObject({
    ...scope,
    kind: z.literal('status'),
    status,
    body: z.unknown().optional(),
    headers: headers.optional(),
  }),
  z.strictObject({
    ...scope,
    kind: z.literal('rate-limited'),
    retrySeconds: z.number().min(0).default(1),
    body: z.unknown().optional(),
    headers: headers.optional(),
  }),
  z.strictObject({ ...scope, kind: z.literal('html'), status: status.default(500) }),
  z.strictObject({ ...scope, kind: z.literal('cut') }),
  z.strictObject({ ...scope, kind: z.literal('half'), body: z.unknown().optional() }),
  z.strictObject({
    ...scope,
    kind: z.literal('wrong-length'),
    body: z.unknown().optional(),
    extraBytes: z.int().min(1).default(100),
  }),
  z.strictObject({ ...scope, kind: z.literal('huge'), bytes: z.int().min(16) }),
  z.strictObject({
    ...scope,
    kind: z.literal('drip'),
    everyMs: z.number().min(0),
    body: z.unknown().optional(),
  }),
  z.strictObject({ ...scope, kind: z.literal('wrong-type'), body: z.unknown().optional() }),
  z.strictObject({
    ...scope,
    kind: z.literal('error-rate'),
    share: z.number().min(0).max(1),
    status: status.default(500),
    body: z.unknown().optional(),
    headers: headers.optional(),
  }),
])

/** What a caller may write; defaults are filled in by the check. */
export type FaultRule = z.input<typeof faultRule>
type CheckedRule = z.output<typeof faultRule>
type Kind = CheckedRule['kind']
type RuleOf<K extends Kind> = Extract<CheckedRule, { kind: K }>

export type Faults = {
  /** Puts this rule, or this list of rules, in the place of all others. */
  set(rules: FaultRule | readonly FaultRule[]): void
  add(rule: FaultRule): void
  clear(): void
  /**
   * Mount it after the call log and the body parser, before the routes.
   * `rateLimited` is how the API at hand says 429; a rule's own body and headers win over it.
   */
  middleware(shapes?: { rateLimited?: (retrySeconds: number) => CannedAnswer }): RequestHandler
}

/** A rule that cannot be taken. The message names every field that is wrong. */
export class BadFaultRule extends Error {
  readonly fields: string[]
  constructor(issues: readonly { path: PropertyKey[]; message: string }[]) {
    const fields = issues.map((issue) => issue.path.map(String).join('.') || 'rule')
    super(`bad fault rule: ${issues.map((issue, at) => `${fields[at]}: ${issue.message}`).join('; ')}`)
    this.name = 'BadFaultRule'
    this.fields = fields
  }
}

/** Rings once after so many ms, unless the function that it returns was called before. */
export type StartTimer = (ring: () => void, ms: number) => () => void

/**
 * Faults on request. Rules are tried in the order in which they were added: a `delay`, and an
 * `error-rate` that spares the request, let it go on to the next rule; every other kind answers.
 */
export function createFaults({
  random = seededRandom(1),
  startTimer = startRealTimer,
}: {
  random?: () => number
  startTimer?: StartTimer
} = {}): Faults {
  let rules: { rule: CheckedRule; left: number }[] = []

  function checked(input: FaultRule) {
    const result = faultRule.safeParse(input)
    if (!result.success) throw new BadFaultRule(result.error.issues)
    return { rule: result.data, left: result.data.times ?? Number.POSITIVE_INFINITY }
  }

  return {
    set(input) {
      rules = (Array.isArray(input) ? input : [input]).map((rule: FaultRule) => checked(rule))
    },
    add(input) {
      rules = [...rules, checked(input)]
    },
    clear() {
      rules = []
    },
    middleware({ rateLimited = plainRateLimited } = {}) {
      return async function injectFaults(req, res, next) {
        for (const entry of rules) {
          if (entry.left <= 0 || !matches(entry.rule, req)) continue
          if (entry.rule.kind === 'error-rate' && random() >= entry.rule.share) continue
          entry.left -= 1
          if (entry.rule.kind !== 'delay') return answer(entry.rule, { req, res, rateLimited, startTimer })
          if (!(await waited(entry.rule.ms, res, startTimer))) return
        }
        next()
      }
    },
  }
}

/** A small generator (mulberry32): the same seed gives the same run of numbers in 0..1. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Sends a canned answer; shared with the sandboxes' own error answers. */
export function sendCanned(res: Response, { status, headers, body }: CannedAnswer): void {
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
  rateLimited: (retrySeconds: number) => CannedAnswer
  startTimer: StartTimer
}
type AnswerFault<K extends Kind> = (rule: RuleOf<K>, parts: Parts) => void | Promise<void>

const ANSWERS: { [K in Exclude<Kind, 'delay'>]: AnswerFault<K> } = {
  status: (rule, { res }) => sendCanned(res, canned(rule)),
  'error-rate': (rule, { res }) => sendCanned(res, canned(rule)),
  'rate-limited': (rule, { res, rateLimited }) => {
    const shape = rateLimited(rule.retrySeconds)
    sendCanned(res, {
      status: shape.status,
      headers: { ...shape.headers, ...rule.headers },
      body: 'body' in rule ? rule.body : shape.body,
    })
  },
  html: (rule, { res }) =>
    sendCanned(res, {
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

function answer(rule: Exclude<CheckedRule, { kind: 'delay' }>, parts: Parts): void | Promise<void> {
  // One entry a kind, each typed for its own rule; the compiler cannot see that the key picks the pair.
  const send = ANSWERS[rule.kind] as AnswerFault<Kind>
  return send(rule, parts)
}

function canned(rule: RuleOf<'status'> | RuleOf<'error-rate'>): CannedAnswer {
  return { status: rule.status, headers: rule.headers ?? {}, body: rule.body }
}

function plainRateLimited(retrySeconds: number): CannedAnswer {
  return { status: 429, headers: { 'Retry-After': String(Math.ceil(retrySeconds)) }, body: {} }
}

function matches(rule: CheckedRule, req: Request): boolean {
  return (
    (rule.method === undefined || rule.method === req.method) &&
    (rule.path === undefined || req.originalUrl.startsWith(rule.path))
  )
}

function bodyOf(rule: { body?: unknown }): Buffer {
  return Buffer.from(asText(rule.body === undefined ? SOME_BODY : rule.body))
}

function asText(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

function setHeaders(res: Response, headers: CannedAnswer['headers']): void {
  for (const [name, value] of Object.entries(headers ?? {})) res.setHeader(name, value)
}

function startRealTimer(ring: () => void, ms: number): () => void {
  const timer = setTimeout(ring, ms)
  return () => clearTimeout(timer)
}

/** True after the time; false as soon as the client is gone. */
function waited(ms: number, res: Response, startTimer: StartTimer): Promise<boolean> {
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
    if (!(await waited(everyMs, res, startTimer))) return
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
