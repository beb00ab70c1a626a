import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'

/**
 * An upstream API on a free port with scripted responses, for responses and failures that the
 * sandbox does not produce.
 */
export interface StubUpstream {
  readonly origin: string
  readonly port: number
  /** Oldest first. */
  readonly requests: readonly StubRequest[]
  connections(): number
  /** Queues the next responses, used before the listener's. An object is a 200 with this body. */
  answers(...answers: readonly (object | StubError)[]): void
  /** Clears the recorded requests and the queued responses. */
  reset(): void
  close(): Promise<void>
}

/** A complete request. */
export interface StubRequest {
  readonly method: string
  /** With the query. */
  readonly url: string
  readonly path: string
  readonly query: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The parsed JSON or form, by its content type. undefined without a body. */
  readonly body: unknown
  /** The raw socket, for responses that no HTTP server would send. */
  readonly socket: Socket
}

export type StubListener = (req: StubRequest, res: ServerResponse) => unknown

/** Okta's Error object. */
export class StubError {
  readonly status: number
  readonly body: object
  /** `more` has further members of the body. */
  constructor(status: number, errorCode: string, more: object = {}) {
    this.status = status
    const error = { errorCode, errorSummary: 'As told', errorLink: errorCode, errorId: 'oaeStubErrorId' }
    this.body = { ...error, errorCauses: [], ...more }
  }
}

/** Without a listener, every request without a queued response gets a 500. */
export async function startStubUpstream(listener: StubListener = internalError): Promise<StubUpstream> {
  const requests: StubRequest[] = []
  const queue: (object | StubError)[] = []
  let connections = 0
  // on a machine that stalls, Node's default of 5 s could close an idle connection while a request
  // is sent
  const server = createServer({ keepAliveTimeout: 600_000 }, async (req, res) => {
    const text = await textOf(req)
    if (text === undefined) return
    const { method = '', url = '', headers, socket } = req
    const [path = '', query = ''] = url.split('?')
    const body = parseBody(text, headers['content-type'])
    const request = { method, url, path, query, headers, text, body, socket }
    requests.push(request)
    const next = queue.shift()
    if (next === undefined) await listener(request, res)
    else sendAnswer(res, next)
  })
  server.on('connection', () => {
    connections += 1
  })
  const port = await listenAnywhere(server)
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connections,
    answers(...answers) {
      queue.push(...answers)
    },
    reset() {
      requests.length = 0
      queue.length = 0
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function sendJson(res: ServerResponse, status: number, body: unknown, headers = {}): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** A port on which no server listens. */
export async function deadPort(): Promise<number> {
  const stub = await startStubUpstream()
  await stub.close()
  return stub.port
}

export function listenAnywhere(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // a TCP server's address has this type
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

/** undefined if the client disconnected before the end. */
async function textOf(req: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of req) chunks.push(chunk)
  } catch {
    return undefined // the client has disconnected
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseBody(text: string, type = ''): unknown {
  if (text === '') return undefined
  if (type.includes('form')) return Object.fromEntries(new URLSearchParams(text))
  return type.includes('json') ? JSON.parse(text) : text
}

/** Sends JSON as a real org does, with headers that must not reach a browser. */
function sendAnswer(res: ServerResponse, answer: object | StubError): void {
  const headers = { 'set-cookie': 'sid=of-the-upstream; Path=/', server: 'upstream-server/1.0' }
  if (answer instanceof StubError) sendJson(res, answer.status, answer.body, headers)
  else sendJson(res, 200, answer, headers)
}

const internalError: StubListener = (_req, res) => sendAnswer(res, new StubError(500, 'E0000009'))
