import { isIP } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { askPort } from '../http/serve.ts'
import { codePoint } from '../support/code-point.ts'
import { type MatrixHarness, type MatrixVisitor, startMatrixHarness } from '../support/matrix-harness.ts'
import { pathOf } from '../support/permissive-upstream.ts'
import { CLASS_OF } from '../support/route-classes.ts'
import { until } from '../support/until.ts'
import { exchangeRaw, expectNoAlarm, expectSuccessOrRefusal, runs, SEED_LABEL, TEST_MS } from './fuzz.ts'

/** Random request lines, headers and queries. */

let harness: MatrixHarness
let browser: MatrixVisitor
beforeAll(async () => {
  harness = await startMatrixHarness({
    tunables: (tunables) => ({
      ...tunables,
      http: {
        ...tunables.http,
        requestTimeoutMs: 400,
        headersTimeoutMs: 400,
        connectionsCheckIntervalMs: 50,
      },
    }),
  })
  browser = await harness.newcomer()
})
afterAll(() => harness.stop())

const opened = () => ({
  cookie: browser.cookies('own') ?? '',
  'sec-fetch-site': 'none',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
})

describe('a request line', () => {
  const PATHS = Object.keys(CLASS_OF).map((name) => pathOf(name.split(' ')[1] ?? ''))
  const twisted = fc
    .tuple(
      fc.constantFrom(...PATHS),
      fc.nat(60),
      fc.constantFrom(
        '%2f',
        '%2e%2e/',
        '//',
        '/../',
        '%00',
        '%',
        '%zz',
        ';',
        '\\',
        '%c0%af',
        '?',
        '#',
        '*',
        '%20',
        '\u00ff',
        '..;/',
      ),
    )
    .map(([path, at, twist]) => path.slice(0, at) + twist + path.slice(at))
  const target = fc.oneof(
    twisted,
    fc.constantFrom(...PATHS).map((path) => `http://evil.example${path}`),
    fc.constantFrom(
      '*',
      '/',
      '//',
      '//evil.example/x',
      'http://',
      'http://[::1',
      'evil.example:443',
      '?x',
      '%',
      'https://a:b@c/',
      '/%ff',
    ),
    fc.string({ unit: 'binary-ascii', maxLength: 200 }),
    fc.constantFrom(9000, 20_000).map((length) => `/${'a'.repeat(length)}`),
  )
  const method = fc.oneof(
    fc.constantFrom(
      'GET',
      'HEAD',
      'POST',
      'DELETE',
      'OPTIONS',
      'PUT',
      'PATCH',
      'TRACE',
      'CONNECT',
      'PROPFIND',
      'get',
      'G',
    ),
    fc.string({ unit: 'binary-ascii', maxLength: 10 }),
  )

  test(
    `of any kind gets a response or a closed connection in time ${SEED_LABEL}`,
    async () => {
      const version = fc.constantFrom(
        'HTTP/1.1',
        'HTTP/1.0',
        'HTTP/2.0',
        'HTTP/9',
        'HTTP/1.1\r\nHost: a\r\nHost: b',
        '',
      )
      await fc.assert(
        fc.asyncProperty(method, target, version, async (verb, where, how) => {
          const head = `${verb} ${where} ${how}\r\nConnection: close\r\n\r\n`
          const answer = await exchangeRaw(harness.port, Buffer.from(head, 'latin1'))
          expect(answer).not.toBeUndefined()
          expect(answer ?? '').not.toMatch(/^HTTP\/1\.1 5/)
        }),
        runs(1200),
      )
      expectNoAlarm(harness.gatehouse)
    },
    TEST_MS,
  )
})

