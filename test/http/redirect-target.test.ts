import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { allowedReturnTo } from 'gatehouse-client'
import { allowedTarget, returnTarget } from '../../src/http/redirect-target.ts'
import { codePoint } from '../support/code-point.ts'
import { ODD_VALUES, ORIGIN_ATTACKS, REDIRECT_ATTACKS } from '../support/redirect-attacks.ts'

const ALLOWED = [
  { origin: 'https://app.example.com', pathPrefix: '/home' },
  { origin: 'https://other.example.com:8443', pathPrefix: '/' },
]
const LONG = 'x'.repeat(2048)
/** Of which URLs with another origin can be made. */
const SIGNS = '/ \\ // : @ # ? % %2f %5c . ..'.split(' ')
/** Browsers read these as dots, slashes, an at sign, or nothing. */
const LOOKALIKES = [...'\u3002\uff0e\uff61\uff0f\uff3c\u2044\uff20\u00ad\u200d']
const SCHEMES = 'https: http: data:text/html, javascript: blob: //'.split(' ')
const HOSTS = 'evil.example xn--pp-eka.example.com \u0430pp.example.com user:pw@ 127.1 [::1] :8443 :0'.split(
  ' ',
)
const PARTS = [...SIGNS, ...LOOKALIKES, ...SCHEMES, ...HOSTS, '\t', '\n', '\0', LONG]
const AS_URLS = ALLOWED.map(({ origin, pathPrefix }) => origin + pathPrefix)
/** The broker's check, and the client's for pages. */
const target = (url: unknown) => {
  const [href, inPage] = [allowedTarget(url, ALLOWED), allowedReturnTo(url, AS_URLS)]
  expect(inPage).toBe(href)
  return href
}

test.each([
  ['https://app.example.com/home', 'https://app.example.com/home'],
  ['https://app.example.com/home/deep?a=b#c', 'https://app.example.com/home/deep?a=b#c'],
  ['HTTPS://APP.example.com:443/home', 'https://app.example.com/home'],
  ['https://other.example.com:8443', 'https://other.example.com:8443/'],
  ['https://other.example.com:8443/any/path', 'https://other.example.com:8443/any/path'],
  ['https://app.example.com/home/.well-known/a..b/c.d', 'https://app.example.com/home/.well-known/a..b/c.d'],
  ['https://other.example.com:8443/a%2Fb/50%25/../c//d', 'https://other.example.com:8443/a%2Fb/c//d'],
  ['https://app.example.com/home/a%20b;c=d', 'https://app.example.com/home/a%20b;c=d'],
  ['https://app.example.com/home/gr%C3%BC%C3%9Fe', 'https://app.example.com/home/gr%C3%BC%C3%9Fe'],
  [
    'https://app.example.com/home?next=https://evil.example/',
    'https://app.example.com/home?next=https://evil.example/',
  ],
])('%s is allowed', (given, wanted) => {
  expect(target(given)).toBe(wanted)
})

test('a target may have 2,048 characters, also percent-encoded', () => {
  const longest = `https://app.example.com/home?x=${'a'.repeat(2048 - 31)}`
  expect(target(longest)).toBe(longest)
  expect(target(`${longest}a`)).toBeUndefined()
  expect(target(`https://app.example.com/home?x=${'\u00fc'.repeat(400)}`)).toBeUndefined()
})

const PORTAL = { origin: 'https://portal.example.com', pathPrefix: '/' }
const TARGETS = [PORTAL, ...ALLOWED, { origin: 'https://app.example.com', pathPrefix: '/home/deep' }]
const returnTo = (given: unknown) => returnTarget(given, TARGETS, PORTAL.origin)

