import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An upstream that answers what it is told to: for shapes that the sandbox does not make. */
export interface UpstreamStub {
  readonly url: string
  /** What arrived, oldest first: the path with its query, and the body. */
  readonly calls: readonly { readonly path: string; readonly body: unknown }[]
  /** The next answers, in this order; without one left it is 500. */
  answers(...bodies: readonly (object | StubError)[]): void
  forget(): void
  stop(): Promise<void>
}

/** An Error object of the API. */
export class StubError {
  readonly status: number
  readonly errorCode: string
  /** What else its body holds. */
  readonly more: object
  constructor(status: number, errorCode: string, more: object = {}) {
    this.status = status
    this.errorCode = errorCode
    this.more = more
  }
}

export async function startUpstreamStub(): Promise<UpstreamStub> {
  const calls: { path: string; body: unknown }[] = []
  const queue: (object | StubError)[] = []
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString('utf8')
    calls.push({ path: req.url ?? '', body: text === '' ? undefined : JSON.parse(text) })
    const { status, body } = wire(queue.shift() ?? new StubError(500, 'E0000009'))
    res.writeHead(status, {
      'content-type': 'application/json',
      'set-cookie': 'sid=of-the-upstream; Path=/',
      server: 'upstream-server/1.0',
    })
    res.end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // listening on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    answers(...bodies) {
      queue.push(...bodies)
    },
    forget() {
      calls.length = 0
      queue.length = 0
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function wire(answer: object | StubError): { status: number; body: object } {
  if (!(answer instanceof StubError)) return { status: 200, body: answer }
  const { status, errorCode, more } = answer
  const errorId = 'oaeStubErrorId'
  return {
    status,
    body: { errorCode, errorSummary: 'As told', errorLink: errorCode, errorId, errorCauses: [], ...more },
  }
}
