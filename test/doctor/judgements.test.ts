import { describe, expect, test } from '@jest/globals'
import { judgeReach as judgeOrg, judgeToken } from '../../src/doctor/authn.ts'
import { refusalOfProxy } from '../../src/doctor/egress-proxy.ts'
import type { Finding } from '../../src/doctor/finding.ts'
import { headerProblems } from '../../src/doctor/headers.ts'
import { judgeKeepAlive } from '../../src/doctor/keep-alive.ts'
import { judgeReach as judgePam } from '../../src/doctor/pam.ts'
import { type AskedPath, expectedPaths, judgePaths, QUERY } from '../../src/doctor/paths.ts'
import { isOfOkta } from '../../src/doctor/reach.ts'
import {
  judgeKind,
  judgePassword,
  judgePolicy,
  judgeReach as judgeRedis,
  judgeSentinels,
  type SentinelAnswer,
} from '../../src/doctor/redis.ts'
import { judgeSharedStore } from '../../src/doctor/shared-store.ts'
import { parseRedisUrl } from '../../src/store/redis-url.ts'
import { UpstreamFailure } from '../../src/upstream/upstream-failure.ts'
import { load, PAM } from '../config/valid-environment.ts'

/** What the doctor makes of what it has seen, without a process. */

const said = (finding: Finding | undefined) => finding && `${finding.status}: ${finding.detail}`
const response = (status: number, json: unknown = undefined, headers = {}) => ({
  status,
  json,
  headers,
  bytes: Buffer.of(),
})
const failed = (outcome: UpstreamFailure['outcome'], code?: string) => ({
  ...response(0),
  failure: new UpstreamFailure(outcome, code === undefined ? {} : { code }),
})

describe('the egress proxy’s own status', () => {
  const refused = (code: string) => `fail: the proxy of HTTPS_PROXY refuses the connection (HTTP ${code})`

  test.each(['403', '407', '502'])('%s, for the org, PAM and PUBLIC_URL', (status) => {
    const { failure } = failed('proxy_refused', `PROXY_${status}`)
    expect(said(judgeOrg({ ...response(0), failure }, 1))).toBe(refused(status))
    expect(said(judgePam({ outcome: 'no_answer', reason: '', failure }))).toBe(refused(status))
    expect(said(refusalOfProxy(failure))).toBe(refused(status))
    expect(refusalOfProxy(failure)?.fix?.includes('password')).toBe(status === '407')
  })

  test('another failure is not the proxy’s', () => {
    expect(refusalOfProxy(failed('unreachable', 'ECONNREFUSED').failure)).toBeUndefined()
  })
})

describe('the org', () => {
  const OKTA = { id: '00o1', pipeline: 'v1' }
  const LIMITED = 'the org’s rate limit is used up (HTTP 429)'

  test.each<[string, ReturnType<typeof response>, number, string]>([
    ['answers', response(200, OKTA), 1999, 'ok: the org answers'],
    ['is slow', response(200, OKTA), 3210, 'warn: the org takes 3.2 s to answer'],
    ['limits, as Okta', response(429, { errorCode: 'E0000047' }), 1, `warn: ${LIMITED}`],
    ['limits, as a network in front of it', response(429), 1, `warn: ${LIMITED}`],
  ])('%s', (_, answer, elapsedMs, finding) => {
    expect(said(judgeOrg(answer, elapsedMs))).toBe(finding)
  })

  test('a rate limit leaves the API token unchecked', () => {
    expect(said(judgeToken(response(429, { errorCode: 'E0000047' })))).toBe(
      `warn: ${LIMITED}, so the API token is not checked`,
    )
  })

  test.each<[string, Parameters<typeof judgeToken>[0], string]>([
    [
      'does not answer',
      failed('timeout', 'TimeoutError'),
      'fail: the org does not answer the sign-in call (timeout TimeoutError)',
    ],
    [
      'is in read-only mode',
      response(503, { errorCode: 'E0000010' }),
      'fail: the org fails at the sign-in call (HTTP 503)',
    ],
  ])('%s at the sign-in call', (_, answer, finding) => {
    expect(said(judgeToken(answer))).toBe(finding)
  })

  test('is told from the broker by the id of its request', () => {
    expect(isOfOkta(response(404, {}, { 'x-okta-request-id': 'plainly-fake' }))).toBe(true)
    expect(isOfOkta(response(404, {}, { 'x-request-id': 'plainly-fake' }))).toBe(false)
  })
})

