/** The `fetch` of gatehouse-client with scripted answers, on the clock of Jest's fake timers. */
export interface ScriptedBroker {
  readonly fetch: typeof fetch
  /** Each request: the milliseconds since the start, the method, and the path with its query. */
  readonly requests: (readonly [ms: number, method: string, path: string])[]
  /** The body of each request that has one. */
  readonly bodies: readonly unknown[]
  /** The next answers; the last one is repeated. A function gets the request. */
  answer(...answers: readonly Scripted[]): void
}

export type Scripted = Reply | Error | ((init: RequestInit) => Promise<Response>)

export interface Reply {
  readonly status?: number
  /** A string is sent as it stands, other values as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** @param clockAheadMs of the broker's clock */
export function scriptBroker({ clockAheadMs = 0 } = {}): ScriptedBroker {
  const started = Date.now()
  const requests: ScriptedBroker['requests'] = []
  const bodies: unknown[] = []
  let queue: Scripted[] = []
  return {
    requests,
    bodies,
    answer(...answers) {
      queue = [...answers]
    },
    async fetch(url, init = {}) {
      const { pathname, search } = new URL(String(url))
      requests.push([Date.now() - started, init.method ?? 'GET', pathname + search])
      if (typeof init.body === 'string') bodies.push(JSON.parse(init.body))
      init.signal?.throwIfAborted()
      const next = (queue.length > 1 ? queue.shift() : queue[0]) ?? new Error('no answer is scripted')
      if (next instanceof Error) throw next
      if (typeof next === 'function') return next(init)
      const { status = 200, body = {}, headers = {} } = next
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      // a Date header has whole seconds
      const date = new Date(Date.now() + clockAheadMs).toUTCString()
      return new Response(status === 204 ? null : text, { status, headers: { date, ...headers } })
    },
  }
}

/** No answer, until the request is aborted. */
export const neverAnswered = ({ signal }: RequestInit): Promise<Response> =>
  new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))

export const ORIGIN = 'https://portal.example.com'
const link = (path: string, name?: string) => ({
  href: ORIGIN + path,
  ...(name && { name }),
  hints: { allow: ['POST'] },
})

/** A push that waits for the user. */
export const WAITING = {
  status: 'MFA_CHALLENGE',
  stateToken: 'an-example-handle',
  factorResult: 'WAITING',
  _embedded: { factor: { id: 'opf1', factorType: 'push', provider: 'OKTA' } },
  _links: {
    next: link('/api/v1/authn/factors/opf1/verify', 'poll'),
    cancel: link('/api/v1/authn/cancel'),
    prev: link('/api/v1/authn/previous'),
  },
}
