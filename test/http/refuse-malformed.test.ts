import { afterEach, describe, expect, test } from '@jest/globals'
import express from 'express'
import { refuseLongUrl } from '../../src/http/refuse-malformed.ts'
import { keeper, listenFor, rawExchange, serve } from './serve.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

describe('what Node refuses before any of our code sees it', () => {
  test.each([
    ['no HTTP', 'very-secret nonsense\r\n\r\n', 400],
    [
      'two ways to tell the length',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['a header with a control character', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\u0001b\r\n\r\n', 400],
    ['more expected than we do', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: 200-very-secret\r\n\r\n', 417],
    ['headers without end', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
  ])(
    '%s: an Error object, nothing of the request in it, and the connection ends',
    async (_, sent, status) => {
      const { port } = keep(await listenFor(express()))
      const received = await rawExchange(port, sent)
      const [head = '', body = ''] = received.split('\r\n\r\n')
      expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
      expect(head).toMatch(/content-type: application\/json/i)
      expect(head).toMatch(/cache-control: no-store/i)
      expect(JSON.parse(body)).toMatchObject({ errorCode: 'E0000001', errorLink: 'E0000001' })
      expect(received).not.toContain('very-secret')
    },
  )
})

test('what expects 100-continue is told to, and goes on', async () => {
  const served = keep(await serve({}))
  const received = await served.raw(
    'GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-Continue\r\n\r\n',
  )
  expect(received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 404 /)
})

test('what is refused so is answered in its turn, behind what was asked for before', async () => {
  const served = keep(await serve({}))
  const received = await served.raw(
    'GET /none HTTP/1.1\r\nHost: a\r\n\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: x\r\n\r\n{}',
  )
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 417'])
  expect(received).toContain('"errorSummary":"Expect: only 100-continue is understood"')
})

describe('a URL', () => {
  test('that is longer than allowed is 414, and nothing of it stands in the answer or the log', async () => {
    const served = keep(await serve({ before: [refuseLongUrl({ maxUrlBytes: 100 })] }))
    const answer = await served.ask({ path: `/very-secret?${'x'.repeat(100)}` })
    expect(answer.status).toBe(414)
    expect(answer.json).toMatchObject({
      errorCode: 'E0000001',
      errorCauses: [{ errorSummary: 'url: too long' }],
    })
    expect(answer.text + served.logText()).not.toContain('very-secret')
    expect((await served.ask({ path: `/${'x'.repeat(99)}` })).status).toBe(404)
  })
})
