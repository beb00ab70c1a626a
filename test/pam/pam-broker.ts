import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Request, RequestHandler } from 'express'
import { defaultTunables } from '../../src/config/tunables.ts'
import { noSession } from '../../src/errors.ts'
import { parseQuery } from '../../src/http/query.ts'
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import { createPam, type PamOptions } from '../../src/pam/create-pam.ts'
import type { Session } from '../../src/session/session.ts'
import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { createHttpApi } from '../../src/upstream/http-api.ts'
import { serve } from '../http/serve.ts'
import { collectLog } from '../observability/collect-log.ts'
import { checkAnswer } from '../support/api-contract.ts'
import { headersOf } from '../support/ask-port.ts'

/** The PAM module on its own listener, with a real HTTP upstream. */
export interface PamBroker {
  readonly metrics: Metrics
  /** The number of requests received so far. */
  received(): number
  /** Sends a GET request. An empty `login`: without a session. */
  get(path: string, options?: GetOptions): Promise<BrokerAnswer>
  readonly readAccess: ReturnType<typeof createPam>['readAccess']
  /** As after all sessions of this login were ended. */
  refetch(login: string): Promise<void>
  logText(): string
  logLines(): Record<string, unknown>[]
  close(): Promise<void>
}

export interface GetOptions {
  readonly login?: string | undefined
  readonly method?: string
  readonly headers?: Record<string, string>
}

export interface BrokerAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Record<string, unknown>
}

export interface PamBrokerOptions extends Partial<Omit<PamOptions, 'tunables'>> {
  readonly baseUrl: string
  readonly tunables?: (same: PamOptions['tunables']) => PamOptions['tunables']
  readonly totalTimeoutMs?: number
  readonly maxConnections?: number
}

export const KEY = { id: 'sandbox-key-1', secret: 'sandbox-secret-1-9pVb3LwY' }
export const OTHER_KEY = { id: 'sandbox-key-2', secret: 'sandbox-secret-2-Xq7RtM5c' }
export const LOGIN = 'ada.lindqvist@example.com'

/** The tests use the shipped times and limits (config/default.json). */
export const TUNABLES: PamOptions['tunables'] = defaultTunables().pam

/** For busy machines. */
const LONG_TIMEOUTS = {
  headersTimeout: 600_000,
  requestTimeout: 600_000,
  keepAliveTimeoutMs: 600_000,
  writeTimeoutMs: 600_000,
}
const MASTER_KEYS = [Buffer.alloc(32, 'plainly-fake-test-key')]

export async function startPamBroker(options: PamBrokerOptions): Promise<PamBroker> {
  const {
    baseUrl,
    tunables = (same) => same,
    totalTimeoutMs = 60_000,
    maxConnections = 32,
    ...parts
  } = options
  const collected = collectLog('debug')
  const { log } = collected
  const metrics = parts.metrics ?? createMetrics()
  const api = createHttpApi({
    baseUrl,
    connectTimeoutMs: 10_000,
    totalTimeoutMs,
    maxConnections,
    breaker: { consecutiveFailures: 1000, halfOpenAfterMs: 1000 },
    name: 'pam',
    metrics,
  })
  const pam = createPam({
    api,
    baseUrl,
    team: 'example-team',
    key: KEY,
    tokenPath: '/v1/teams/{team_name}/service_token',
    userName: { kind: 'login' },
    directory: { kind: 'all' },
    tunables: tunables(TUNABLES),
    breaker: { consecutiveFailures: 1000, halfOpenAfterMs: 1000 },
    maxConnections,
    store: createMemoryStore(),
    masterKeys: MASTER_KEYS,
    appTokens: [],
    hashLogin: (login) =>
      login
        .replace(/[^a-z]/g, '')
        .slice(0, 16)
        .padEnd(16, '_'),
    log,
    metrics,
    random: () => 0,
    sleep: (ms) => delay(Math.min(ms, 5)),
    ...parts,
  })

  const requireSession = async (req: Request) =>
    sessionOf(req.headers['x-test-login'], req.headers['x-test-session'])

  let received = 0
  const countRequest: RequestHandler = (_req, _res, next) => {
    received += 1
    next()
  }
  const served = await serve({
    before: [countRequest],
    routes: [...pam.routes(requireSession), ...pam.appRoutes],
    prepare: (app) => app.set('query parser', parseQuery),
    patience: LONG_TIMEOUTS,
    collected,
    metrics,
  })
  return {
    metrics,
    received: () => received,
    async get(path, { login = LOGIN, method = 'GET', headers = {} } = {}) {
      const { pathname, search } = new URL(path, 'http://localhost')
      const answer = await served.ask({
        method,
        path: pathname + search,
        headers: { 'x-test-login': encodeURIComponent(login), ...headers },
      })
      const { status, text } = answer
      const contentType = answer.headers['content-type']
      if (method === 'GET') checkAnswer(method, pathname, { status, contentType, bytes: Buffer.from(text) })
      return { status, headers: headersOf(answer), text, body: asObject(text) }
    },
    readAccess: pam.readAccess,
    refetch: pam.refetch,
    logText: collected.text,
    logLines: collected.lines,
    async close() {
      await served.close()
      await api.close()
    },
  }
}

/** A store whose connection can be lost. `entries` are its raw contents. */
export function createUnreliableStore(now: () => number, entries = new Map<string, MemoryEntry>()) {
  const store = createMemoryStore({ monotonic: now, entries })
  let lostWith: Error | undefined
  const wrapped = new Proxy(store, {
    get: (target, name, receiver) =>
      lostWith === undefined
        ? Reflect.get(target, name, receiver)
        : async () => {
            throw lostWith
          },
  })
  return {
    store: wrapped as Store,
    entries,
    /** From now on, every operation throws this error. */
    disconnect(error: Error) {
      lostWith = error
    },
    reconnect() {
      lostWith = undefined
    },
  }
}

function sessionOf(login: string | string[] | undefined, publicId: string | string[] | undefined): Session {
  if (typeof login !== 'string' || login === '') throw noSession()
  const session = createTestSession(decodeURIComponent(login))
  return typeof publicId === 'string' ? { ...session, publicId } : session
}

export function createTestSession(login: string): Session {
  // does not look like a login in the log
  const hash = createHash('sha256').update(login).digest('hex')
  return {
    publicId: hash,
    userId: `00u${hash.slice(0, 17)}`,
    login,
    profile: {},
    amr: ['pwd'],
    loginHash: 'login-hash',
    deviceId: 'device',
    deviceHash: 'hash-of-device',
    userAgent: 'test',
    createdAtMs: 0,
    authenticatedAtMs: 0,
    lastSeenAtMs: 0,
  }
}

function asObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {} // not JSON: the test reads the text
  }
}
