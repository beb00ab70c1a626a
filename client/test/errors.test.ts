import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { createGatehouse, type Gatehouse, GatehouseError } from 'gatehouse-client'
import { describeError } from 'gatehouse-client/messages'
import { stepAt } from 'gatehouse-test-support/node-client'
import {
  neverAnswered,
  ORIGIN,
  type Scripted,
  scriptBroker,
  WAITING,
} from 'gatehouse-test-support/scripted-broker'
import { startStubUpstream } from 'gatehouse-test-support/stub-upstream'

/**
 * Whatever comes instead of the broker's answer, a method rejects with a GatehouseError, which
 * contains no secrets.
 */

const SECRET = 'An-Example-Password-1'
const account = { username: 'a@example.test', factorType: 'SMS' } as const
const METHODS: Readonly<Record<string, (gatehouse: Gatehouse) => Promise<unknown>>> = {
  signIn: ({ signIn }) => signIn({ username: 'a@example.test', password: SECRET }),
  recoverPassword: ({ recoverPassword }) => recoverPassword(account),
  unlockAccount: ({ unlockAccount }) => unlockAccount(account),
  redeemRecoveryToken: ({ redeemRecoveryToken }) => redeemRecoveryToken(SECRET),
  session: ({ session }) => session(),
  refresh: ({ refresh }) => refresh(),
  signOut: ({ signOut }) => signOut(),
  ownSessions: ({ ownSessions }) => ownSessions(),
  endSession: ({ endSession }) => endSession('an-id'),
  endOtherSessions: ({ endOtherSessions }) => endOtherSessions(),
  groups: ({ groups }) => groups(),
  directory: ({ directory }) => directory({ search: 'a' }),
}
const REPLIES: readonly (readonly [string, Scripted, Partial<GatehouseError>])[] = [
  ['no connection', new TypeError('fetch failed'), { status: 0, code: undefined, causes: [] }],
  ['HTML of a proxy', { status: 502, body: '<html>Bad Gateway</html>' }, { status: 502, code: undefined }],
  ['an empty body', { body: '' }, { status: 200 }],
  ['half of a JSON text', { body: '{"status":"SUC' }, { status: 200 }],
  ['null', { body: 'null' }, { status: 200 }],
  ['a string', { status: 403, body: '"no"' }, { status: 403, code: undefined }],
  [
    'causes of a wrong type',
    { status: 400, body: { errorCode: 'E0000001', errorCauses: 'all' } },
    { causes: [] },
  ],
  [
    'a body that breaks off',
    async () => {
      const body = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) })
      return new Response(body)
    },
    { status: 0 },
  ],
]

const problemOf = (call: Promise<unknown>) =>
  call.then(
    () => 'resolved',
    (error: unknown) => error,
  )

test.each(REPLIES)('%s', async (_, reply, expected) => {
  for (const [name, call] of Object.entries(METHODS)) {
    const broker = scriptBroker()
    broker.answer(reply)
    const error = await problemOf(call(createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch })))
    expect({ name, error }).toMatchObject({ name, error: expected })
    expect(error).toBeInstanceOf(GatehouseError)
    expect(inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error)).not.toContain(SECRET)
  }
})

describe('a page instead of JSON', () => {
  const html = { 'content-type': 'text/html; charset=utf-8' }
  const page = (status: number, headers: Readonly<Record<string, string>> = html) => ({
    status,
    headers,
    body: '<!doctype html><title>Portal</title>',
  })

  // as the dev server of Vite, and servers of pages, answer for a path that they do not pass on
  test.each([200, 404, 405])('with status %i: every method says that /api is not proxied', async (status) => {
    for (const [name, call] of Object.entries(METHODS)) {
      const broker = scriptBroker()
      broker.answer(page(status))
      const error = await problemOf(call(createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch })))
      expect({ name, error }).toMatchObject({ name, error: { status, code: 'api_not_proxied' } })
      expect(String(error)).toMatch(/A page answered \/api\/v1\/.*: is \/api proxied\?/)
      expect(describeError(error, 'en')).toMatchObject({ key: 'apiNotProxied', action: 'ask-for-help' })
    }
  })

  test.each([
    ['a firewall that refuses', page(403)],
    ['a proxy without its broker', page(502)],
    ['a text', page(200, { 'content-type': 'text/plain' })],
  ])('%s is another error', async (_, reply) => {
    const broker = scriptBroker()
    broker.answer(reply)
    const { session } = createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch })
    expect(await problemOf(session())).toMatchObject({ name: 'GatehouseError', code: undefined })
  })

  test('does not end the session that the tab knows', async () => {
    const broker = scriptBroker()
    const session = { id: 'session-1', idleExpiresAt: '2999-01-01', expiresAt: '2999-01-01' }
    broker.answer({ body: session }, page(404))
    const gatehouse = createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch })
    const ended: string[] = []
    const stop = gatehouse.onSessionEnd((reason) => ended.push(reason))
    await gatehouse.session()
    for (const call of [gatehouse.session, gatehouse.refresh]) await problemOf(call())
    stop()
    expect(ended).toEqual([])
  })
})

test('a 204 is an answer only where nothing is expected', async () => {
  const outcomes: string[] = []
  for (const [name, call] of Object.entries(METHODS)) {
    const broker = scriptBroker()
    broker.answer({ status: 204 })
    const problem = await problemOf(call(createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch })))
    if (problem === 'resolved') outcomes.push(name)
    else expect(problem).toBeInstanceOf(GatehouseError)
  }
  expect(outcomes).toEqual(['signOut', 'endSession', 'endOtherSessions'])
})

