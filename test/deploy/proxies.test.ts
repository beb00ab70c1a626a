import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { parse, parseAllDocuments } from 'yaml'
import { defaultTunables } from '../../src/config/tunables.ts'
import { FORWARD_AUTH_RULES } from '../../src/forward-auth/forward-auth-rules.ts'
import { PAGE_LIMITS } from '../../src/pam/upstream/pam-deps.ts'
import { REPORTS_HOST, WIKI_HOST } from '../support/proxies.ts'

/** Compares the example configurations with the code. proxies-attacked.test.ts runs them. */

const read = (name: string) => readFileSync(join(import.meta.dirname, '../../deploy/proxies', name), 'utf8')

describe('every proxy', () => {
  test('closes idle connections before the broker does: 60 s', () => {
    expect(defaultTunables().http.keepAliveTimeoutMs).toBeGreaterThan(60_000)
    expect(read('Caddyfile').match(/keepalive 60s/g)).toHaveLength(2)
    expect(read('haproxy.cfg')).toContain('timeout http-keep-alive 60s')
    expect(read('apache.conf').match(/BalancerMember.* ttl=60$/gm)).toHaveLength(2)
  })

  test('asks a replica that was away again before the next one closes, in a quick rolling restart', () => {
    const again = (name: string, pattern: RegExp) =>
      [...read(name).matchAll(pattern)].map(([, seconds]) => 1000 * Number(seconds))
    const times = {
      // whole seconds: up to one more
      nginx: again('nginx.conf', /fail_timeout=(\d+)s/g).map((ms) => ms + 1000),
      'nginx in Compose': again('../compose/nginx.conf', /fail_timeout=(\d+)s/g).map((ms) => ms + 1000),
      Apache: again('apache.conf', / retry=(\d+) /g),
      HAProxy: again('haproxy.cfg', / check inter (\d+)s /g),
      Caddy: again('Caddyfile', /health_interval (\d+)s/g),
      Envoy: again('envoy.yaml', /\binterval: (\d+)s/g),
      Traefik: again('traefik.yaml', /\binterval: (\d+)s/g),
    }
    for (const [name, found] of Object.entries(times)) {
      expect([name, found]).not.toEqual([name, []])
      expect([name, Math.max(...found) < defaultTunables().http.readinessLeadMs]).toEqual([name, true])
    }
  })

  test('its time-out for the broker exceeds those of the broker for the org, PAM and Redis', () => {
    const { upstream, store } = defaultTunables()
    expect(upstream.authn.totalTimeoutMs).toBeLessThan(60_000)
    expect(PAGE_LIMITS.maxTotalMs + upstream.pam.totalTimeoutMs).toBeLessThan(60_000)
    expect(store.commandTimeoutMs).toBeLessThan(5000)
    expect(read('nginx.conf')).toMatch(/proxy_read_timeout {4}60s[\s\S]*proxy_read_timeout 5s/)
    expect(read('haproxy.cfg')).toContain('timeout server  60s')
    expect(read('gatehouse.lua')).toContain('timeout = 5000')
    expect(read('apache.conf').match(/BalancerMember.* timeout=60 /g)).toHaveLength(2)
    expect(read('Caddyfile')).toMatch(/response_header_timeout 60s[\s\S]*response_header_timeout 5s/)
  })
})

