import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import { parseCookie } from 'cookie'
import fc from 'fast-check'
import { readCookie } from '../../src/http/cookies.ts'

const read = readCookie('gatehouse')

function requestWith(cookie?: string): IncomingMessage {
  const req = new IncomingMessage(new Socket())
  if (cookie !== undefined) req.headers.cookie = cookie
  return req
}

// shows: V15.3.7
test.each([
  [undefined, undefined],
  ['', undefined],
  ['gatehouse', undefined],
  ['gatehouse=', ''],
  ['gatehouse=a%20b', 'a b'],
  ['other=1; gatehouse=a; gatehouse=b', 'a'],
  ['other=1;\tgatehouse = "a" ;x=y', '"a"'],
  ['gatehouse-device=1; xgatehouse=2; x gatehouse=3; other=gatehouse=4', undefined],
  ['no value; gatehouse=a=b', 'a=b'],
])('in %j the cookie is %j', (header, value) => {
  expect(read(requestWith(header))).toBe(value)
})

test('the result is that of a parser of the whole header', () => {
  const part = fc.constantFrom('gatehouse', '=', ';', ' ', '\t', 'a', '%41', '%', '"', '-')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
      const header = parts.join('')
      expect(read(requestWith(header))).toBe(parseCookie(header).gatehouse)
    }),
  )
})