test('JSON that is no step is an error, also after a step', async () => {
  const broker = scriptBroker()
  broker.answer({ body: WAITING }, { body: { hello: 'proxy' } })
  const gatehouse = createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch })
  const step = await gatehouse.signIn({ stateToken: 'an-example-handle' })
  await expect(stepAt(step, 'MFA_CHALLENGE').previous?.()).rejects.toBeInstanceOf(GatehouseError)
  await expect(gatehouse.signIn({ token: 't' })).rejects.toBeInstanceOf(GatehouseError)
})

describe('a password or a code reaches no other origin than the broker’s', () => {
  test('by a link', async () => {
    const broker = scriptBroker()
    const { _links, ...challenge } = WAITING
    const next = { ..._links.next, name: 'verify', href: 'https://portal.example.com.other.example/verify' }
    broker.answer({ body: { ...challenge, _links: { next } } })
    const gatehouse = createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch })
    const step = await gatehouse.signIn({ stateToken: 'an-example-handle' })
    const verifying = stepAt(step, 'MFA_CHALLENGE', 'verify').verify({ passCode: SECRET })
    await expect(verifying).rejects.toMatchObject({ name: 'GatehouseError', status: 0 })
    expect(broker.requests).toHaveLength(1)
  })

  test('by a redirect', async () => {
    const other = await startStubUpstream()
    const location = `${other.origin}/api/v1/authn`
    const broker = await startStubUpstream((_req, res) => res.writeHead(307, { location }).end())
    const gatehouse = createGatehouse({ baseUrl: broker.origin })
    const signingIn = gatehouse.signIn({ username: 'a', password: SECRET })
    await expect(signingIn).rejects.toMatchObject({ name: 'GatehouseError', status: 0 })
    expect(other.requests).toEqual([])
    await Promise.all([other.close(), broker.close()])
  })
})

describe('a request that is not answered', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  /** Signs in with `timeoutMs`, while the time passes. */
  async function signInWithin(timeoutMs: number | undefined, reply: Scripted) {
    const broker = scriptBroker()
    broker.answer(reply)
    const gatehouse = createGatehouse({
      baseUrl: ORIGIN,
      fetch: broker.fetch,
      ...(timeoutMs && { timeoutMs }),
    })
    const started = Date.now()
    const problem = problemOf(gatehouse.signIn({ token: 't' })).then((error) => ({
      error,
      ms: Date.now() - started,
    }))
    await jest.runAllTimersAsync()
    return problem
  }
  const halfAnswered = async ({ signal }: RequestInit) => {
    const start = (body: ReadableStreamDefaultController) => {
      body.enqueue(Buffer.from('{'))
      signal?.addEventListener('abort', () => body.error(signal.reason))
    }
    return new Response(new ReadableStream({ start }))
  }

  test.each([
    ['no headers', undefined, neverAnswered, 30_000],
    ['half of a body', undefined, halfAnswered, 30_000],
    ['no headers, with timeoutMs', 5000, neverAnswered, 5000],
  ])('%s', async (_, timeoutMs, reply, expectedMs) => {
    const { error, ms } = await signInWithin(timeoutMs, reply)
    expect(error).toBeInstanceOf(GatehouseError)
    expect(error).toMatchObject({ status: 0, cause: { message: `No answer within ${expectedMs} ms` } })
    expect(ms).toBe(expectedMs)
  })
})

describe('the time to wait', () => {
  const waitOf = async (status: number, headers: Readonly<Record<string, string>>) => {
    const broker = scriptBroker()
    broker.answer({ status, headers })
    const { groups } = createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch })
    const error = await problemOf(groups())
    return error instanceof GatehouseError ? error.retryAfterSeconds : error
  }
  const date = 'Mon, 23 Nov 2026 10:00:00 GMT'
  const inSeconds = (seconds: number) => String(Date.parse(date) / 1000 + seconds)

  test.each([
    [429, { 'retry-after': '7' }, 7],
    [503, { 'retry-after': '7' }, 7],
    [503, {}, undefined],
    [429, {}, 30],
    [429, { date, 'x-rate-limit-reset': inSeconds(12) }, 12],
    [429, { date, 'x-rate-limit-reset': inSeconds(-12) }, 30],
    [503, { date, 'retry-after': 'Mon, 23 Nov 2026 10:00:30 GMT' }, 30],
    [429, { 'retry-after': 'soon' }, 30],
  ])('%i %j: %p seconds', async (status, headers, seconds) => {
    expect(await waitOf(status, headers)).toBe(seconds)
  })
})

describe('in Node', () => {
  const answerOf = (setCookie: string) => ({ status: 404, headers: { 'set-cookie': setCookie } })

  test('the jar keeps cookies, and one that it refuses is left out', async () => {
    const kept: string[] = []
    const cookieJar = {
      getCookieString: () => kept.join('; '),
      setCookie(header: string) {
        if (header.startsWith('bad')) throw new Error('Cookie not in this host’s domain')
        kept.push(header)
      },
    }
    const broker = scriptBroker()
    broker.answer(answerOf('bad=1'), answerOf('device=1'), async ({ headers }) => {
      expect(headers).toMatchObject({ cookie: 'device=1', origin: ORIGIN })
      return new Response('{}', { status: 404 })
    })
    const { session } = createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch, cookieJar })
    for (let call = 0; call < 3; call += 1) expect(await session()).toBeUndefined()
    expect(kept).toEqual(['device=1'])
  })

  test('a jar that fails is an error of the client', async () => {
    const cookieJar = { getCookieString: () => Promise.reject(new Error('disk')), setCookie() {} }
    const { session } = createGatehouse({ baseUrl: ORIGIN, cookieJar })
    await expect(session()).rejects.toBeInstanceOf(GatehouseError)
  })
})
