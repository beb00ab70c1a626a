import { describe, expect, test } from '@jest/globals'
import { parseQuery } from '../../src/http/query.ts'
import type { Route } from '../../src/http/route.ts'
import { useKeeper } from '../support/keeper.ts'
import { serve } from './serve.ts'

const keep = useKeeper()

const seen: unknown[] = []
const route = (method: Route['method'], path: string): Route => ({
  method,
  path,
  handle(req, res) {
    seen.push([method, path, req.params])
    res.json({ method, path })
  },
})

async function listener() {
  seen.length = 0
  const routes = [
    route('GET', '/api/v1/things'),
    route('DELETE', '/api/v1/things'),
    route('POST', '/api/v1/things/:id/verify'),
    { ...route('GET', '/api/v1/once'), withoutHead: true } as const,
  ]
  return keep(await serve({ routes, prepare: (app) => app.set('query parser', parseQuery) }))
}

const notFound = { errorCode: 'E0000007', errorLink: 'E0000007', errorCauses: [] }

describe('a path that does not match exactly is 404', () => {
  test.each([
    '/',
    // shows
    '/api/v2/things',
    '/api/v1/things/',
    '//api/v1/things',
    '/API/v1/things',
    '/api/v1/things/1',
    '/api/v1/things;a=b',
    '/api/v1/x/../things',
    '/api/v1/%74hings',
    '/api/v1%2fthings',
    '/api/v1/things%00',
    '/__proto__',
  ])('%s', async (path) => {
    const { ask } = await listener()
    const answer = await ask({ path })
    expect(answer.status).toBe(404)
    expect(answer.json).toMatchObject({ ...notFound, errorId: answer.headers['x-request-id'] })
    expect(answer.text).not.toContain('things')
    expect(seen).toEqual([])
  })
})

describe('a path that cannot be decoded is 400', () => {
  test.each(['/api/v1/things/%/verify', '/api/v1/things/%ff/verify', '/api/v1/things/%c0%af/verify'])(
    '%s',
    async (path) => {
      const { ask } = await listener()
      const answer = await ask({ method: 'POST', path })
      expect(answer.status).toBe(400)
      expect(answer.json).toMatchObject({
        errorCode: 'E0000001',
        errorId: answer.headers['x-request-id'],
        errorCauses: [{ errorSummary: 'request: malformed' }],
      })
      expect(seen).toEqual([])
    },
  )

  // shows: V1.1.1
  test('an encoded slash does not split a path segment', async () => {
    const { ask } = await listener()
    for (const id of ['%00', '%2f', '%2e%2e', '..', '%3f', '%25', '%F0%9F%98%80']) {
      seen.length = 0
      await ask({ method: 'POST', path: `/api/v1/things/${id}/verify` })
      expect(seen).toEqual([['POST', '/api/v1/things/:id/verify', { id: decodeURIComponent(id) }]])
    }
  })
})

describe('a listed path', () => {
  test.each([
    ['POST', '/api/v1/things', 'GET, HEAD, DELETE'],
    ['PUT', '/api/v1/things', 'GET, HEAD, DELETE'],
    ['OPTIONS', '/api/v1/things', 'GET, HEAD, DELETE'],
    ['GET', '/api/v1/things/1/verify', 'POST'],
    ['HEAD', '/api/v1/things/1/verify', 'POST'],
    ['HEAD', '/api/v1/once', 'GET'],
  ])('with another method (%s %s) is 405 with Allow', async (method, path, allow) => {
    const { ask } = await listener()
    const answer = await ask({ method, path })
    expect([answer.status, answer.headers.allow]).toEqual([405, allow])
    if (method !== 'HEAD') expect(answer.json).toMatchObject({ errorCode: 'E0000022' })
    expect(seen).toEqual([])
  })

  test('is found with any query', async () => {
    const { ask } = await listener()
    for (const query of [
      '?',
      '?a=b',
      '?%',
      '?%zz=%ff',
      '?__proto__=1&constructor=2',
      `?${'a=b&'.repeat(1500)}`,
    ]) {
      expect((await ask({ path: `/api/v1/things${query}` })).status).toBe(200)
    }
  })
})

test('a route that throws gets an Error object, and later routes are not called', async () => {
  const { ask } = keep(
    await serve({
      routes: [
        {
          method: 'GET',
          path: '/x',
          handle() {
            throw new Error('x')
          },
        },
        route('GET', '/:any'),
      ],
    }),
  )
  seen.length = 0
  expect((await ask({ path: '/x' })).status).toBe(500)
  expect(seen).toEqual([])
})
