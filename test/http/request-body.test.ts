import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from '@jest/globals'
import { temporarilyUnavailable } from '../../src/errors.ts'
import { bodyParser } from '../../src/http/request-body.ts'
import type { Route } from '../../src/http/routes.ts'
import { countBodies, type UnfinishedBody } from '../../src/http/unfinished-bodies.ts'
import { until } from '../support/until.ts'
import { type Ask, keeper, serve } from './serve.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const LIMIT = 1000
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
      before: [bodyParser({ limitBytes: LIMIT })],
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
    ['a number', '17'],
    ['a string', '"very-secret"'],
    ['true', 'true'],
    ['white space', '   '],
    ['two objects', '{}{}'],
    ['a trailing comma', '{"a":1,}'],
    ['single quotes', "{'a':1}"],
    ['a comment', '{"a":1}//x'],
    ['NaN', '{"a":NaN}'],
    ['a raw line break in a string', '{"a":"x\ny"}'],
    ['a form', 'username=a&password=very-secret'],
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
  const refusal = error('E0000001', 'body: larger than 1000 bytes')

  test('with a Content-Length', async () => {
    const answer = await send({ headers: JSON_TYPE, body: large })
    expect([answer.status, handled]).toEqual([413, 0])
    expect(answer.json).toEqual(refusal)
  })

  test('in chunks', async () => {
    const answer = await send({ headers: JSON_TYPE, body: large, chunked: true })
    expect([answer.status, handled]).toEqual([413, 0])
    expect(answer.json).toEqual(refusal)
  })

  test('a Content-Length of gigabytes is refused before the body is sent', async () => {
    const { raw } = keep(await serve({ before: [bodyParser({ limitBytes: LIMIT })], routes: [echo('POST')] }))
    const answer = await raw(
      'POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n' +
        'Content-Length: 9999999999\r\n\r\n{',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
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
    ['multipart', { 'Content-Type': 'multipart/form-data; boundary=x' }],
    ['text, which a page can send without a preflight', { 'Content-Type': 'text/plain' }],
    ['text with JSON in a parameter', { 'Content-Type': 'text/plain; application/json' }],
    ['a type that begins like JSON', { 'Content-Type': 'application/jsonx' }],
    ['JSON of another kind', { 'Content-Type': 'application/json-patch+json' }],
    ['two types', { 'Content-Type': 'application/json, text/plain' }],
    ['another charset', { 'Content-Type': 'application/json; charset=iso-8859-1' }],
    ['UTF-16', { 'Content-Type': 'application/json; charset=utf-16' }],
    ['UTF-7', { 'Content-Type': 'application/json; charset=utf-7' }],
    ['two charsets', { 'Content-Type': 'application/json; charset=utf-8; charset=utf-16' }],
    ['gzip', { ...JSON_TYPE, 'Content-Encoding': 'gzip' }],
    ['br', { ...JSON_TYPE, 'Content-Encoding': 'br' }],
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
    const findRoutes = (path: string) => (path === '/echo' ? ({ encoding: 'form' } as const) : undefined)
    const { ask: to } = keep(
      await serve({ before: [bodyParser({ limitBytes: LIMIT, findRoutes })], routes: [echo('POST')] }),
    )
    return to({ method: 'POST', path: '/echo', ...ask })
  }

  test.each(['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded; charset=UTF-8'])(
    '%s is parsed into strings',
    async (type) => {
      const body = 'sig_response=AUTH%7Ca%2Bb%7Cc%3AAPP%7Cd&id=1&a.b%5Bc%5D=x+y&__proto__=z'
      const answer = await formPath({ headers: { 'Content-Type': type }, body })
      expect(answer.text).toBe(
        '{"body":{"sig_response":"AUTH|a+b|c:APP|d","id":"1","a.b[c]":"x y","__proto__":"z"}}',
      )
    },
  )

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

  test.each([
    'application/json',
    'Application/JSON',
    'application/json;charset=UTF-8',
    'application/json; charset=utf-8',
    'application/json; charset="utf-8"',
    'application/json ; charset=utf-8 ;',
    'application/json;',
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

  test('an empty chunked body', async () => {
    const answer = await send({ headers: { ...JSON_TYPE, 'Transfer-Encoding': 'chunked' } })
    expect([answer.status, bodyOf(answer.json)]).toEqual([200, {}])
  })

  test('a byte order mark before the object', async () => {
    const answer = await send({ headers: JSON_TYPE, body: '\uFEFF{"a":1}' })
    expect([answer.status, bodyOf(answer.json)]).toEqual([200, { a: 1 }])
  })

  test('strings are unchanged: spaces, NUL, emoji, combining marks, a byte order mark, a lone surrogate', async () => {
    const password = '  pä\u0000ß😀e\u0301\u2028\ufeff\ud800 '
    const answer = await send({ headers: JSON_TYPE, body: JSON.stringify({ password }) })
    expect(bodyOf(answer.json)).toEqual({ password })
  })

  test('deep nesting is parsed', async () => {
    const deep = `${'{"a":'.repeat(160)}1${'}'.repeat(160)}`
    expect((await send({ headers: JSON_TYPE, body: deep })).text).toBe(`{"body":${deep}}`)
  })

  test('`__proto__` and `constructor` are plain fields and change no object', async () => {
    const body = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
    const answer = await send({ headers: JSON_TYPE, body })
    expect(answer.text).toBe(`{"body":${body}}`)
    expect({}).not.toHaveProperty('polluted')
  })

  test('the body of GET and HEAD is ignored', async () => {
    const ask = { headers: { 'Content-Type': 'text/plain' }, body: 'x' }
    const answer = await send({ method: 'GET', ...ask })
    expect([answer.status, bodyOf(answer.json)]).toEqual([200, 'none'])
    expect((await send({ method: 'HEAD', ...ask })).status).toBe(200)
  })

  test('an object in many chunks', async () => {
    const text = JSON.stringify({ a: 'x'.repeat(400), b: 'ä'.repeat(200) })
    const pieces = [...Buffer.from(text)].map((byte) =>
      Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]),
    )
    const { raw } = keep(await serve({ before: [bodyParser({ limitBytes: LIMIT })], routes: [echo('POST')] }))
    const head =
      'POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    const received = await raw(Buffer.concat([Buffer.from(head), ...pieces, Buffer.from('0\r\n\r\n')]))
    expect(received).toMatch(/^HTTP\/1\.1 200 /)
    expect(received).toContain(`{"body":${text}}`)
  })
})