test.each([
  ['/reports?x=1#y', 'https://portal.example.com/reports?x=1#y'],
  ['/', 'https://portal.example.com/'],
  ['/a/https://evil.example/', 'https://portal.example.com/a/https://evil.example/'],
  ['https://app.example.com/home?x=1', 'https://app.example.com/home?x=1'],
  // what parsers could read in different ways, or is too long: the longest entry
  ['/reports\\x', 'https://portal.example.com/'],
  [`/reports?x=${LONG}`, 'https://portal.example.com/'],
  ['/\\evil.example/', 'https://portal.example.com/'],
  ['/\t/evil.example/', 'https://portal.example.com/'],
  ['https://app.example.com/home/..%2fadmin', 'https://app.example.com/home'],
  ['https://app.example.com/home/%c0%ae/', 'https://app.example.com/home'],
  ['https://app.example.com/home/50%25', 'https://app.example.com/home'],
  ['https://app.example.com/home\\x', 'https://app.example.com/home'],
  ['HTTPS://App.Example.com/home/a b', 'https://app.example.com/home'],
  [`https://app.example.com/home/deep?x=${LONG}`, 'https://app.example.com/home/deep'],
  [`https://app.example.com/home/deeper/${LONG}`, 'https://app.example.com/home'],
  [`https://other.example.com:8443?${LONG}`, 'https://other.example.com:8443/'],
  // another address
  [`https://app.example.com/homes?x=${LONG}`, undefined],
  [`https://app.example.com:8443/home?x=${LONG}`, undefined],
  [`https://app.example.com.evil.example/home?x=${LONG}`, undefined],
  [`https://app.example.com@evil.example/home?x=${LONG}`, undefined],
  ['https://app.example.com/admin', undefined],
  ['//app.example.com/home', undefined],
  ['reports', undefined],
])('%.60s: a browser returns to %s', (given, wanted) => {
  expect(returnTo(given)).toBe(wanted)
})

const isHarmless = (href: string | undefined) =>
  href === undefined || /^https:\/\/portal\.example\.com\/|^https:\/\/app\.example\.com\/home$/.test(href)

// shows: V3.7.2
test('no trick leads a browser that returns to another address than the configured ones', () => {
  const tricks = [...REDIRECT_ATTACKS, ...ODD_VALUES]
  const paths = REDIRECT_ATTACKS.map((trick) => `/${trick}`)
  for (const trick of [...tricks, ...paths, ...REDIRECT_ATTACKS.map((one) => one + LONG)]) {
    const href = returnTo(trick)
    expect([trick, href, isHarmless(href)]).toEqual([trick, href, true])
  }
})

test('whatever comes before or after an allowed entry, the origin is an allowed one', () => {
  const parts = [...PARTS, ...TARGETS.flatMap(({ origin, pathPrefix }) => [origin, pathPrefix])]
  const piece = fc.oneof(fc.constantFrom(...parts), fc.string({ unit: codePoint, maxLength: 3 }))
  const origins = new Set(TARGETS.map(({ origin }) => origin))
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const given = pieces.join('')
      const [href, inPage] = [returnTo(given), allowedReturnTo(given, [...origins])]
      for (const one of [href, inPage])
        if (one !== undefined) expect(origins).toContain(new URL(one, 'https://evil.example').origin)
    }),
    { numRuns: 6000 },
  )
})

describe('tricks', () => {
  // shows: V3.7.2
  test.each([...REDIRECT_ATTACKS, ...ODD_VALUES].map((trick) => [trick]))('%j is not allowed', (trick) => {
    expect(target(trick)).toBeUndefined()
  })
})

test('where a whole origin is allowed, no trick leads to another one', () => {
  const WHOLE = [{ origin: 'https://app.example.com', pathPrefix: '/' }]
  expect(ORIGIN_ATTACKS.length).toBeGreaterThan(400)
  for (const trick of ORIGIN_ATTACKS) {
    const targets = [allowedTarget(trick, WHOLE), allowedReturnTo(trick, ['https://app.example.com'])]
    const [href] = targets
    const isHarmless = href === undefined || href.startsWith('https://app.example.com/')
    expect([trick, isHarmless, targets]).toEqual([trick, true, [href, href]])
  }
})