test.each([
  ['a page', { outcome: 'unreadable', reason: 'HTTP 503', status: 503 }, 'fail: PAM fails (HTTP 503)'],
  ['an error', { outcome: 'unknown_error', reason: 'HTTP 500', status: 500 }, 'fail: PAM fails (HTTP 500)'],
  [
    'another web server',
    { outcome: 'unreadable', reason: 'HTTP 200', status: 200 },
    'fail: the response is not one of the PAM API (HTTP 200)',
  ],
] as const)('PAM: %s', (_, minted, finding) => {
  expect(said(judgePam(minted))).toBe(finding)
})

describe('the paths that the proxy must pass', () => {
  const pathsOf = (env = {}) => expectedPaths(load(env)).map(({ path, neededBy }) => [path, neededBy])

  test('are those of all routes, and the configuration needs some', () => {
    expect(pathsOf()).toEqual([
      ['/signin', undefined],
      ['/signin/step-up', undefined],
      ['/login/sessionCookieRedirect', undefined],
      ['/login/step-up/redirect', undefined],
      ['/sso/idps/doctor', undefined],
      ['/api/v1/users/me', 'second factors'],
      ['/api/v1/authn/introspect', 'steps of a sign-in'],
    ])
    const everything = {
      ...PAM,
      ALLOWED_ORIGINS: 'https://app.example.com',
      RETURN_TO: 'https://wiki.example.com/',
      STEP_UP: 'on',
      SSO_REDIRECTS: 'https://org.example.net/app/',
      EVENT_HOOK_SECRET: 'plainly-fake-event-hook-secret',
      JWT_AUDIENCES: 'reports',
    }
    expect(pathsOf(everything)).toEqual([
      ['/signin', 'RETURN_TO'],
      ['/signin/step-up', 'STEP_UP'],
      ['/login/sessionCookieRedirect', 'SSO_REDIRECTS'],
      ['/login/step-up/redirect', 'STEP_UP'],
      ['/sso/idps/doctor', undefined],
      ['/api/v1/users/me', 'second factors'],
      ['/api/v1/authn/introspect', 'steps of a sign-in'],
      ['/api/v1/pam/me', 'PAM_BASE_URL'],
      ['/hooks/org-events', 'EVENT_HOOK_SECRET'],
      ['/.well-known/gatehouse-jwks.json', 'JWT_AUDIENCES'],
    ])
    expect(pathsOf({ ALLOWED_ORIGINS: 'https://app.example.com' })[0]).toEqual(['/signin', undefined])
  })

  const answer = (path: string, query: string | undefined = QUERY) => ({
    proof: '',
    path,
    publicUrl: '',
    address: '203.0.113.9',
    bodyBytes: 0,
    ...(query === undefined ? {} : { query }),
  })
  const asked = (path: string, found: ReturnType<typeof answer> | number, neededBy?: string): AskedPath => ({
    path,
    neededBy,
    probed:
      typeof found === 'number'
        ? { response: response(found), answer: undefined }
        : { response: response(302), answer: found },
  })

  test.each<[string, AskedPath[], string]>([
    [
      'all arrive',
      [asked('/signin', answer('/signin')), asked('/sso/x', answer('/sso/x'))],
      'ok: all paths that the configuration needs are passed, with their query',
    ],
    [
      'an older broker, which does not say the query',
      [asked('/signin', { ...answer('/signin', ''), query: undefined } as never)],
      'ok: all paths that the configuration needs are passed, with their query',
    ],
    [
      'one that a variable needs is the portal’s',
      [asked('/hooks/org-events', 404, 'EVENT_HOOK_SECRET'), asked('/signin', 200)],
      'fail: not passed to the broker: /hooks/org-events (EVENT_HOOK_SECRET; HTTP 404)',
    ],
    [
      'one that only some sign-ins need is the portal’s',
      [asked('/signin', answer('/signin'), 'RETURN_TO'), asked('/sso/x', 200)],
      'warn: not passed to the broker: /sso/x (HTTP 200)',
    ],
    [
      'one is changed',
      [asked('/signin', answer('/'), 'RETURN_TO')],
      'fail: not passed to the broker: /signin (RETURN_TO; changed on the way)',
    ],
    [
      'a query is dropped',
      [asked('/signin', answer('/signin', '')), asked('/sso/x', 200)],
      'fail: the proxy drops or changes the query of /signin',
    ],
    [
      'a query is decoded',
      [asked('/signin', answer('/signin', 'doctor=a/b&empty='))],
      'fail: the proxy drops or changes the query of /signin',
    ],
  ])('%s', (_, paths, finding) => {
    expect(said(judgePaths(paths))).toBe(finding)
  })
})

