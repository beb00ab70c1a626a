import { describe, expect, test } from '@jest/globals'
import { listenHost, port, proxyException, trustedProxies } from '../../src/config/network-values.ts'
import {
  domain,
  factorType,
  listOf,
  oneOf,
  onOrOff,
  visibleAscii,
  wholeNumber,
} from '../../src/config/plain-values.ts'
import { sameSiteProblem } from '../../src/config/same-site.ts'
import {
  hasUnsafePath,
  pageUrl,
  proxyUrl,
  publicOrigin,
  redirectPrefix,
  upstreamBaseUrl,
  upstreamOrigin,
  webOrigin,
} from '../../src/config/url-values.ts'
import { expectInvalid, expectParsed, outcome } from './parsers.ts'

describe('plain values', () => {
  test('whole numbers within bounds, in decimal digits', () => {
    const parse = wholeNumber(1, 1440)
    expectParsed(parse, ['1', 1], ['030', 30], ['1440', 1440])
    expectInvalid(
      parse,
      'must be a whole number from 1 to 1440',
      '0',
      '1441',
      '-1',
      '1.5',
      '1e2',
      '0x10',
      '',
      ' 1',
      '1 ',
    )
    expectInvalid(
      wholeNumber(0, Number.MAX_VALUE),
      `must be a whole number from 0 to ${Number.MAX_VALUE}`,
      '1234567890',
    )
    expectParsed(wholeNumber(0, Number.MAX_VALUE), ['123456789', 123_456_789])
  })

  test('one of several words, case-sensitive', () => {
    expectParsed(oneOf('lax', 'strict'), ['lax', 'lax'], ['strict', 'strict'])
    expectInvalid(oneOf('lax', 'strict'), 'must be lax or strict', 'Lax', '', 'none', 'lax ')
    expectParsed(onOrOff, ['on', true], ['off', false])
    expectInvalid(onOrOff, 'must be on or off', 'true', 'ON')
  })

  test('lists: without duplicate and empty entries', () => {
    expectParsed(listOf(wholeNumber(0, 9)), ['1', [1]], [' 1 ,, 2,1 ', [1, 2]])
    expectParsed(listOf(wholeNumber(0, 9), /;/), ['1;2', [1, 2]])
    expectInvalid(listOf(visibleAscii), 'has no entry', '', ',', ' , ')
  })

  test('lists report each invalid entry by its position, if there are several', () => {
    const parse = listOf(oneOf('a', 'b'))
    expectInvalid(parse, 'must be a or b', 'x')
    expect(outcome(parse, 'a,x,b,y')).toEqual({
      invalid: ['entry 2 must be a or b', 'entry 4 must be a or b'],
    })
    const broken = listOf(() => {
      throw new RangeError('broken')
    })
    expect(() => broken('a')).toThrow(new RangeError('broken'))
  })

  test('domains, in lower case', () => {
    const longest = `${'a.'.repeat(126)}b`
    expectParsed(
      domain,
      ['Example.COM', 'example.com'],
      ['corp', 'corp'],
      ['a-b_c.x1', 'a-b_c.x1'],
      ['münchen.de', 'münchen.de'],
      ['a', 'a'],
      [longest, longest],
    )
    expectParsed(domain, [`${'a'.repeat(63)}.b`, `${'a'.repeat(63)}.b`])
    expectInvalid(domain, 'must be a domain without the @', '@example.com', '@')
    expectInvalid(
      domain,
      'must be a domain, such as example.com',
      '',
      'a b',
      '-a.b',
      'a-.b',
      'a..b',
      '.a',
      'a.',
      'a@b',
      `${'a'.repeat(64)}.b`,
      `${longest}c`,
      'a.b/c',
    )
  })

  test('secrets of visible ASCII characters', () => {
    expectParsed(visibleAscii, ['!~', '!~'])
    expectInvalid(
      visibleAscii,
      'must be visible ASCII characters without spaces',
      '',
      'a b',
      'ä',
      'a\n',
      '\u007f',
      ' a',
    )
  })

  test('factor types', () => {
    const types = [
      'password',
      'question',
      'sms',
      'call',
      'email',
      'push',
      'signed_nonce',
      'token',
      'token:software:totp',
      'token:hotp',
      'token:hardware',
      'webauthn',
      'u2f',
      'web',
      'claims_provider',
      'assertion:oidc',
      'assertion:saml2',
    ]
    expectParsed(factorType, ...types.map((type) => [type, type] as const))
    expectInvalid(factorType, `must be ${types.join(' or ')}`, '', 'SMS', 'brand_new')
  })
})

