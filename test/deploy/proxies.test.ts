import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { defaultTunables } from '../../src/config/load-config.ts'
import { FORWARD_AUTH_OPERATIONS } from '../../src/session/forward-auth.ts'
import { OTHER_IDENTITY_HEADERS } from '../support/proxies.ts'

const { path: FORWARD_AUTH, responses } = FORWARD_AUTH_OPERATIONS.forwardAuth
const { headers: IDENTITY_HEADERS } = responses[200]

/** Compares the example configurations with the code. proxies-attacked.test.ts runs four of them. */

const read = (name: string) => readFileSync(join(import.meta.dirname, '../../deploy/proxies', name), 'utf8')
const NAMES: readonly string[] = IDENTITY_HEADERS
const inSmallLetters = NAMES.map((name) => name.toLowerCase())

/** Every value under this key, at any depth. */
function valuesUnder(key: string, tree: unknown): unknown[] {
  if (typeof tree !== 'object' || tree === null) return []
  return Object.entries(tree).flatMap(([name, value]) => [
    ...(name === key ? [value] : []),
    ...valuesUnder(key, value),
  ])
}

describe('traefik.yml', () => {
  const tree: unknown = parse(read('traefik.yml'))

  test('forwards exactly the broker’s identity headers, and removes the client’s from the sub-request', () => {
    const [forwardAuth] = valuesUnder('forwardAuth', tree)
    expect(forwardAuth).toEqual({
      address: `http://gatehouse:8080${FORWARD_AUTH}`,
      trustForwardHeader: false,
      forwardBody: false,
      authRequestHeaders: ['Cookie', 'X-Gatehouse-Session'],
      authResponseHeaders: NAMES,
    })
  })

  test('removes identity headers in every spelling and upgrades from every request first', () => {
    const [taken, alsoForWhoWantsIt] = valuesUnder('customRequestHeaders', tree)
    expect(alsoForWhoWantsIt).toEqual({ Cookie: '' })
    const spellings = NAMES.flatMap((name) => spellingsOf(name))
    expect(spellings).toHaveLength(8 + 16 + 8)
    expect(taken).toEqual(
      Object.fromEntries(
        [...spellings, ...OTHER_IDENTITY_HEADERS, 'Forwarded', 'Traceparent', 'Upgrade'].map((name) => [
          name,
          '',
        ]),
      ),
    )
    expect(tree).toMatchObject({
      http: {
        routers: {
          gatehouse: { middlewares: ['no-identity-headers'] },
          application: { middlewares: ['no-identity-headers', 'sign-in-page', 'signed-in'] },
          portal: { middlewares: ['no-identity-headers'] },
        },
      },
    })
  })
})

/** Each hyphen, or an underscore in its place. */
function spellingsOf(name: string): string[] {
  const [first = '', ...others] = name.split('-')
  return others.reduce<string[]>(
    (begun, part) => begun.flatMap((text) => [`${text}-${part}`, `${text}_${part}`]),
    [first],
  )
}

describe('envoy.yaml', () => {
  const tree: unknown = parse(read('envoy.yaml'))
  const patterns = (key: string) =>
    valuesUnder(key, tree).flatMap((value) => valuesUnder('exact', value) as string[]) // strings in this file

  test('forwards exactly the broker’s identity headers, and removes those of clients', () => {
    expect(patterns('allowed_upstream_headers')).toEqual(inSmallLetters)
    const otherIdentityHeaders = OTHER_IDENTITY_HEADERS.map((name) => name.toLowerCase())
    expect(valuesUnder('remove', tree)).toEqual([
      ...inSmallLetters,
      ...otherIdentityHeaders,
      'forwarded',
      'traceparent',
    ])
    expect(valuesUnder('upgrade_configs', tree)).toEqual([])
    expect(valuesUnder('headers_with_underscores_action', tree)).toEqual(['DROP_HEADER'])
    expect(patterns('allowed_headers')).toEqual([
      'cookie',
      'x-gatehouse-session',
      'x-request-id',
      'x-forwarded-for',
    ])
  })

  test('refuses requests while the broker is unreachable', () => {
    expect(valuesUnder('failure_mode_allow', tree)).toEqual([false])
    expect(valuesUnder('status_on_error', tree)).toEqual([{ code: 'ServiceUnavailable' }])
  })

  test('calls the broker’s /forward-auth, and has two routes without the check', () => {
    expect(String(valuesUnder('inline_string', tree))).toContain(`replace(":path", "${FORWARD_AUTH}")`)
    const routes = valuesUnder('routes', tree)[0] as { route: { cluster: string } }[] // as the file has them
    const open = routes.filter((route) => 'typed_per_filter_config' in route)
    expect(open.map(({ route }) => route.cluster)).toEqual(['gatehouse', 'portal'])
  })
})