test.each<[string, ('shared' | 'missing' | 'failed' | undefined)[], string]>([
  ['all replicas', ['shared', 'shared'], 'ok: the running broker uses this Redis'],
  [
    'one of two replicas',
    ['shared', 'missing'],
    'fail: the running broker, or one of its replicas, uses another Redis, database or key prefix than the doctor',
  ],
  ['Redis is away', ['failed', 'shared'], 'fail: the running broker cannot read its Redis'],
  ['an older broker', [undefined], 'skipped: the running broker does not say it'],
])('the Redis of the broker: %s', (_, found, finding) => {
  expect(said(judgeSharedStore(found))).toBe(finding)
})

const reused = (...all: (boolean | undefined)[]) => all.map((each) => ({ httpVersion: '1.1', reused: each }))
test.each<[string, Parameters<typeof judgeKeepAlive>[0], string]>([
  [
    'two replicas, each with its connection',
    reused(false, false, true, true),
    'ok: the proxy keeps connections to the broker open',
  ],
  ['none', reused(false, false), 'warn: the proxy opens a connection for each request (2 of 2)'],
  [
    'HTTP/1.0',
    [{ httpVersion: '1.0', reused: true }],
    'warn: the proxy speaks HTTP/1.0, with a connection for each request',
  ],
  ['an older broker', [...reused(undefined), undefined], 'skipped: the running broker does not say it'],
])('connections to the broker: %s', (_, answers, finding) => {
  expect(said(judgeKeepAlive(answers))).toBe(finding)
})

describe('headers through the proxy', () => {
  const OK = { 'cache-control': 'no-store' }
  const problems = (
    seen: { readonly origin?: string; readonly site?: string },
    headers: Record<string, string> = OK,
  ) => {
    const arrived = { proof: '', path: '', publicUrl: '', address: '203.0.113.9', bodyBytes: 0, ...seen }
    return headerProblems({ response: response(302), answer: arrived }, { headers })
  }
  const GOOD = { origin: 'https://doctor.invalid', site: 'cross-site' }
  const CACHING = 'the proxy changes Cache-Control, so that caches may keep what is one user’s'

  test.each<[string, string[], string[]]>([
    ['all arrive', problems(GOOD), []],
    [
      'an Origin that is rewritten',
      problems({ ...GOOD, origin: 'https://other.example' }),
      ['the proxy changes Origin'],
    ],
    ['no Origin', problems({ site: 'cross-site' }), ['Origin does not arrive']],
    ['a rewritten Sec-Fetch-Site', problems({ ...GOOD, site: 'none' }), ['the proxy changes Sec-Fetch-Site']],
    ['Cache-Control: public is added', problems(GOOD, { 'cache-control': 'no-store, public' }), [CACHING]],
    ['a max-age', problems(GOOD, { 'cache-control': 'no-store, max-age=60' }), [CACHING]],
    ['no Cache-Control', problems(GOOD, {}), [CACHING]],
  ])('%s', (_, found, expected) => {
    expect(found).toEqual(expected)
  })
})