describe('hosts, ports and proxies', () => {
  test('a host to listen on', () => {
    for (const host of ['0.0.0.0', '::1', '::', 'localhost', 'a', 'A-b.c1', 'a'.repeat(253)])
      expectParsed(listenHost, [host, host])
    expectInvalid(
      listenHost,
      'must be an IP address or a host name',
      '',
      '-a',
      'a-',
      '.a',
      'a b',
      'http://a',
      'a:80',
      'a_b',
      'a'.repeat(254),
    )
  })

  test('a port', () => {
    expectParsed(port, ['0', 0], ['8080', 8080], ['65535', 65_535], ['00080', 80])
    expectInvalid(
      port,
      'must be a port from 0 to 65535',
      '65536',
      '-1',
      '',
      '1.5',
      '080800',
      'http',
      '10.0.0.1',
      '0x50',
      ' 80',
      '80 ',
      'x tcp://a',
    )
    expectInvalid(
      port,
      'must be a port from 0 to 65535 (Kubernetes sets it for a service of that name: enableServiceLinks: false)',
      'tcp://10.0.0.1:9090',
      'TCP://a',
    )
  })

  const FORGE = 'must name the proxies: otherwise any client can forge its address'
  const NOT_CIDR = 'must be an IP address or a CIDR, such as 10.0.0.0/8'

  test('a trusted proxy, as a CIDR', () => {
    const trustedProxy = (text: string) => trustedProxies(text)[0]
    expectParsed(
      trustedProxy,
      ['192.0.2.1', '192.0.2.1/32'],
      ['10.0.0.0/8', '10.0.0.0/8'],
      ['10.0.0.0/032', '10.0.0.0/32'],
      ['2001:DB8::1', '2001:db8::1/128'],
      ['2001:db8::/128', '2001:db8::/128'],
      ['0.0.0.0/1', '0.0.0.0/1'],
    )
    expectInvalid(trustedProxy, FORGE, '*', 'true', 'TRUE', 'yes', 'on', 'all')
    expectInvalid(
      trustedProxy,
      'must not be a number of hops: a client on a shorter path could forge its address',
      '1',
      '42',
    )
    expectInvalid(
      trustedProxy,
      NOT_CIDR,
      'loopback',
      '10.0.0.0/33',
      '2001:db8::/129',
      '10.0.0.0/8/8',
      '10.0.0.0/',
      '10.0.0.0/x',
      '10.0.0.0/-1',
      '10.0.0.0/0008',
      'fe80::1%eth0',
      '10.0.0',
      '1a',
      'x1',
      'xtrue',
      'truex',
      '/8',
    )
    expectInvalid(
      trustedProxy,
      'must be written as IPv4, not as an IPv4-mapped address',
      '::ffff:10.0.0.1',
      '::ffff:0:0/96',
    )
    expectInvalid(
      trustedProxy,
      'must not cover every address: otherwise any client can forge its address',
      '0.0.0.0/0',
      '::/0',
      '10.0.0.0/000',
    )
  })

  test('trusted proxies together must not cover every address', () => {
    expectParsed(
      trustedProxies,
      ['10.0.0.0/8, 192.0.2.1', ['10.0.0.0/8', '192.0.2.1/32']],
      ['0.0.0.0/1', ['0.0.0.0/1']],
      ['128.0.0.0/1', ['128.0.0.0/1']],
    )
    const almostAll = '0.0.0.0/1,128.0.0.0/2,192.0.0.0/4,208.0.0.0/5,216.0.0.0/6,220.0.0.0/7,222.0.0.0/8'
    expectParsed(
      trustedProxies,
      [almostAll, almostAll.split(',')],
      ['2000::/4', ['2000::/4']],
      ['::/3', ['::/3']],
      ['3000::/4,2000::/5', ['3000::/4', '2000::/5']],
    )
    const holds =
      'must not cover every address, even in several entries: otherwise any client can forge its address'
    expectInvalid(
      trustedProxies,
      holds,
      '0.0.0.0/1,128.0.0.0/1',
      '128.0.0.0/1,0.0.0.0/1',
      `${almostAll},223.0.0.0/8`,
      '2000::/3',
      '3000::/4,2000::/4',
      '::/1,8000::/1',
      '10.0.0.0/8,2000::/4,3fff::/16,3000::/4',
      '1.0.0.0/8,0.0.0.0/1,64.0.0.0/2,128.0.0.0/1',
    )
  })

  test('exceptions from the egress proxy', () => {
    expectParsed(proxyException, ['.SVC', '.svc'], ['10.0.0.0/8', '10.0.0.0/8'], ['host:80', 'host:80'])
    expectInvalid(proxyException, 'must be a host name, a domain or an address', '', 'a b', 'ä', ' a', 'a ')
  })
})