describe('Caddyfile', () => {
  const text = read('Caddyfile')

  test('forwards exactly the broker’s identity headers, and removes those of clients', () => {
    expect(text).toContain(`uri ${FORWARD_AUTH}\n`)
    expect(text).toContain(`copy_headers ${NAMES.join(' ')}\n`)
    expect(text).toContain('request_header -X-Auth*\n')
    const signs = [...text.matchAll(/request_header "-\*(.)\*"/g)].map(([, sign]) => sign)
    expect(signs).toEqual([..."!#$%&'*+.^_`|~"])
  })

  test('removes Gatehouse’s cookies', () => {
    // Caddy treats an empty replacement as a value to set, hence $1
    const [, pattern = ''] =
      /reverse_proxy 127.0.0.1:3000 \{[^}]*header_up Cookie "(.+)" "\$1"/.exec(text) ?? []
    const arriving = (sent: string) => sent.replace(new RegExp(pattern, 'g'), '$1')
    expect(arriving('__Host-gatehouse=s%3Aa.b; __Host-gatehouse-device=c')).toBe('')
    expect(arriving('__Host-gatehouse-device=c; a=1; __Host-gatehouse=s%3Aa.b; my-gatehouse=2')).toBe(
      'a=1; my-gatehouse=2',
    )
    expect(arriving('theme=gatehouse; b=2; gatehouse=x')).toBe('theme=gatehouse; b=2; ')
  })
})

describe('every proxy', () => {
  const FILES = ['nginx.conf', 'traefik.yml', 'envoy.yaml', 'Caddyfile', 'haproxy.cfg', 'apache.conf']

  test.each(FILES)('%s documents TRUST_PROXY with one address', (name) => {
    expect(read(name)).toMatch(/TRUST_PROXY=(127\.0\.0\.1|10\.0\.0\.10)\s/)
  })

  test('closes idle connections before the broker does: 60 s', () => {
    expect(defaultTunables().http.keepAliveTimeoutMs).toBeGreaterThan(60_000)
    expect(read('traefik.yml')).toContain('idleConnTimeout: 60s')
    expect(read('envoy.yaml')).toContain('idle_timeout: 60s')
    expect(read('Caddyfile').match(/keepalive 60s/g)).toHaveLength(2)
    expect(read('haproxy.cfg')).toContain('timeout http-keep-alive 60s')
    expect(read('apache.conf').match(/127.0.0.1:8080.* ttl=60 /g)).toHaveLength(4)
  })

  test('its time-out for the broker exceeds those of the broker for the org, PAM and Redis', () => {
    const { upstream, pam, store } = defaultTunables()
    expect(upstream.authn.totalTimeoutMs).toBeLessThan(60_000)
    expect(pam.lists.maxTotalMs + upstream.pam.totalTimeoutMs).toBeLessThan(60_000)
    expect(store.commandTimeoutMs).toBeLessThan(5000)
    expect(read('nginx.conf')).toMatch(/proxy_read_timeout {4}60s[\s\S]*proxy_read_timeout {4}5s/)
    expect(read('traefik.yml')).toContain('responseHeaderTimeout: 60s')
    expect(read('envoy.yaml')).toMatch(
      /cluster: gatehouse, timeout: 60s[\s\S]*cluster: gatehouse, timeout: 5s/,
    )
    expect(read('haproxy.cfg')).toContain('timeout server  60s')
    expect(read('gatehouse.lua')).toContain('timeout = 5000')
    expect(read('apache.conf').match(/127.0.0.1:8080.* timeout=60 /g)).toHaveLength(4)
    expect(read('Caddyfile')).toMatch(/response_header_timeout 60s[\s\S]*response_header_timeout 5s/)
  })
})