/** proxies-limits.test.ts shows what these do. */
test.each([
  [
    'nginx.conf',
    [/client_max_body_size 1m;/, /proxy_request_buffering on;/, /limit_conn /, /limit_req zone/],
  ],
  ['../compose/nginx.conf', [/client_max_body_size 1m;/, /proxy_request_buffering on;/, /limit_conn /]],
  ['Caddyfile', [/max_size 1MiB/, /# request_buffers 1MiB/, /max_header_size 16KiB/, /read_body 10s/]],
  ['haproxy.cfg', [/gt 1048576/, /option http-buffer-request/, /timeout http-request +10s/, /sc_conn_cur/]],
  ['apache.conf', [/LimitRequestBody 65536/, /SetInputFilter BUFFER/]],
  ['apache-host.conf', [/RequestReadTimeout/]],
  ['envoy.yaml', [/max_request_bytes: 1048576/, /max_request_headers_kb: 16/, /request_headers_timeout/]],
  ['traefik.yaml', [/maxRequestBodyBytes: 1048576/, /inFlightReq:/, /rateLimit:/, /maxHeaderBytes: 16384/]],
  ['envoy-gateway.yaml', [/requestBuffer: \{ limit: 1Mi \}/, /requestReceivedTimeout/]],
])(
  '%s buffers requests, and limits their sizes and times, and requests for each address if it can',
  (name, settings) => {
    for (const setting of settings) expect(read(name)).toMatch(setting)
  },
)

test.each([
  ['nginx.conf', 3],
  ['Caddyfile', 3],
  ['haproxy.cfg', 3],
  ['envoy.yaml', 3],
  ['traefik.yaml', 3],
])('%s says that the URLs of its redirect need a port other than 443', (name, count) => {
  expect(read(name)).toMatch(
    /^# +https:\/\/portal\.example\.com +PUBLIC_URL, with its port unless that is 443$/m,
  )
  const urls = read(name).match(/https:\/\/portal\.example\.com(?!:)/g) ?? []
  expect(urls.length).toBeGreaterThanOrEqual(count)
})

/** A rule of the examples, whatever the order of its parameters. */
const parsed = (rule: string) => [...new URLSearchParams(rule.replaceAll(/["']/g, ''))].map(String).toSorted()

const RULES = [...read('nginx.conf').matchAll(/set \$rule (\S+);/g)].map(([, rule = '']) => parsed(rule))

test('nginx.conf has an application on the portal’s host, one with one rule and one with three', () => {
  expect(RULES).toHaveLength(5)
  for (const rule of RULES) {
    const query = rule.map((parameter) => parameter.split(','))
    expect(() => FORWARD_AUTH_RULES.parse(Object.fromEntries(query))).not.toThrow()
  }
})

describe('the examples that no test runs', () => {
  const rulesIn = (name: string) =>
    [...read(name).matchAll(/\/forward-auth\?([^\s;]+)/g)].map(([, rule = '']) => parsed(rule))

  test.each([
    ['envoy.yaml', 3],
    ['traefik.yaml', 3],
    ['envoy-gateway.yaml', 3],
  ])('%s has %d of the rules of nginx.conf', (name, count) => {
    const rules = rulesIn(name)
    expect(rules).toHaveLength(count)
    expect(rules).toContainEqual(RULES[0])
    for (const rule of rules) expect(RULES).toContainEqual(rule)
  })

  test.each(['envoy.yaml', 'traefik.yaml', 'gateway-api.yaml', 'envoy-gateway.yaml'])(
    '%s names the hosts of two applications to Gatehouse as literals',
    (name) => {
      for (const document of parseAllDocuments(read(name), { merge: true }))
        expect(document.errors).toEqual([])
      const literals = [...read(name).matchAll(/x-forwarded-host(?:, value)?: ([\w.]+)/gi)].map(
        ([, host]) => host,
      )
      expect(new Set(literals)).toEqual(new Set([WIKI_HOST, REPORTS_HOST]))
    },
  )

  test.each(['envoy.yaml', 'traefik.yaml', 'gateway-api.yaml', 'envoy-gateway.yaml'])(
    '%s passes Secure-Session-Skipped to each /forward-auth',
    (name) => {
      const lists = [...read(name).matchAll(/x-gatehouse-session(.*\n?.*)/gi)].map(([, rest]) => rest)
      expect(lists.length).toBeGreaterThan(0)
      for (const rest of lists) expect(rest).toMatch(/^[\s,]*(- exact: )?secure-session-skipped/i)
    },
  )

  test('traefik.yaml shows users whom a rule refuses a page, but not fetches', () => {
    const { http } = parse(read('traefik.yaml'), { merge: true })
    expect(http.middlewares.denied.errors).toEqual({
      status: ['403'],
      service: 'portal',
      query: '/denied.html',
      errorRequestHeaders: ['Accept-Language'], // by default all, with the cookies
    })
    const asking = Object.entries<{ middlewares: string[] }>(http.routers).flatMap(
      ([router, { middlewares }]) =>
        middlewares.some((one) => one.startsWith('check')) ? [[router, middlewares] as const] : [],
    )
    expect(asking).toHaveLength(6)
    for (const [router, middlewares] of asking) {
      const at = middlewares.indexOf('denied')
      const check = middlewares.findIndex((one) => one.startsWith('check'))
      expect([router, at >= 0 && at < check]).toEqual([router, router.endsWith('-page')])
    }
  })

  test.each(['envoy.yaml', 'traefik.yaml'])('%s leads to the sign-in with what a sign-in meets', (name) => {
    const proofOf = (rule: readonly string[]) => rule.filter((one) => /^(amr|maxAuthAge),/.test(one))
    const urls = [...read(name).matchAll(/\/(?:signin|forward-auth\/start)\?(\S*?)returnTo=https:/g)]
    const proofs = urls.map(([, query = '']) => proofOf(parsed(query)))
    expect(proofs.toSorted()).toEqual(rulesIn(name).map(proofOf).toSorted())
  })
})
