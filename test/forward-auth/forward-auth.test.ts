import { afterEach, describe, expect, test } from '@jest/globals'
import type { Request, Response } from 'express'
import fc from 'fast-check'
import { createApplicationCookie } from '../../src/forward-auth/application-cookie.ts'
import { applicationHosts, findHost } from '../../src/forward-auth/application-hosts.ts'
import { createForwardAuthRoutes } from '../../src/forward-auth/forward-auth.ts'
import { judgeCallback } from '../../src/forward-auth/hand-over-codes.ts'
import { createIdentityTokens } from '../../src/forward-auth/identity-token.ts'
import { createStateCookie, hashState } from '../../src/forward-auth/state-cookie.ts'
import type { Session } from '../../src/session/session.ts'
import { collectLog } from '../observability/collect-log.ts'
import { GRANT, START } from '../session/grant.ts'
import { startSessionHarness } from '../session/session-harness.ts'
import type { Answer } from '../support/ask-port.ts'
import { codePoint } from '../support/code-point.ts'
import { keeper } from '../support/keeper.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)
const harness = async () => keep(await startSessionHarness())

const PATH = '/forward-auth'
const ME = '/api/v1/sessions/me'

/** The parts of a response that a proxy uses. */
const visible = ({ status, text, headers }: Answer) => ({
  status,
  text,
  user: headers['x-auth-request-user'],
  login: headers['x-auth-request-preferred-username'],
  session: headers['x-auth-request-session'],
})
const refusal = (status: number) => ({
  status,
  text: '',
  user: undefined,
  login: undefined,
  session: undefined,
})

describe('without a session', () => {
  test('the response is 401 without a body, and without a cookie the store is not read', async () => {
    const { call, traffic } = await harness()
    expect(visible(await call('GET', PATH))).toEqual(refusal(401))
    expect(visible(await call('GET', PATH, 'other=1'))).toEqual(refusal(401))
    expect(traffic.reads).toBe(0)
    expect(visible(await call('GET', PATH, '__Host-gatehouse=s%3Aforged.signature'))).toEqual(refusal(401))
  })

  // shows: V4.1.3
  test('identity headers of the request are ignored', async () => {
    const { call } = await harness()
    const forgedHeaders = {
      'X-Auth-Request-User': '00u1person',
      'X-Auth-Request-Preferred-Username': 'ada@example.com',
      'X-Auth-Request-Session': '00000000-0000-4000-8000-000000000000',
      'X-Forwarded-User': '00u1person',
      Authorization: 'Bearer plainly-fake',
    }
    expect(visible(await call('GET', PATH, undefined, forgedHeaders))).toEqual(refusal(401))
  })
})

describe('errors have no body and no cookie', () => {
  test('another session than the named one: 409', async () => {
    const { call, signIn } = await harness()
    const { cookieHeader } = await signIn()
    const answer = await call('GET', PATH, cookieHeader, { 'X-Gatehouse-Session': 'of-another-tab' })
    expect(visible(answer)).toEqual(refusal(409))
  })

  test('with the store out of reach: 503, never 401', async () => {
    const { call, signIn, traffic } = await harness()
    const { cookieHeader } = await signIn()
    traffic.unavailable = true
    for (const headers of [{}, { 'X-Gatehouse-Session': 'x' }]) {
      const answer = await call('GET', PATH, cookieHeader, headers)
      expect([visible(answer), answer.headers['retry-after']]).toEqual([refusal(503), '2'])
    }
    traffic.unavailable = false
    expect((await call('GET', PATH, cookieHeader)).status).toBe(200)
  })

  test('an unknown parameter: 400, so that a mistyped rule never grants access', async () => {
    const { call, signIn } = await harness()
    const { cookieHeader } = await signIn()
    for (const query of ['roles=admin', 'rd=https://portal.example', 'x', '=', '__proto__=x']) {
      for (const method of ['GET', 'HEAD', 'POST']) {
        const answer = await call(method, `${PATH}?${query}`, cookieHeader)
        expect([query, visible(answer)]).toEqual([query, refusal(400)])
      }
    }
    expect((await call('GET', `${PATH}?`, cookieHeader)).status).toBe(200)
  })

  test('each request is counted by its result', async () => {
    const { call, signIn, traffic, metrics } = await harness()
    const { cookieHeader } = await signIn()
    await call('GET', PATH, cookieHeader)
    await call('HEAD', PATH, cookieHeader)
    await call('GET', PATH)
    await call('GET', PATH, cookieHeader, { 'X-Gatehouse-Session': 'other' })
    await call('GET', `${PATH}?x`, cookieHeader)
    traffic.unavailable = true
    await call('GET', PATH, cookieHeader)
    await call('GET', PATH, cookieHeader, { 'X-Gatehouse-Session': 'other' })
    const { values } = await metrics.forwardAuthRequests.get()
    expect(Object.fromEntries(values.map(({ labels, value }) => [labels.result, value]))).toEqual({
      signed_in: 2,
      no_session: 1,
      other_session: 1,
      refused: 1,
      error: 2,
    })
  })
})

