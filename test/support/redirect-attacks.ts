/**
 * Targets that are not allowed where https://app.example.com/home is, or https://app.example.com as
 * a whole.
 */
const OTHER_HOSTS = ['evil.example', 'app.example.com.evil.example', 'evilapp.example.com', '[::ffff:7f00:1]']
const CONTROL_CHARACTERS = Array.from({ length: 0xa0 }, (_, code) => code)
  .filter((code) => code < 0x20 || code > 0x7e)
  .map((code) => String.fromCharCode(code))
/** Between the parts of a URL, each of these makes some parsers read another host. */
const SEPARATORS = [
  ...'@ :@ #@ ?@ %40 %23@ %3f@ \\ \\@ %5c /\\ ;@ , %2f %00 %0d%0a'.split(' '),
  '\uff0f',
  '\uff0e',
  '\u3002',
  '\u2044',
  '\uff20',
  '\uff03',
  '\ufe56',
  '\u00ad',
  '\u200b',
  '.\u0301',
]
const SCHEMES = [
  'javascript:',
  'data:text/html,',
  'vbscript:',
  'file:',
  'ftp:',
  'ws:',
  'wss:',
  'blob:',
  'view-source:',
  'about:',
  'intent:',
  'ms-word:',
  'http%3a',
  'https%3A',
  'hxxps:',
  'https',
  '',
  ':',
  'https:https:',
]
/** Forms without a scheme, which browsers read as another host or as a path of this one. */
const RELATIVE = [...'// /// //// /\\ \\/ \\\\ /%2f /%5c .// ..// @ ? #'.split(' '), '/\t/', '\t//']
const PORTS = '80 444 8443 0 00444 65536 443.evil.example 443@evil.example -443 0x1bb'.split(' ')
export const ORIGIN_ATTACKS: readonly string[] = [
  ...SEPARATORS.flatMap((sign) => [
    `https://app.example.com${sign}evil.example/home`,
    `https://evil.example${sign}app.example.com/home`,
    `https:${sign}//app.example.com/home`,
  ]),
  ...SCHEMES.flatMap((scheme) => [
    `${scheme}//app.example.com/home`,
    `${scheme}//evil.example#app.example.com`,
  ]),
  ...RELATIVE.flatMap((start) => [`${start}app.example.com/home`, `${start}evil.example/home`]),
  ...PORTS.map((port) => `https://app.example.com:${port}/home`),
  ...OTHER_HOSTS.flatMap((host) => [
    `https://${host}`,
    `https://${host}/home#https://app.example.com/home`,
    `https://${host}/https://app.example.com/home`,
    `https://${host}?https://app.example.com/home`,
    `https://${host}/%2e%2e/app.example.com/home`,
    `https://app.example.com@${host}/home`,
  ]),
  ...CONTROL_CHARACTERS.flatMap((sign) => [
    `${sign}https://app.example.com/home`,
    `java${sign}script:alert(1)`,
    `https:/${sign}/evil.example/home`,
    `https://app.example.com${sign}.evil.example/home`,
    `https://app.example.com/home${sign}`,
  ]),
]

/** Hosts that look like the allowed one, and other hosts. */
const HOSTS = [
  ...'evil.example app.example.com.evil.example evilapp.example.com app.example.com. user@app.example.com'.split(
    ' ',
  ),
  ...'app.example.com@evil.example app.example.com:80 app.example.com:8443 other.example.com'.split(' '),
  ...'APP.EXAMPLE.COM.EVIL.EXAMPLE xn--pp-eka.example.com аpp.example.com app。example.com.evil.example'.split(
    ' ',
  ),
  ...'app.example.com%2eevil.example app.example.com%00.evil.example app.example.com%2f.evil.example'.split(
    ' ',
  ),
  ...'[::1] 127.0.0.1 app.example.com#@evil.example app.example.com?@evil.example'.split(' '),
]
const PATHS = [
  ...'/homes /HOME / /home/../admin /home/.. /home/%2e%2e/admin /home%2f..%2fadmin /home%5cadmin'.split(' '),
  ...'/home/%252e%252e/admin /%68ome /home\\..\\admin /home\\@evil.example //home //evil.example/home'.split(
    ' ',
  ),
  ...'/\\evil.example/home /home;/../admin /home/..;/admin /home/..%3b/admin /home/..%00/admin'.split(' '),
  ...'/home/..%0d%0a/admin /home/%c0%ae%c0%ae/admin /home/%u002e%u002e/admin /home/．．/admin'.split(' '),
  '/home／..／admin',
  '/home/\t../admin',
  '/ho\nme',
  '/home\r\n/x',
]
const SPELLINGS = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)//https://app.example.com/home',
  'data:text/html,x',
  'blob:https://app.example.com/home',
  'file:///home',
  'ftp://app.example.com/home',
  'http://app.example.com/home',
  '//app.example.com/home',
  '/home',
  '\\\\evil.example',
  '/\\evil.example',
  'https:app.example.com/home',
  'https:///app.example.com/home',
  'https:\\\\app.example.com\\home',
  'https:/\\app.example.com/home',
  'https://',
  'https://app.example.com@',
  'https://[app.example.com]/home',
  ' https://app.example.com/home',
  '\thttps://app.example.com/home',
  'https://app.example.com/home\n',
  'https://app.example.com/ho me',
  'https://app.example.com/home\u0000',
  'https://app.example.com/home\u007f',
  'https://app.exam\tple.com/home',
  'https://app.example.com/home\\',
  'x:https://app.example.com/home',
  'https://app.example.com/home?a=\r\nSet-Cookie: x=y',
  `https://app.example.com/home?${'x'.repeat(2048)}`,
  'https://app.example.com/home?a=\\b',
]
/** Values that query parsers may produce. */
const HOME = 'https://app.example.com/home'
export const ODD_VALUES = [undefined, null, 7, true, {}, [], [HOME], { href: HOME }]
export const REDIRECT_ATTACKS: readonly string[] = [
  ...HOSTS.flatMap((host) => [
    `https://${host}/home`,
    `https://${host}/home/x`,
    `http://${host}/home`,
    `//${host}/home`,
  ]),
  ...ORIGIN_ATTACKS,
  ...PATHS.map((path) => `https://app.example.com${path}`),
  ...SPELLINGS,
]

/**
 * For tests over HTTP; the test of the rule itself has all. Seven shares no factor with the number
 * of forms above, so each host, sign and scheme is met in some form, and each form with some.
 */
export const SOME_REDIRECT_ATTACKS = REDIRECT_ATTACKS.filter((_, index) => index % 7 === 0)
