import { type Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { TIMEOUT_MS } from './until.ts'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown
}

export interface Ask {
  readonly method?: string
  readonly path?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Buffer
  /** Sends the body chunked. */
  readonly chunked?: boolean
}

/**
 * Sends a request to this machine. With an agent, connections are used again, which halves the
 * processor time of most tests; only for servers whose idle connections last.
 */
export function askPort(
  port: number,
  { method = 'GET', path = '/', headers = {}, body, chunked }: Ask,
  agent: Agent | false = false,
) {
  return new Promise<Answer>((resolve, reject) => {
    const req = request({ host: '127.0.0.1', port, method, path, headers, agent }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('error', reject)
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json: jsonOf(text) })
      })
    })
    req.on('error', reject)
    req.setTimeout(TIMEOUT_MS, () => req.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)))
    if (body !== undefined && chunked !== true) req.setHeader('Content-Length', Buffer.byteLength(body))
    if (body !== undefined) req.write(body)
    req.end()
  })
}

/** With `get`, as `fetch` has them. */
export function headersOf({ headers }: Answer): Headers {
  const all = new Headers()
  for (const [name, value = ''] of Object.entries(headers))
    for (const one of [value].flat()) all.append(name, one)
  return all
}

/** Sends bytes and returns the data that arrives until the server closes the connection. */
export function rawExchange(port: number, text: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy()) // for a server that never closes it
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
  })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // not JSON
  }
}
