/** Known open-redirect attacks, against the allowed target https://app.example.com/home. */

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
  ...['/home／..／admin', '/home/\t../admin', '/ho\nme', '/home\r\n/x'],
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
  ...PATHS.map((path) => `https://app.example.com${path}`),
  ...SPELLINGS,
]
