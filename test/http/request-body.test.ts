import { describe, expect, test } from '@jest/globals'
import { bodyParser } from '../../src/http/body-parser.ts'
import type { Route } from '../../src/http/route.ts'
import type { Ask } from '../support/ask-port.ts'
import { useKeeper } from '../support/keeper.ts'
import { serve } from './serve.ts'

const keep = useKeeper()

const LIMIT = 65_536
let handled = 0
const echo = (method: Route['method']): Route => ({
  method,
  path: '/echo',
  handle(req, res) {
    handled += 1
    res.type('application/json').send(JSON.stringify({ body: req.body ?? 'none' }))
  },
})

async function send(ask: Ask) {
  handled = 0
  const { ask: to } = keep(
    await serve({
      before: [bodyParser()],
      routes: [echo('GET'), echo('POST'), echo('DELETE')],
    }),
  )
  return to({ method: 'POST', path: '/echo', ...ask })
}
const JSON_TYPE = { 'Content-Type': 'application/json' }

const error = (errorCode: string, cause: string) =>
  expect.objectContaining({
    errorCode,
    errorLink: errorCode,
    errorId: expect.any(String),
    errorCauses: [{ errorSummary: cause }],
  })

describe('not JSON: 400 E0000003', () => {
  test.each<[string, string | Buffer]>([
    ['text', 'very-secret'],
    ['a truncated object', '{"password":"very-secret'],
    ['an array', '[{"a":1}]'],
    ['null', 'null'],
    ['white space', '   '],
    ['UTF-16', Buffer.from('\uFEFF{"a":1}', 'utf16le')],
    [
      'bytes that are not UTF-8',
      Buffer.from([...Buffer.from('{"password":"'), 0xff, 0xfe, ...Buffer.from('"}')]),
    ],
    ['overlong UTF-8', Buffer.from([...Buffer.from('{"a":"'), 0xc0, 0xaf, ...Buffer.from('"}')])],
    ['deeply nested arrays', '['.repeat(900)],
  ])('%s', async (_name, body) => {
    const answer = await send({ headers: JSON_TYPE, body })
    expect([answer.status, handled]).toEqual([400, 0])
    expect(answer.json).toEqual(error('E0000003', 'body: not a JSON object'))
    expect(answer.text).not.toContain('secret')
  })
})

describe('too large: 413 E0000001', () => {
  const large = JSON.stringify({ a: 'x'.repeat(LIMIT) })
  const refusal = error('E0000001', 'body: larger than 65536 bytes')

  test.each([false, true])('with a Content-Length, or in chunks: %j', async (chunked) => {
    const answer = await send({ headers: JSON_TYPE, body: large, chunked })
    expect([answer.status, handled]).toEqual([413, 0])
    expect(answer.json).toEqual(refusal)
  })

  test('one byte less is accepted, counted in bytes and not in characters', async () => {
    const fits = `{"a":"${'ä'.repeat((LIMIT - 8) / 2)}"}`
    expect(Buffer.byteLength(fits)).toBe(LIMIT)
    expect((await send({ headers: JSON_TYPE, body: fits })).status).toBe(200)
    expect((await send({ headers: JSON_TYPE, body: `${fits} ` })).status).toBe(413)
  })
})

