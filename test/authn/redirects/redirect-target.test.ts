import { describe, expect, test } from '@jest/globals'
import { allowedReturnTo } from 'gatehouse-client'
import { allowedTarget } from '../../../src/authn/redirects/redirect-target.ts'

import { ODD_VALUES, ORIGIN_ATTACKS, REDIRECT_ATTACKS } from '../../support/redirect-attacks.ts'

const ALLOWED = [
  { origin: 'https://app.example.com', pathPrefix: '/home' },
  { origin: 'https://other.example.com:8443', pathPrefix: '/' },
]
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