describe('queries of redirects', () => {
  const word = fc.oneof(
    fc
      .string({ unit: codePoint, maxLength: 60 })
      .map((text) => encodeURIComponent(Buffer.from(text).toString())),
    fc.string({ unit: fc.constantFrom(...'ab%=&;+/?#[]\\.:@'), maxLength: 60 }),
    fc.constantFrom(
      'handle',
      'ssoToken',
      'https%3A%2F%2Fapp.example.com%2Fstart',
      'https://app.example.com.evil.example/',
      '%ff',
      '__proto__',
    ),
  )
  const name = fc.oneof(
    fc.constantFrom(
      'stateToken',
      'token',
      'redirectUrl',
      'fromURI',
      '__proto__',
      'stateToken[]',
      'stateToken[a]',
      'constructor',
      '',
    ),
    word,
  )
  const soup = fc.array(fc.tuple(name, word), { maxLength: 8 })
  const path = fc.constantFrom(
    '/login/step-up/redirect',
    '/login/token/redirect',
    '/sso/idps/fac123',
    '/sso/idps/%2e%2e',
    '/login/sessionCookieRedirect',
    '/signin/step-up',
  )

  test(
    `lead to the org, to the sign-in page, or are refused ${SEED_LABEL}`,
    async () => {
      await fc.assert(
        fc.asyncProperty(path, soup, async (where, pairs) => {
          const own = new Map([
            ['handle', browser.handle],
            ['ssoToken', browser.ssoToken],
          ])
          const query = pairs.map(([key, value]) => `${key}=${own.get(value) ?? value}`).join('&')
          const answer = await askPort(harness.port, { path: `${where}?${query}`, headers: opened() })
          expectSuccessOrRefusal(answer)
          const { location } = answer.headers
          if (location === undefined) return
          const { origin, searchParams } = new URL(location)
          expect([harness.upstreamUrl, 'https://portal.example.com']).toContain(origin)
          const redirectUrl = searchParams.get('redirectUrl')
          if (redirectUrl !== null) expect(new URL(redirectUrl).origin).toBe('https://app.example.com')
          browser = await harness.newcomer()
        }),
        runs(1500),
      )
      expectNoAlarm(harness.gatehouse)
    },
    TEST_MS,
  )

  test(
    `with a valid SSO token and any redirectUrl lead to allowed targets only ${SEED_LABEL}`,
    async () => {
      const host = fc.constantFrom(
        'app.example.com',
        'app.example.com@evil.example',
        'app.example.com.evil.example',
        'evil.example#app.example.com',
        'APP.example.com',
        'app.example.com:443',
        'app.example.com:444',
        'app\u3002example.com',
        '\uff41pp.example.com',
      )
      const twist = fc.oneof(
        fc
          .tuple(fc.domain(), fc.string({ unit: fc.constantFrom(...'ab/%20?#=&.@:'), maxLength: 20 }))
          .map(([name, rest]) => `https://${name}/${rest}`),
        host.map((name) => `https://${name}/start`), // random hosts would almost never match
        fc
          .tuple(
            fc.constantFrom('https:', 'http:', 'HTTPS:', 'javascript:', '', 'https:/', '\thttps:'),
            fc.constantFrom('//', '/', '\\\\', '///', ''),
            host,
            fc.string({ unit: fc.constantFrom(...'/.%2fe\\?#@:;a\u0000 '), maxLength: 12 }),
          )
          .map((parts) => parts.join('')),
        fc.string({ unit: codePoint, maxLength: 40 }),
      )
      await fc.assert(
        fc.asyncProperty(twist, async (redirectUrl) => {
          const given = encodeURIComponent(Buffer.from(redirectUrl).toString())
          const answer = await askPort(harness.port, {
            path: `/login/sessionCookieRedirect?token=${browser.ssoToken}&redirectUrl=${given}`,
            headers: opened(),
          })
          expectSuccessOrRefusal(answer)
          expect([302, 400]).toContain(answer.status)
          if (answer.headers.location === undefined) return
          const { origin, searchParams } = new URL(answer.headers.location)
          expect(origin).toBe(harness.upstreamUrl)
          expect(new URL(searchParams.get('redirectUrl') ?? '').origin).toBe('https://app.example.com')
          browser = await harness.newcomer()
        }),
        runs(1500),
      )
      expectNoAlarm(harness.gatehouse)
    },
    TEST_MS,
  )
})

test(
  `with any X-Forwarded-For, the log has one valid address, and none that only the client wrote ${SEED_LABEL}`,
  async () => {
    const behindProxies = await startMatrixHarness({ env: { TRUST_PROXY: '127.0.0.1/32,10.0.0.0/8' } })
    const FORGED = '198.51.100.66'
    const PROXY_SAW = '203.0.113.7'
    const garbage = fc.oneof(
      fc.constantFrom(
        '',
        ' ',
        'unknown',
        '_hidden',
        '1.2.3',
        '01.2.3.4',
        '0x7f.1',
        '[::1',
        '::1]',
        '[::1]:x',
        '1.2.3.4:',
        '::ffff:1.2.3.4',
        'fe80::1%eth0',
        '[fe80::1%25eth0]:80',
        '10.0.0.1',
        FORGED,
        `${FORGED}:80`,
        `[::ffff:${FORGED}]:1`,
        '"1.2.3.4"',
        'for=1.2.3.4',
      ),
      fc.ipV4(),
      fc.ipV6(),
      fc.string({ unit: fc.constantFrom(...'0123456789abcdef:.[]% /'), maxLength: 40 }),
    )
    const hops = fc.array(garbage, { maxLength: 300 })
    const walked = fc.array(
      fc.constantFrom('10.1.2.3', '10.9.9.9:4000', '::ffff:10.0.0.9', '[::ffff:10.0.0.9]:1', '127.0.0.1'),
      { maxLength: 3 },
    )
    let asked = 0
    await fc.assert(
      fc.asyncProperty(hops, walked, fc.constantFrom(',', ', ', ' ,'), async (chain, proxies, between) => {
        const list = `${chain.join(between).slice(-10_000)}${between}${PROXY_SAW}${proxies.map((one) => between + one).join('')}`
        const requestId = `fuzz-request-${asked}`
        asked += 1
        const answer = await askPort(behindProxies.port, {
          path: '/api/v1/sessions/me',
          headers: { 'x-forwarded-for': list, 'x-request-id': requestId },
        })
        expect(answer.status).toBe(404)
      }),
      runs(800),
    )
    const lines = () =>
      behindProxies.gatehouse
        .logLines()
        .filter(({ requestId }) => String(requestId).startsWith('fuzz-request-'))
    await until(() => lines().length === asked)
    for (const { address } of lines()) expect(address).toBe(PROXY_SAW)

    await fc.assert(
      fc.asyncProperty(hops, async (chain) => {
        const requestId = `fuzz-chain-${asked}`
        asked += 1
        const answer = await askPort(behindProxies.port, {
          path: '/api/v1/sessions/me',
          headers: { 'x-forwarded-for': chain.join().slice(-10_000), 'x-request-id': requestId },
        })
        expectSuccessOrRefusal(answer)
        expect([400, 404]).toContain(answer.status) // 400: the proxy's own entry is not an address
      }),
      runs(400),
    )
    for (const { address, requestId } of behindProxies.gatehouse.logLines())
      if (String(requestId).startsWith('fuzz-chain-')) expect(isIP(String(address))).toBeGreaterThan(0)
    expectNoAlarm(behindProxies.gatehouse)
    await behindProxies.stop()
  },
  TEST_MS,
)
