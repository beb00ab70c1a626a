import { describe, expect, test } from '@jest/globals'
import { refuseAmbiguousPath } from '../../src/http/refuse-ambiguous-path.ts'
import type { Route } from '../../src/http/route.ts'
import { rawExchange } from '../support/ask-port.ts'
import { useKeeper } from '../support/keeper.ts'
import { serve } from './serve.ts'

const keep = useKeeper()

async function listener() {
  const seen: unknown[] = []
  const route: Route = {
    method: 'GET',
    path: '/things/:id',
    handle(req, res) {
      seen.push(req.params.id)
      res.json({})
    },
  }
  return { seen, ...keep(await serve({ before: [refuseAmbiguousPath], routes: [route] })) }
}

describe('a path that servers read differently is 400', () => {
  test.each([
    '/things/a%2fb',
    '/things/a%2Fb',
    '/things/%2f',
    '/things%2f1',
    '/things/a%5cb',
    '/things/a%5Cb',
    '/things/a\\b',
    '/things/.',
    '/things/..',
    '/things/./1',
    '/things/../things/1',
    '/./things/1',
    '/..',
    '/things/%2e',
    '/things/%2E%2e',
    '/things/.%2e',
    '/things/%2e.?x=1',
    '/things/%2e%2E/things/1',
    '/things/..#x',
    '/things/1#/../x',
    '/things/..;',
    '/things/..;a=b/1',
    '/unknown/..%2f',
  ])('%s', async (path) => {
    const { raw, seen, logText } = await listener()
    const received = await raw(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    const [head = '', body = ''] = received.split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 400 /)
    const errorId = /^x-request-id: (.+)$/im.exec(head)?.[1]
    expect(JSON.parse(body)).toEqual({
      errorCode: 'E0000001',
      errorSummary: 'Api validation failed: path',
      errorLink: 'E0000001',
      errorId,
      errorCauses: [{ errorSummary: 'path: has an encoded slash, a backslash or a dot segment' }],
    })
    expect(seen).toEqual([])
    expect(logText()).not.toContain(path)
  })
})

describe('other paths pass', () => {
  test.each([
    ['/things/ada%40example.com', 'ada@example.com'],
    ['/things/zo%C3%AB.%E7%8E%8B%40ex%C3%A4mple.test', 'zoë.王@exämple.test'],
    ['/things/a%2eb', 'a.b'],
    ['/things/...', '...'],
    ['/things/..a', '..a'],
    ['/things/a..', 'a..'],
    ['/things/%2e%2e%2e', '...'],
    ['/things/.well-known', '.well-known'],
    ['/things/a%252fb', 'a%2fb'],
    ['/things/a%25', 'a%'],
    ['/things/%2a%3f%23', '*?#'],
    ['/things/%F0%9F%98%80', '😀'],
    ['/things/1?x=a%2fb', '1'],
    ['/things/1?x=a%5cb\\c', '1'],
    ['/things/1?returnTo=https://portal.example.com/../a/./b', '1'],
    ['/things/1?/../%2e%2e/', '1'],
    ['/things/1?', '1'],
  ])('%s', async (path, id) => {
    const { port, seen } = await listener()
    const received = await rawExchange(port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    expect([received.slice(0, 12), seen]).toEqual(['HTTP/1.1 200', [id]])
  })
})