describe('Redis', () => {
  test.each<[string, SentinelAnswer[], string | undefined]>([
    ['one knows the name', ['unknown', 'known'], undefined],
    ['none answers', [{ code: 'ECONNREFUSED' }], undefined],
    [
      'none knows the name',
      ['unknown', { code: 'ECONNREFUSED' }],
      'fail: no Sentinel server knows a primary of the name in REDIS_URL',
    ],
    [
      'a wrong password',
      [{ code: 'ECONNREFUSED' }, { code: 'WRONGPASS' }],
      'fail: the Sentinel servers refuse the user or password (WRONGPASS)',
    ],
    [
      'they are Redis itself',
      [{ code: 'unknown command SENTINEL' }],
      'fail: the servers in REDIS_URL are not Sentinel servers',
    ],
  ])('Sentinel servers: %s', (_, answers, finding) => {
    expect(said(judgeSentinels(answers))).toBe(finding)
  })

  test.each<[string, boolean, string]>([
    ['redis://:plainly-fake@redis:6379', false, 'ok: the broker signs in to Redis'],
    ['rediss://redis:6379', true, 'ok: the broker has a client certificate'],
    ['redis://127.0.0.1:6379', false, 'ok: Redis needs no password, on this machine'],
    [
      'redis://redis:6379',
      false,
      'warn: Redis needs no password: whoever reaches it can end and count sessions, and reset limits',
    ],
    [
      'redis+cluster://127.0.0.1:1,redis:2',
      false,
      'warn: Redis needs no password: whoever reaches it can end and count sessions, and reset limits',
    ],
  ])('%s, client certificate %s', (url, hasCertificate, finding) => {
    expect(said(judgePassword(parseRedisUrl(url), hasCertificate, false))).toBe(finding)
  })

  test('a password that Redis does not need, on another machine and on this one', () => {
    const judge = (url: string) => said(judgePassword(parseRedisUrl(url), false, true))
    expect(judge('redis://:plainly-fake@redis:6379')).toMatch(/^warn: Redis needs no password/)
    expect(judge('redis://:plainly-fake@127.0.0.1:6379')).toBe('ok: the broker signs in to Redis')
  })

  test.each<[string, string, string]>([
    ['redis://redis', 'LOADING', 'fail: Redis is loading its data (LOADING)'],
    ['redis+cluster://redis', 'NOPERM', 'fail: the Redis user may not run CLUSTER (NOPERM)'],
    ['redis+cluster://redis', 'cluster support disabled', 'fail: Redis is not a cluster'],
    [
      'redis+sentinel://redis?name=main',
      'ECONNREFUSED',
      'fail: the primary that the Sentinel servers name does not answer (ECONNREFUSED)',
    ],
    ['redis://redis', 'NOPERM', 'ok: Redis answers'], // redis.database shows it
  ])('%s: %s', (url, code, finding) => {
    expect(said(judgeRedis(code, parseRedisUrl(url)))).toBe(finding)
  })

  test('a server that closes the connection, and a cluster: what may be the reason', () => {
    const fixOf = (url: string) => judgeRedis('not connected', parseRedisUrl(url)).fix
    expect(fixOf('redis://redis')).toMatch(/protected mode/)
    expect(fixOf('redis+cluster://redis')).toMatch(/all slots.* announce/)
  })

  test.each<[string, string, string | undefined]>([
    ['redis://redis', 'sentinel', 'fail: this is a Sentinel server, not Redis'],
    ['redis://redis', 'cluster', 'fail: this is a node of a cluster: other nodes have the other keys'],
    ['redis+cluster://redis', 'cluster', undefined],
    ['redis://redis', 'standalone', undefined],
  ])('%s leads to a server in the mode %s', (url, mode, finding) => {
    const info = `redis_version:7.0.15\r\nredis_mode:${mode}\r\n`
    expect(said(judgeKind([info], parseRedisUrl(url)))).toBe(finding)
  })

  const MB = 1_048_576
  const info = (maxmemory: number, used = 0) =>
    `used_memory:${used}\r\nmaxmemory:${maxmemory}\r\nmaxmemory_policy:noeviction\r\n`
  test.each<[string, string[], string]>([
    ['enough', [info(64 * MB)], 'ok: maxmemory-policy is noeviction'],
    [
      'little',
      [info(512 * MB), info(10 * MB)],
      'warn: maxmemory is 10 MB, which some thousand devices and sessions use up',
    ],
    [
      'nearly full',
      [info(512 * MB, 1), info(512 * MB, 460 * MB)],
      'warn: 90 % of maxmemory are used: when it is full, nobody can sign in',
    ],
    [
      'no limit',
      [info(0)],
      'warn: maxmemory is 0: Redis takes all memory of its machine, which may then end it',
    ],
  ])('memory: %s', (_, infos, finding) => {
    expect(said(judgePolicy(infos))).toBe(finding)
  })
})