describe('an incomplete body counts', () => {
  const head = (length: string) =>
    `POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${length}\r\n\r\n`
  const TEN_BYTES = head('Content-Length: 10')
  const IN_CHUNKS = head('Transfer-Encoding: chunked')

  /** Sends a request and returns the counted size of its body. */
  async function sending(text: string) {
    handled = 0
    const counted: UnfinishedBody[] = []
    let removed = 0
    const bodies = {
      add: (body: UnfinishedBody) => counted.push(body),
      resize: () => undefined,
      remove() {
        removed += 1
      },
    }
    const { port } = keep(
      await serve({
        before: [countBodies(bodies), bodyParser({ limitBytes: LIMIT })],
        routes: [echo('POST')],
      }),
    )
    const socket = connect(port, '127.0.0.1')
    keep({ close: () => socket.destroy() })
    let received = ''
    socket.on('data', (data: Buffer) => {
      received += data.toString()
    })
    await once(socket, 'connect')
    socket.write(text)
    await until(() => counted.length === 1)
    return { body: counted[0], removed: () => removed, received: () => received, socket }
  }

  test('with its Content-Length, until it is complete', async () => {
    const { body, removed, received, socket } = await sending(`${TEN_BYTES}{"a":`)
    const without = (await sending(`${head('Content-Length: 5')}{`)).body
    expect(body?.address).toBe('127.0.0.1')
    expect((body?.bytes ?? 0) - (without?.bytes ?? 0)).toBe(5 + 1) // the header has one digit less
    expect(removed()).toBe(0)
    socket.write('"b" }')
    await until(() => received().includes('{"body":{"a":"b"}}'))
    expect(removed()).toBeGreaterThan(0)
  })

  test('with the received bytes if it is chunked, also after its refusal', async () => {
    const { body, removed, received, socket } = await sending(`${IN_CHUNKS}5\r\n{"a":\r\n`)
    expect(body?.bytes).toBeGreaterThan(0)
    expect(body?.bytes).toBeLessThan(LIMIT)
    socket.write(`${LIMIT.toString(16)}\r\n${'x'.repeat(LIMIT)}\r\n`)
    await until(() => received().startsWith('HTTP/1.1 413 '))
    expect(removed()).toBe(0)
    socket.write('0\r\n\r\n')
    await until(() => removed() > 0)
  })

  test('until its client disconnects', async () => {
    const { removed, socket } = await sending(`${TEN_BYTES}{`)
    socket.destroy()
    await until(() => removed() > 0)
    expect(handled).toBe(0)
  })

  test('until it is evicted: the client gets that error, and the rest is not read', async () => {
    const { body, removed, received, socket } = await sending(`${TEN_BYTES}{"a":`)
    body?.evict(temporarilyUnavailable(7))
    await until(() => received().startsWith('HTTP/1.1 503 '))
    expect(removed()).toBeGreaterThan(0)
    socket.write('"b" }GET /echo HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => received().includes('HTTP/1.1 405 '))
    expect(received().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 503', 'HTTP/1.1 405'])
    expect(handled).toBe(0)
  })
})