describe('URLs', () => {
  const ABSOLUTE = 'must be an absolute URL, such as https://host.example.com'
  const ORIGIN_ONLY = 'must be an origin only: scheme, host and port, without path, query and fragment'
  const NO_USER = 'must have no user name and no password'
  const HOST = 'must have a plain host name or address'
  const DOTS = 'must have no dot segments and no encoded slashes in its path'
  const QUERY = 'must have no query and no fragment'
  const WILDCARD = 'must not have a wildcard: list each one'

  test('an origin is normalized as in browsers', () => {
    for (const parse of [publicOrigin, upstreamOrigin, webOrigin])
      expectParsed(
        parse,
        ['HTTPS://Host.Example.COM:443/', 'https://host.example.com'],
        ['https://a_b.example:8443', 'https://a_b.example:8443'],
        ['https://[::1]:8443', 'https://[::1]:8443'],
        ['https://10.0.0.1', 'https://10.0.0.1'],
        ['https://host', 'https://host'],
      )
  })

  test.each<[string, (text: string) => string]>([
    ['publicOrigin', publicOrigin],
    ['upstreamOrigin', upstreamOrigin],
    ['webOrigin', webOrigin],
  ])('%s: no path, query, fragment or user, and no other URL', (_name, parse) => {
    expectInvalid(
      parse,
      ORIGIN_ONLY,
      'https://a.b/x',
      'https://a.b/?x',
      'https://a.b?',
      'https://a.b/#',
      'https://a.b#x',
      'https://a.b/?',
    )
    expectInvalid(parse, NO_USER, 'https://u@a.b', 'https://u:p@a.b', 'https://@a.b', 'https://:p@a.b')
    expectInvalid(
      parse,
      ABSOLUTE,
      '',
      'a.b',
      '/a',
      'https:a.b',
      'https:/a.b',
      'https://',
      'https:// a.b',
      'https://a b',
      'https:\\\\a.b',
      'https://a.b\\',
      'https://a.b:99999',
      'https:///a',
      ' https://a.b',
      '1https://a.b',
      'xhttps//a.b',
    )
    expectInvalid(parse, 'must begin with https://', 'ftp://a.b', 'httpsx://a.b', 'xhttp://a.b')
    expectInvalid(parse, HOST, 'https://a.b.', 'https://a..b', 'https://a~b')
    expectInvalid(parse, WILDCARD, 'https://*', 'https://*.a.b', 'https://u@*.b')
  })

  test('plain http: for the public origin on localhost, for an upstream on loopback, else anywhere', () => {
    const local = ['http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:1']
    for (const parse of [publicOrigin, upstreamOrigin, webOrigin])
      expectParsed(parse, ...local.map((one) => [one, one] as const))
    expectInvalid(
      publicOrigin,
      'must be https; plain http only for localhost',
      'http://a.b',
      'http://127.0.0.2',
      'http://localhost.b',
      'http://127.0.0.1.b',
    )
    expectInvalid(
      upstreamOrigin,
      'must be https; plain http only on loopback',
      'http://a.b',
      'http://127.0.0.1.b',
      'http://a.127.0.0.b',
      'http://128.0.0.1',
    )
    expectParsed(
      upstreamOrigin,
      ['http://127.1.2.3', 'http://127.1.2.3'],
      ['http://127.100.200.254', 'http://127.100.200.254'],
    )
    expectParsed(webOrigin, ['http://a.b', 'http://a.b'])
  })

  test('the placeholder of the example is refused as an upstream', () => {
    const reason = 'is still the placeholder of the example'
    expectInvalid(upstreamOrigin, reason, 'https://your-org.example.net', 'https://your-team.pam.example.net')
    expectInvalid(upstreamBaseUrl, reason, 'https://your-org.example.net/pam')
    expectParsed(
      upstreamOrigin,
      ['https://your-org.example.net.b', 'https://your-org.example.net.b'],
      ['https://x.your-org.example.net', 'https://x.your-org.example.net'],
    )
  })

  test('a base URL may have a path; the trailing slash is removed', () => {
    expectParsed(
      upstreamBaseUrl,
      ['https://a.b', 'https://a.b'],
      ['https://a.b/', 'https://a.b'],
      ['https://a.b/pam/v9/', 'https://a.b/pam/v9'],
    )
    expectInvalid(upstreamBaseUrl, QUERY, 'https://a.b/pam?x', 'https://a.b/#')
    expectInvalid(
      upstreamBaseUrl,
      DOTS,
      'https://a.b/x/../y',
      'https://a.b/%2e',
      'https://a.b//x',
      'https://a.b/x%5Cy',
    )
    expectInvalid(
      upstreamBaseUrl,
      'must have only percent-encoded UTF-8 in its path',
      'https://a.b/%zz',
      'https://a.b/%ff',
    )
    expectParsed(upstreamBaseUrl, ['https://a.b/%C3%A4', 'https://a.b/%C3%A4'])
    expectInvalid(upstreamBaseUrl, 'must be https; plain http only on loopback', 'http://a.b/pam')
  })

  test('a page may have a path, a query and a fragment, but no state token', () => {
    expectParsed(
      (text) => pageUrl(text).href,
      ['https://a.b/x?y=1#/login', 'https://a.b/x?y=1#/login'],
      ['http://a.b', 'http://a.b/'],
    )
    expectInvalid(
      pageUrl,
      'must not have a stateToken in its query: the broker adds it',
      'https://a.b/?x=1&stateToken=',
    )
    expectInvalid(pageUrl, ABSOLUTE, '/login')
  })

  test('a redirect prefix has an origin and a path without trailing slashes', () => {
    expectParsed(
      redirectPrefix,
      ['https://A.b:443', { origin: 'https://a.b', pathPrefix: '/' }],
      ['https://a.b/home/', { origin: 'https://a.b', pathPrefix: '/home' }],
      ['http://127.0.0.1:8080/', { origin: 'http://127.0.0.1:8080', pathPrefix: '/' }],
    )
    expectInvalid(redirectPrefix, QUERY, 'https://a.b/?x', 'https://a.b/#x')
    expectInvalid(redirectPrefix, DOTS, 'https://a.b/a/../b', 'https://a.b/home//')
    expectInvalid(redirectPrefix, 'must be https; plain http only on loopback', 'http://a.b/')
  })

  test('the egress proxy may have a user, but no path', () => {
    expectParsed(
      proxyUrl,
      ['http://u:p*@proxy:3128', 'http://u:p*@proxy:3128/'],
      ['https://proxy', 'https://proxy/'],
    )
    expectInvalid(
      proxyUrl,
      'must be an http or https URL',
      'socks5://proxy:1080',
      'xhttp://proxy',
      'httpsx://proxy',
    )
    expectInvalid(
      proxyUrl,
      'must have no path and no query',
      'http://proxy/x',
      'http://proxy/?',
      'http://proxy/#x',
    )
    expectInvalid(proxyUrl, WILDCARD, 'http://*.b')
  })

  test.each([
    ['/', false],
    ['/a/b', false],
    ['/a.b/..c/d..', false],
    ['/...', false],
    ['/%2e%2e%2e', false],
    ['.', true],
    ['/.', true],
    ['/..', true],
    ['/a/./b', true],
    ['/a/../b', true],
    ['/%2E%2e/b', true],
    ['/.%2e', true],
    ['/a//b', true],
    ['/a%2Fb', true],
    ['/a%5cb', true],
    ['/a\\b', true],
  ])('the path %s is unsafe: %s', (path, isUnsafe) => {
    expect(hasUnsafePath(path)).toBe(isUnsafe)
  })
})

describe('the same site', () => {
  const PUBLIC = 'https://portal.example.com'
  const OTHER_SITE =
    'is not on the same site as PUBLIC_URL (public suffix list): browsers would not send the cookies'

  test.each([
    [PUBLIC, PUBLIC, undefined],
    ['https://app.example.com:8443', PUBLIC, undefined],
    ['https://example.com', PUBLIC, undefined],
    ['http://localhost:3000', 'http://localhost:8080', undefined],
    ['https://example.org', PUBLIC, OTHER_SITE],
    ['https://a.co.uk', 'https://b.co.uk', OTHER_SITE],
    ['https://a.github.io', 'https://b.github.io', OTHER_SITE],
    ['https://10.0.0.2', 'https://10.0.0.1', OTHER_SITE],
    [
      'http://app.example.com',
      PUBLIC,
      'has another scheme than PUBLIC_URL, so it is another site: browsers would not send the cookies',
    ],
  ])('%s and %s: %s', (origin, publicUrl, reason) => {
    expect(sameSiteProblem(origin, publicUrl)).toBe(reason)
  })
})
