import { describe, expect, test } from '@jest/globals'
import { allowedTarget } from '../../src/authn/hand-over.ts'

const ALLOWED = [
  { origin: 'https://app.example.com', pathPrefix: '/home' },
  { origin: 'https://other.example.com:8443', pathPrefix: '/' },
]
const target = (url: unknown) => allowedTarget(url, ALLOWED)

test.each([
  ['https://app.example.com/home', 'https://app.example.com/home'],
  ['https://app.example.com/home/deep?a=b#c', 'https://app.example.com/home/deep?a=b#c'],
  ['HTTPS://APP.example.com:443/home', 'https://app.example.com/home'],
  ['https://other.example.com:8443', 'https://other.example.com:8443/'],
  ['https://other.example.com:8443/any/path', 'https://other.example.com:8443/any/path'],
  [
    'https://app.example.com/home?next=https://evil.example/',
    'https://app.example.com/home?next=https://evil.example/',
  ],
])('%s is allowed', (given, wanted) => {
  expect(target(given)).toBe(wanted)
})

/** Hosts that look like ours, or are somebody else's altogether. */
const HOSTS = [
  'evil.example',
  'app.example.com.evil.example',
  'evilapp.example.com',
  'app.example.com.',
  'app-example.com',
  'app.example.co',
  'app.example.com@evil.example',
  'user@app.example.com',
  'user:pw@app.example.com',
  ':@app.example.com',
  'app.example.com:80',
  'app.example.com:8443',
  'app.example.com:0443x',
  'other.example.com',
  'other.example.com:443',
  'APP.EXAMPLE.COM.EVIL.EXAMPLE',
  'xn--pp-eka.example.com',
  'аpp.example.com',
  'app。example.com.evil.example',
  'app.example.com%2eevil.example',
  'app.example.com%00.evil.example',
  'app.example.com%2f.evil.example',
  '[::1]',
  '127.0.0.1',
  '0x7f000001',
  '2130706433',
  'localhost',
  'app.example.com#@evil.example',
  'app.example.com?@evil.example',
  'evil.example#app.example.com',
  'evil.example?app.example.com',
]
const PATHS = [
  '/homes',
  '/home2',
  '/HOME',
  '/hom',
  '/',
  '',
  '/other/home',
  '/home/../admin',
  '/home/..',
  '/home/./../admin',
  '/./home/../x',
  '/home/%2e%2e/admin',
  '/home/%2E%2E/admin',
  '/home/.%2e/admin',
  '/home/%2e./admin',
  '/home%2f..%2fadmin',
  '/home%2Fadmin',
  '/home%5cadmin',
  '/home/%252e%252e/admin',
  '/home%25/x',
  '/%68ome',
  '/home\\..\\admin',
  '/home\\@evil.example',
  '/home/\t../admin',
  '/ho\nme',
  '/home\r\n/x',
  '//home',
  '//evil.example/home',
  '/\\evil.example/home',
  '/home;/../admin',
  '/.home',
  '/..home',
  '/home/..;/admin/%2e%2e',
]
const SPELLINGS = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)//https://app.example.com/home',
  'data:text/html,x',
  'data:text/html;base64,eA==',
  'vbscript:x',
  'blob:https://app.example.com/home',
  'file:///home',
  'ftp://app.example.com/home',
  'ws://app.example.com/home',
  'about:blank',
  'mailto:a@b',
  'http://app.example.com/home',
  '//app.example.com/home',
  '/home',
  'home',
  '',
  ' ',
  '?x',
  '#x',
  '\\\\evil.example',
  '/\\evil.example',
  '///evil.example',
  'https:app.example.com/home',
  'https:/app.example.com/home',
  'https:///app.example.com/home',
  'https:\\\\app.example.com\\home',
  'https:/\\app.example.com/home',
  'https://',
  'https:///',
  'https://?',
  'https://#',
  'https://@',
  'https://app.example.com@',
  'https://[app.example.com]/home',
  ' https://app.example.com/home',
  'https://app.example.com/home ',
  '\thttps://app.example.com/home',
  'https://app.example.com/home\n',
  'https://app.example.com/ho me',
  'https://app.example.com/home\u0000',
  'https://app.example.com/home\u007f',
  'https://app.example.com/home\u0085',
  'https://app.exam\tple.com/home',
  'htt\nps://app.example.com/home',
  'https\u0000://app.example.com/home',
  'https://app.example.com/home\\',
  'x:https://app.example.com/home',
  'https://app.example.com/home?a=\r\nSet-Cookie: x=y',
  'https://app.example.com/home#\n',
  `https://app.example.com/home?${'x'.repeat(2048)}`,
  'view-source:https://app.example.com/home',
  'jar:https://app.example.com/home!/',
  'intent://app.example.com/home',
  'https://app.example.com/home?a=\\b',
]
const OTHERS = [
  undefined,
  null,
  7,
  true,
  {},
  [],
  ['https://app.example.com/home'],
  { href: 'https://app.example.com/home' },
]
const TRICKS: unknown[] = [
  ...HOSTS.flatMap((host) => [`https://${host}/home`, `https://${host}/home/x`, `http://${host}/home`]),
  ...PATHS.map((path) => `https://app.example.com${path}`),
  ...SPELLINGS,
  ...OTHERS,
]

describe('tricks', () => {
  test('there are some two hundred of them', () => {
    expect(new Set(TRICKS.map((trick) => JSON.stringify(trick))).size).toBeGreaterThanOrEqual(180)
    expect(TRICKS.length).toBeGreaterThanOrEqual(180)
  })

  test.each(TRICKS.map((trick) => [trick]))('%j leads nowhere', (trick) => {
    expect(target(trick)).toBeUndefined()
  })
})