describe('wrong content type: 415 E0000021', () => {
  test.each<[string, Record<string, string>]>([
    ['none', {}],
    ['form', { 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['text, which a page can send without a preflight', { 'Content-Type': 'text/plain' }],
    ['text with JSON in a parameter', { 'Content-Type': 'text/plain; application/json' }],
    ['a type that begins like JSON', { 'Content-Type': 'application/jsonx' }],
    ['two types', { 'Content-Type': 'application/json, text/plain' }],
    ['another charset', { 'Content-Type': 'application/json; charset=iso-8859-1' }],
    ['another charset that begins like UTF-8', { 'Content-Type': 'application/json; charset=utf80' }],
    ['UTF-16', { 'Content-Type': 'application/json; charset=utf16' }],
    ['gzip', { ...JSON_TYPE, 'Content-Encoding': 'gzip' }],
    ['an unknown encoding', { ...JSON_TYPE, 'Content-Encoding': 'x-own' }],
  ])('%s', async (_name, headers) => {
    const answer = await send({ headers, body: '{"a":1}' })
    expect([answer.status, handled]).toEqual([415, 0])
    expect(answer.json).toEqual(error('E0000021', 'Content-Type: must be application/json in UTF-8'))
  })

  test('DELETE with a body has the same rules', async () => {
    const answer = await send({ method: 'DELETE', headers: { 'Content-Type': 'text/plain' }, body: 'x' })
    expect(answer.status).toBe(415)
  })
})

describe('a route with the encoding form', () => {
  const FORM_TYPE = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const formPath = async (ask: Ask) => {
    handled = 0
    const readBody = bodyParser('form')
    const { ask: to } = keep(await serve({ before: [readBody], routes: [echo('POST')] }))
    return to({ method: 'POST', path: '/echo', ...ask })
  }

  test.each([
    'application/x-www-form-urlencoded',
    'application/x-www-form-urlencoded; charset=UTF-8',
    'application/x-www-form-urlencoded; charset=utf8',
  ])('%s is parsed into strings', async (type) => {
    const body = 'sig_response=AUTH%7Ca%2Bb%7Cc%3AAPP%7Cd&id=1&a.b%5Bc%5D=x+y'
    const answer = await formPath({ headers: { 'Content-Type': type }, body })
    expect(answer.text).toBe('{"body":{"sig_response":"AUTH|a+b|c:APP|d","id":"1","a.b[c]":"x y"}}')
  })

  // shows
  test.each<[string, Record<string, string>]>([
    ['JSON', JSON_TYPE],
    ['none', {}],
    ['another charset', { 'Content-Type': 'application/x-www-form-urlencoded; charset=iso-8859-1' }],
    ['multipart', { 'Content-Type': 'multipart/form-data; boundary=x' }],
    ['gzip', { ...FORM_TYPE, 'Content-Encoding': 'gzip' }],
  ])('%s is 415', async (_, headers) => {
    const answer = await formPath({ headers, body: 'a=1' })
    expect([answer.status, handled]).toEqual([415, 0])
    expect(answer.json).toEqual(
      error('E0000021', 'Content-Type: must be application/x-www-form-urlencoded in UTF-8'),
    )
  })

  test('too many bytes are 413, and bytes that are not UTF-8 are 400', async () => {
    const body = `a=${'x'.repeat(LIMIT)}`
    expect((await formPath({ headers: FORM_TYPE, body })).status).toBe(413)
    expect((await formPath({ headers: FORM_TYPE, body: Buffer.from([0x61, 0x3d, 0xff]) })).status).toBe(400)
    expect(handled).toBe(0)
  })
})

describe('valid bodies', () => {
  const bodyOf = (json: unknown) => (json as { body: unknown }).body // the response of `echo`

  // shows: V3.5.2
  test.each([
    'application/json',
    'Application/JSON',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json ; charset=utf-8 ;',
    'application/json; charset=utf8',
    'application/json;charset=UTF8;okta-version=1.0.0',
    'application/json; CHARSET="utf8"',
    'application/json; okta-version=1.0.0',
    'application/json; charset=utf-8; okta-version=1.0.0',
  ])('content type %j', async (type) => {
    const answer = await send({ headers: { 'Content-Type': type }, body: '{"a":1}' })
    expect([answer.status, bodyOf(answer.json)]).toEqual([200, { a: 1 }])
  })

  test.each<[string, Ask]>([
    ['no body', {}],
    ['length 0', { headers: { 'Content-Length': 0 } }],
    ['length 0 with a content type', { headers: { 'Content-Length': 0, 'Content-Type': 'text/plain' } }],
  ])('an empty body is an empty object: %s', async (_name, ask) => {
    const answer = await send(ask)
    expect([answer.status, bodyOf(answer.json)]).toEqual([200, {}])
  })

  // shows: V1.5.2, V15.3.6
  test('`__proto__` and `constructor` are plain fields and change no object', async () => {
    const body = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
    const answer = await send({ headers: JSON_TYPE, body })
    expect(answer.text).toBe(`{"body":${body}}`)
    expect({}).not.toHaveProperty('polluted')
  })
})
