import { randomBytes } from 'node:crypto'
import { Agent } from 'node:http'
import { expect } from '@jest/globals'
import { askPort, headersOf } from 'gatehouse-test-support/ask-port'
import { useFixture } from 'gatehouse-test-support/fixture'
import { createSandbox, type Sandbox } from '../../src/sandbox.ts'
import { loadSandboxConfig, type SandboxConfig } from '../../src/sandbox-config.ts'

type Json = Record<string, unknown>

/** A response. `at` reads a nested member by its path. */
export type Answer = { status: number; headers: Headers; body: Json; at(path: string): unknown }

export type Client = {
  sandbox: Sandbox
  url: string
  now(): number
  /** Advances the sandbox's clock. */
  advance(ms: number): void
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  get(path: string, headers?: Record<string, string>): Promise<Response>
  /** POST /api/v1/authn as a trusted app. */
  signIn(login: string, more?: object, headers?: Record<string, string>): Promise<Answer>
  /** Posts to a link of a response, with its state token. */
  follow(answer: Answer, link: string, body?: object, query?: string): Promise<Answer>
  close(): Promise<void>
}

export const PASSWORD = 'Demo-Password-1'
export const DEVICE = '0123456789abcdef0123456789abcdef'
export const OTHER_DEVICE = 'fedcba9876543210fedcba9876543210'
export const START = Date.parse('2026-06-01T10:00:00.000Z')

/** The one body of every refused sign-in: it does not show the reason. */
export const AUTHENTICATION_FAILED = {
  errorCode: 'E0000004',
  errorSummary: 'Authentication failed',
  errorLink: 'E0000004',
  errorId: expect.stringMatching(/^oae[\w-]{22}$/),
  errorCauses: [],
}

/** A sandbox for all tests of a file, reset before each test. */
export function useSandbox(change?: (config: SandboxConfig) => void): Client {
  return useFixture({
    start: () => startSandbox(change),
    reset: ({ sandbox }) => sandbox.reset(),
    stop: ({ close }) => close(),
  })
}

/** A sandbox on free ports, with a clock that only `advance` moves. */
export async function startSandbox(change: (config: SandboxConfig) => void = () => {}): Promise<Client> {
  const config = loadSandboxConfig()
  change(config)
  let clock = START
  const sandbox = createSandbox({ config, now: () => clock, random: randomBytes })
  const { authnUrl: url, close } = await sandbox.listen()
  const agent = new Agent({ keepAlive: true })
  const trusted = () => ({ authorization: `SSWS ${sandbox.apiToken}` })

  async function post(path: string, body: unknown, headers: Record<string, string> = trusted()) {
    const { port, pathname, search } = new URL(path, url)
    const answer = await askPort(
      Number(port),
      {
        method: 'POST',
        path: pathname + search,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      },
      agent,
    )
    return answerWith(answer.status, headersOf(answer), JSON.parse(answer.text))
  }

  return {
    sandbox,
    url,
    now: () => clock,
    advance: (ms) => {
      clock += ms
    },
    post,
    get: (path, headers = {}) =>
      fetch(path.startsWith('http') ? path : url + path, { headers, redirect: 'manual' }),
    signIn: (login, more = {}, headers) =>
      post('/api/v1/authn', { username: login, password: PASSWORD, ...more }, headers),
    follow(answer, link, body = {}, query = '') {
      const href = answer.at(`${link}.href`)
      if (typeof href !== 'string') throw new Error(`no link ${link} in ${JSON.stringify(answer.body)}`)
      return post(href + query, { stateToken: answer.body.stateToken, ...body })
    },
    async close() {
      agent.destroy()
      await close()
    },
  }
}

export async function answerOf(response: Response): Promise<Answer> {
  return answerWith(response.status, response.headers, await response.json())
}

function answerWith(status: number, headers: Headers, json: unknown): Answer {
  const body = json as Json
  return { status, headers, body, at: (path) => memberAt(body, path) }
}

/**
 * Paths such as `_embedded.factors.0.id`, or `_embedded.factors.push.id` for the entry with that
 * factorType.
 */
function memberAt(body: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => {
    if (Array.isArray(value))
      return value.find((entry, at) => String(at) === key || Reflect.get(Object(entry), 'factorType') === key)
    return value === null || typeof value !== 'object' ? undefined : Reflect.get(value, key)
  }, body)
}

/** HTTP status with error code or transaction status, such as `200 MFA_REQUIRED`. */
export function outcome({ status, body }: Answer): string {
  return `${status} ${body.errorCode ?? body.status ?? 'empty'}`
}
