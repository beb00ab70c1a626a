import { createHmac, hkdfSync } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from '@jest/globals'
import { createSessionCookie, type SessionCookieOptions } from '../../src/session/session-cookie.ts'

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const cookieWith = (changed: Partial<SessionCookieOptions> = {}) =>
  createSessionCookie({ masterKeys: [OLD], secure: true, sameSite: 'lax', ...changed })
const cookie = cookieWith()
/** As a browser sends it. */
const pairOf = (setCookie: string) => setCookie.split(';')[0] ?? ''
const requestWith = (...pairs: string[]) =>
  ({ headers: pairs.length === 0 ? {} : { cookie: pairs.join('; ') } }) as IncomingMessage

const [ONE, OTHER] = [pairOf(cookie.setCookie('one')), pairOf(cookie.setCookie('other'))]
/** What the other setting of DEVICE_BOUND_SESSIONS has set. */
const HTTP = pairOf(cookieWith({ httpOnlyPrefix: true }).setCookie('http'))
const renamed = (pair: string) => pair.replace('__Host-', '__Host-Http-')

// shows: V3.3.1, V3.3.2, V3.3.3
test.each<[string, Partial<SessionCookieOptions>, string]>([
  ['over https', {}, '__Host-gatehouse=VALUE; Path=/; HttpOnly; Secure; SameSite=Lax'],
  ['over http', { secure: false }, 'gatehouse=VALUE; Path=/; HttpOnly; SameSite=Lax'],
  [
    'with bound sessions',
    { httpOnlyPrefix: true },
    '__Host-Http-gatehouse=VALUE; Path=/; HttpOnly; Secure; SameSite=Lax',
  ],
  [
    'with SameSite=Strict',
    { sameSite: 'strict' },
    '__Host-gatehouse=VALUE; Path=/; HttpOnly; Secure; SameSite=Strict',
  ],
])('%s, the cookie is set and deleted with the same attributes', (_how, options, expected) => {
  const { setCookie, clearCookie } = cookieWith(options)
  expect(setCookie('one').replace(/=s%3Aone\.[^;]{43,}/, '=VALUE')).toBe(expected)
  expect(clearCookie()).toBe(expected.replace('VALUE', '').replace('; Path', '; Max-Age=0; Path'))
})

describe('the id in a request', () => {
  test.each<[string, string[], string | undefined]>([
    ['with the cookie', [ONE], 'one'],
    ['with other cookies too', ['a=b', ONE, 'c=d'], 'one'],
    ['with the cookie under its other name', [HTTP], 'http'],
    ['with the cookie under both names', [HTTP, ONE], 'one'],
    ['with a forged one under the other name', [ONE, `${HTTP}A`], 'one'],
    ['with a forged one under its own name', [`${ONE}A`, HTTP], 'http'],
    ['with forged ones under both names', [`${ONE}A`, `${HTTP}A`], undefined],
    ['without the cookie', [], undefined],
    ['with an empty cookie', ['__Host-gatehouse='], undefined],
    ['with an id that is not signed', ['__Host-gatehouse=s%3Aone'], undefined],
    ['with the signature of another id', [ONE.replace('one.', 'two.')], undefined],
    ['with a signed id in another format', [ONE.replace('=s%3A', '=j%3A')], undefined],
    ['with a signed id without a format', [ONE.replace('=s%3A', '=')], undefined],
    [
      'with the cookie of an unknown key',
      [pairOf(cookieWith({ masterKeys: [NEW] }).setCookie('one'))],
      undefined,
    ],
  ])('%s', (_what, pairs, expected) => {
    expect(cookie.idIn(requestWith(...pairs))).toBe(expected)
  })

  test('is read with every configured key, and signed with the newest', () => {
    const rotated = cookieWith({ masterKeys: [NEW, OLD] })
    expect(rotated.idIn(requestWith(ONE))).toBe('one')
    const again = requestWith(pairOf(rotated.setCookie('again')))
    expect([cookie.idIn(again), cookieWith({ masterKeys: [NEW] }).idIn(again)]).toEqual([undefined, 'again'])
  })
})

test('an upgrade signs nobody out: every version signs with the same derived key', () => {
  const key = Buffer.from(hkdfSync('sha256', OLD, '', 'gatehouse/v1/sign/session-cookie', 32))
  const signature = createHmac('sha256', key.toString('base64url')).update('one').digest('base64')
  const value = encodeURIComponent(`s:one.${signature.replace(/=+$/, '')}`)
  expect(ONE).toBe(`__Host-gatehouse=${value}`)
})

test.each<[string, string[], string | undefined]>([
  ['its own name', [ONE], '__Host-gatehouse'],
  ['the other name', [renamed(ONE)], '__Host-Http-gatehouse'],
  ['both, the first of which is signed', [OTHER, renamed(ONE)], '__Host-gatehouse'],
  ['both, and only the second is signed', [`${OTHER}A`, renamed(ONE)], '__Host-Http-gatehouse'],
  ['both, and neither is signed', [`${OTHER}A`, renamed(`${ONE}A`)], '__Host-gatehouse'],
  ['no name', [], undefined],
])('of a request that has the cookie under %s, the name is found', (_what, pairs, expected) => {
  expect(cookie.nameIn(requestWith(...pairs))).toBe(expected)
})

test('the cookie is present whatever its value and under either name', () => {
  const present = (...pairs: string[]) => cookie.isPresent(requestWith(...pairs))
  expect([present('__Host-gatehouse=x'), present('__Host-Http-gatehouse=x')]).toEqual([true, true])
  expect([present(), present('other=x'), present('gatehouse=x')]).toEqual([false, false, false])
})

test('under the other name, the cookie is deleted if the request has it', () => {
  const deletion = '__Host-Http-gatehouse=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax'
  expect(cookie.clearOthers(requestWith(ONE, HTTP))).toEqual([deletion])
  expect(cookie.clearOthers(requestWith('__Host-Http-gatehouse=x'))).toEqual([deletion])
  expect(cookie.clearOthers(requestWith(ONE))).toEqual([])
})
