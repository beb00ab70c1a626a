import { isRecord, type Json } from './json.ts'

/** A call to the org, or to another server of the run. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** With its query. */
  readonly path: string
  readonly body?: Json | undefined
  readonly headers?: Readonly<Record<string, string>>
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  /** `{}` if the body is not a JSON object. */
  readonly body: Json
  /** The body as it is, if it is JSON. */
  readonly data: unknown
  readonly text: string
}

export interface Exchange {
  readonly call: Call
  readonly reply: Reply
}

export type Caller = (call: Call) => Promise<Reply>

/** The org has no calls left: the run stops. */
export class RateLimitReached extends Error {
  override readonly name = 'RateLimitReached'
  readonly resetAtMs: number
  constructor(resetAtMs: number) {
    super(`429: the org's limit is used up until ${new Date(resetAtMs).toISOString()}`)
    this.resetAtMs = resetAtMs
  }
}

const TIMEOUT_MS = 30_000

/** Redirects are never followed: where they lead is what checks look at. */
export function createCaller({
  origin,
  nextTurn,
  onExchange = () => {},
  now,
}: {
  origin: string
  nextTurn: () => Promise<void>
  onExchange?: (exchange: Exchange) => void
  now: () => number
}): Caller {
  return async function call(request) {
    await nextTurn()
    const { method, path, body, headers = {} } = request
    const response = await fetch(new URL(path, origin), {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const data = parse(text)
    const reply = {
      status: response.status,
      headers: response.headers,
      body: isRecord(data) ? data : {},
      data,
      text,
    }
    onExchange({ call: request, reply })
    // other codes with this status are limits on messages, which checks look at
    const { errorCode = 'E0000047' } = reply.body
    if (reply.status === 429 && errorCode === 'E0000047')
      throw new RateLimitReached(resetOf(reply.headers, now()))
    return reply
  }
}

function resetOf(headers: Headers, nowMs: number): number {
  const seconds = Number(headers.get('x-rate-limit-reset'))
  return seconds > 0 ? seconds * 1000 : nowMs + 60_000
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // a page, or nothing
  }
}

/** Such as `200 MFA_REQUIRED`, `403 E0000006` or `204`. */
export function outcomeOf({ status, body }: Pick<Reply, 'status' | 'body'>): string {
  const word = body.errorCode ?? body.status
  return typeof word === 'string' ? `${status} ${word}` : String(status)
}
