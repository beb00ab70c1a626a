import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from '../listen.ts'
import type { Call, Caller, Exchange } from './caller.ts'
import { isRecord } from './json.ts'

/** A server between two others, so that the calls of one to the other are seen. */
export interface Relay {
  readonly url: string
  /**
   * What was sent since the last time.
   *
   * @throws the error of a call that has failed meanwhile
   */
  take(): readonly Exchange[]
  close(): Promise<void>
}

/** Of one connection (RFC 9110, section 7.6.1), or set anew by `fetch`. */
const OF_THE_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'host',
  'content-length',
  'content-encoding',
  'accept-encoding',
])

/** @param port 0: any free one */
export async function startRelay({ call, port = 0 }: { call: Caller; port?: number }): Promise<Relay> {
  let exchanges: Exchange[] = []
  let failure: unknown
  const { url, close } = await listen((req, res) => void forward(req, res), { port, host: '127.0.0.1' })
  return {
    url,
    close,
    take() {
      const [taken, error] = [exchanges, failure]
      exchanges = []
      failure = undefined
      if (error !== undefined) throw error
      return taken
    },
  }

  async function forward(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      const sent = await callOf(req)
      const reply = await call(sent)
      exchanges.push({ call: sent, reply })
      const headers = [...reply.headers].filter(([name]) => !OF_THE_CONNECTION.has(name))
      res.writeHead(reply.status, headers.flat()).end(reply.text)
    } catch (error) {
      failure ??= error
      res.destroy()
    }
  }
}

async function callOf(req: IncomingMessage): Promise<Call> {
  const { method = '', url = '' } = req
  const headers = Object.entries(req.headers).flatMap(([name, value]) =>
    typeof value !== 'string' || OF_THE_CONNECTION.has(name) ? [] : [[name, value]],
  )
  const sent = await text(req)
  const body: unknown = sent === '' ? undefined : JSON.parse(sent)
  if (body !== undefined && !isRecord(body)) throw new Error('a call without a JSON object')
  return { method: methodOf(method), path: url, body, headers: Object.fromEntries(headers) }
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const

function methodOf(method: string): Call['method'] {
  const known = METHODS.find((each) => each === method)
  if (known === undefined) throw new Error(`a call with the method ${method}`)
  return known
}