describe('with a session', () => {
  test('the response is 200 with the identity headers and no body, for any method', async () => {
    const { call, signIn } = await harness()
    const { cookieHeader } = await signIn()
    const { json } = await call('GET', ME, cookieHeader)
    const publicId = (json as { id: string }).id // the response of `sessions/me`
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'PROPFIND']) {
      const answer = await call(method, PATH, cookieHeader, { 'X-Gatehouse-Session': publicId })
      expect(visible(answer)).toEqual({
        status: 200,
        text: '',
        user: '00u1person',
        login: 'ada%40example.com',
        session: publicId,
      })
      expect(answer.headers).not.toHaveProperty('set-cookie')
      expect(answer.headers).not.toHaveProperty('content-type')
    }
  })
})

describe('what /forward-auth answers', () => {
  const session: Session = {
    ...GRANT,
    deviceId: 'device',
    deviceHash: 'hash-of-device',
    publicId: '00000000-0000-4000-8000-000000000000',
    createdAtMs: START,
    authenticatedAtMs: START,
    lastSeenAtMs: START,
  }
  let current = session
  let isKeyProved = false
  const [route] = createForwardAuthRoutes({
    sessions: { require: async () => current, isKeyProved: () => isKeyProved },
    identityTokens: createIdentityTokens({ masterKeys: [Buffer.alloc(32)], issuer: '', now: Date.now }),
    jwtAudiences: [],
    knownValues: { amr: [], role: [] },
    log: collectLog().log,
    now: Date.now,
  })
  const headersFor = async (of: Partial<Session>, query = {}): Promise<Record<string, string>> => {
    current = { ...session, ...of }
    const headers: Record<string, string> = {}
    const setHeader = (name: string, value: string) => Object.assign(headers, { [name]: value })
    const set = (requested: object) => Object.assign(headers, requested)
    const res = { setHeader, set, end: () => undefined }
    // the handler reads only the URL
    const url = `${PATH}?${new URLSearchParams(query)}`
    await route?.handle({ url, query } as Request, res as unknown as Response)
    return headers
  }

  test.each([
    ['zoë@exämple.test', 'zo%C3%AB%40ex%C3%A4mple.test', 'zoë@exämple.test'],
    ['王小明', '%E7%8E%8B%E5%B0%8F%E6%98%8E', '王小明'],
    ['a\r\nSet-Cookie: b=c', 'a%0D%0ASet-Cookie%3A%20b%3Dc', 'a%0D%0ASet-Cookie: b=c'],
    ['a%0d%0ab', 'a%250d%250ab', 'a%250d%250ab'],
    ['a\u0000\u007f\u0085\u2028b', 'a%00%7F%C2%85%E2%80%A8b', 'a%00%7F%C2%85%E2%80%A8b'],
    ['a,b;c="d"', 'a%2Cb%3Bc%3D%22d%22', 'a,b;c="d"'],
    ['half a\ud83d pair', 'half%20a%EF%BF%BD%20pair', 'half a\ufffd pair'],
    [' a\u00a0', '%20a%C2%A0', '%20a%C2%A0'],
    ['\ta', '%09a', '%09a'],
    ['', '', ''],
  ])('%j is %s, with encoding=utf-8 %s', async (login, percent, utf8) => {
    const name = 'X-Auth-Request-Preferred-Username'
    expect((await headersFor({ login }))[name]).toBe(percent)
    expect((await headersFor({ login }, { encoding: 'percent' }))[name]).toBe(percent)
    const sent = (await headersFor({ login }, { encoding: 'utf-8' }))[name] ?? ''
    expect(Buffer.from(sent, 'latin1').toString()).toBe(utf8)
  })

  test('bound=required wants a request that shows the key, not only a session that has one', async () => {
    const binding = { jwk: { kty: 'RSA', n: 'n', e: 'AQAB' }, boundAtMs: START, isUsed: true } as const
    const asked = () => headersFor({ binding }, { bound: 'required' })
    await expect(asked()).rejects.toMatchObject({ status: 401 })
    isKeyProved = true
    expect(await asked()).toHaveProperty('X-Auth-Request-User')
    await expect(headersFor({}, { bound: 'required' })).rejects.toMatchObject({ status: 403 })
    isKeyProved = false
    expect(await headersFor({ binding })).toHaveProperty('X-Auth-Request-User')
  })

  test('what is not known of the user is an empty header', async () => {
    const query = { headers: 'email,name' }
    const [EMAIL, NAME] = ['X-Auth-Request-Email', 'X-Auth-Request-Name']
    expect(await headersFor({ login: 'ada', profile: {} }, query)).toMatchObject({ [EMAIL]: '', [NAME]: '' })
    const profile = { firstName: 'Zoë', lastName: 'Li', email: null }
    expect(await headersFor({ profile }, { ...query, encoding: 'utf-8' })).toMatchObject({
      [EMAIL]: 'ada@example.com',
      [NAME]: 'Zo\xc3\xab Li',
    })
  })

  test.each([
    ['percent', /^[A-Za-z0-9%\-_.!~*'()]*$/],
    ['utf-8', /^[\x21-\x7e\x80-\xff]([\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$|^$/],
  ])('encoding=%s: a header can carry any login, and decoding gives it', async (encoding, form) => {
    const decoded = (value = '') => decodeURIComponent(Buffer.from(value, 'latin1').toString())
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: codePoint }),
        fc.string({ unit: codePoint }),
        async (login, userId) => {
          const headers = await headersFor({ login, userId }, { encoding })
          expect(Object.values(headers).filter((value) => !form.test(value))).toEqual([])
          expect(decoded(headers['X-Auth-Request-Preferred-Username'])).toBe(login)
          expect(decoded(headers['X-Auth-Request-User'])).toBe(userId)
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('applications on other hosts', () => {
  const requestWith = (cookie: string) => ({ headers: { cookie } }) as Request
  const pairOf = (setCookie: string) => setCookie.split(';')[0] ?? ''
  const entry = (origin: string, pathPrefix = '/') => ({ origin, pathPrefix })
  const WIKI = 'https://wiki.example.com'
  const HOSTS = applicationHosts([
    entry(WIKI, '/docs'),
    entry('https://chat.example.com:8443'),
    entry(WIKI, '/files'),
    entry('http://localhost:3000'),
  ])

  test.each([
    ['wiki.example.com', WIKI],
    ['WIKI.example.com:443', WIKI],
    ['chat.example.com:8443', 'https://chat.example.com:8443'],
    ['localhost:3000', 'http://localhost:3000'],
    ['chat.example.com', 'unknown'],
    ['wiki.example.com:80', 'unknown'],
    ['wiki.example.com.', 'unknown'],
    ['https://wiki.example.com', 'unknown'],
    ['wiki.example.com/', 'unknown'],
    [' ', 'unknown'],
    ['constructor', 'unknown'],
    ['wiki.example.com,wiki.example.com', 'several'],
    ['wiki.example.com, evil.example', 'several'],
    [',', 'several'],
    ['', 'missing'],
    [undefined, 'missing'],
  ])('X-Forwarded-Host %j is %s', (forwardedHost, wanted) => {
    const found = findHost({ forwardedHost, isFromProxy: true }, HOSTS)
    expect(typeof found === 'string' ? found : found.origin).toBe(wanted)
    expect(findHost({ forwardedHost, isFromProxy: false }, HOSTS)).toBe('untrusted')
  })

  test('a host has the targets of all its entries', () => {
    expect(HOSTS.get('wiki.example.com')?.targets).toEqual([entry(WIKI, '/docs'), entry(WIKI, '/files')])
  })

  const [KEY, OTHER_KEY] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const cookieOf = (...masterKeys: Buffer[]) =>
    createApplicationCookie({ masterKeys, secure: true, sameSite: 'lax' })

  test('the cookie opens at its host only, also after a rotation, until its key is removed', () => {
    const handedOver = { sessionId: 'the id of a session', isKeyProved: false }
    const set = cookieOf(KEY).setCookie(handedOver, 'wiki.example.com')
    const request = requestWith(`other=1; ${pairOf(set)}`)
    expect(set).toMatch(/^__Host-gatehouse-app=[\w-]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
    expect(set).not.toContain(Buffer.from('the id').toString('base64url'))
    expect(cookieOf(KEY).read(request, 'wiki.example.com')).toEqual(handedOver)
    expect(cookieOf(KEY).read(request, 'chat.example.com')).toBeUndefined()
    expect(cookieOf(OTHER_KEY, KEY).read(request, 'wiki.example.com')).toEqual(handedOver)
    expect(cookieOf(OTHER_KEY).read(request, 'wiki.example.com')).toBeUndefined()
    expect(cookieOf(KEY).read(requestWith('x=1'), 'wiki.example.com')).toBeUndefined()
    const local = createApplicationCookie({ masterKeys: [KEY], secure: false, sameSite: 'strict' })
    const proved = { sessionId: 'id', isKeyProved: true }
    const onLocalhost = local.setCookie(proved, 'localhost')
    expect(onLocalhost).toMatch(/^gatehouse-app=[\w-]+; Path=\/; HttpOnly; SameSite=Strict$/)
    expect(local.read(requestWith(pairOf(onLocalhost)), 'localhost')).toEqual(proved)
  })

  test('a state stays for the tabs that open next; a malformed one is replaced', () => {
    const cookie = createStateCookie({ secure: false })
    const first = cookie.ensure(requestWith(''))
    expect(first.setCookie).toMatch(
      /^gatehouse-app-state=[\w-]{43}; Max-Age=300; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    expect(cookie.ensure(requestWith(pairOf(first.setCookie))).state).toBe(first.state)
    for (const value of ['', 'x', `${first.state}x`, `"${first.state}"`, 'a'.repeat(42)])
      expect(cookie.ensure(requestWith(`gatehouse-app-state=${value}`)).state).not.toBe(value)
    expect(hashState(first.state)).not.toBe(first.state)
  })

  const handOver = {
    sessionId: 'id',
    isKeyProved: false,
    device: 'device',
    origin: WIKI,
    target: `${WIKI}/docs`,
    stateHash: hashState('own'),
  }
  test.each([
    [undefined, handOver, 'own', WIKI],
    ['state_wrong', handOver, 'another', WIKI],
    ['state_wrong', handOver, hashState('own'), WIKI],
    ['other_host', handOver, 'own', 'https://chat.example.com:8443'],
    ['other_host', handOver, 'own', `${WIKI}:8443`],
    ['state_wrong', handOver, 'another', 'https://chat.example.com:8443'],
    ['code_unknown', undefined, 'own', WIKI],
    ['state_missing', handOver, undefined, WIKI],
    ['state_missing', undefined, undefined, WIKI],
  ])('a callback is %s', (problem, found, state, origin) => {
    expect(judgeCallback({ handOver: found, state, host: { origin } })).toBe(problem)
  })
})
