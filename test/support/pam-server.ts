import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { createFaults, type Faults } from 'gatehouse-sandbox/faults'
import { listen } from 'gatehouse-sandbox/listen'
import type { PamControl } from 'gatehouse-sandbox/pam/pam-control'
import { createPamSandbox } from 'gatehouse-sandbox/pam/pam-sandbox'
import { createRequestLog, type RequestLog } from 'gatehouse-sandbox/request-log'
import { askPort, headersOf } from './ask-port.ts'
import { useFixture } from './fixture.ts'

export const TEAM = '/v1/teams/example-team'
export const KEY = { key_id: 'sandbox-key-1', key_secret: 'sandbox-secret-1-9pVb3LwY' }

export type GroupBody = { id: string; name: string; roles: string[]; deleted_at?: string | null }
export type Answer = { status: number; headers: Headers; body: Record<string, unknown>; text: string }

export type PamServer = {
  origin: string
  control: PamControl
  requestLog: RequestLog
  faults: Faults
  /** Advances the sandbox's clock. */
  advance(ms: number): void
  now(): number
  /** Sends a request. A `body` that is not a string is sent as JSON. */
  send(
    method: string,
    path: string,
    options?: { token?: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer>
  mint(key?: { key_id: string; key_secret: string }): Promise<string>
  close(): Promise<void>
}

export const START = Date.parse('2026-11-02T08:00:00.000Z')

/** The "pam" key of sandbox/sandbox.json, with `changes`. */
export function sandboxConfig(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const file: unknown = JSON.parse(
    readFileSync(new URL('../../sandbox/sandbox.json', import.meta.url), 'utf8'),
  )
  if (typeof file !== 'object' || file === null || !('pam' in file))
    throw new Error('no "pam" in sandbox/sandbox.json')
  return { ...(file.pam as Record<string, unknown>), ...changes }
}

/** A PAM sandbox for all tests of a file, reset before each test. */
export function usePamServer(): PamServer {
  return useFixture({
    start: () => startPamServer(),
    reset({ control, faults }) {
      control.reset()
      faults.clear()
    },
    stop: ({ close }) => close(),
  })
}

/** A PAM sandbox on a free port, with a clock that only `advance` moves. */
export async function startPamServer(changes: Record<string, unknown> = {}): Promise<PamServer> {
  let time = START
  const now = () => time
  const requestLog = createRequestLog({ now })
  const faults = createFaults()
  const { app, control } = createPamSandbox({ config: sandboxConfig(changes), now, faults, requestLog })
  const { url: origin, close } = await listen(app, { port: 0, host: '127.0.0.1' })
  const agent = new Agent({ keepAlive: true })

  async function send(
    method: string,
    path: string,
    { token, body, headers = {} }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const { port, pathname, search } = new URL(path, origin)
    const answer = await askPort(
      Number(port),
      {
        method,
        path: pathname + search,
        headers: {
          ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      },
      agent,
    )
    const { status, text } = answer
    return { status, headers: headersOf(answer), body: asObject(text), text }
  }

  return {
    origin,
    control,
    requestLog,
    faults,
    advance(ms) {
      time += ms
    },
    now,
    send,
    async mint(key = KEY) {
      const answer = await send('POST', `${TEAM}/service_token`, { body: key })
      if (typeof answer.body.bearer_token !== 'string') throw new Error(`no token: ${answer.text}`)
      return answer.body.bearer_token
    },
    async close() {
      agent.destroy()
      await close()
    },
  }
}

export function listOf(answer: Answer): GroupBody[] {
  if (!Array.isArray(answer.body.list)) throw new Error(`no list: ${answer.status} ${answer.text}`)
  return answer.body.list as GroupBody[]
}

export function namesOf(answer: Answer): string[] {
  return listOf(answer).map((group) => group.name)
}

/** The address of the first link with that relation, if there is one. */
export function linkTo(rel: string, { headers }: Answer, origin: string): string | undefined {
  const link = parseLinks(headers.get('link') ?? '').find(({ rels }) => rels.includes(rel))
  return link && new URL(link.target, origin).href
}

/** Follows the links with that relation to the end of the list. */
export async function walk(server: PamServer, token: string, path: string, rel = 'next') {
  const pages = [await server.send('GET', path, { token })]
  for (let url = linkTo(rel, pages[0] as Answer, server.origin); url !== undefined; ) {
    const page = await server.send('GET', url, { token })
    pages.push(page)
    url = linkTo(rel, page, server.origin)
    if (pages.length > 500) throw new Error('this list never ends')
  }
  return { names: pages.flatMap(namesOf), pages }
}

/**
 * Parses a Link header as in RFC 8288, section 3: the first `rel` of each link is used; names are
 * case-insensitive.
 */
function parseLinks(header: string): { target: string; rels: string[] }[] {
  const links = header.matchAll(/<([^>]*)>((?:\s*;\s*[\w*-]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s",;]+))?)*)/g)
  return [...links].map(([, target = '', params = '']) => {
    const rel = [...params.matchAll(/;\s*([\w*-]+)(?:\s*=\s*("(?:[^"\\]|\\.)*"|[^\s",;]+))?/g)].find(
      ([, name]) => name?.toLowerCase() === 'rel',
    )
    return { target, rels: (rel?.[2] ?? '').replaceAll('"', '').toLowerCase().split(' ') }
  })
}

function asObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {} // not JSON: tests check `text`
  }
}
