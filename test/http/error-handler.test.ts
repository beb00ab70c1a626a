import { describe, expect, test } from '@jest/globals'
import { overloaded, storeUnavailable } from '../../src/errors.ts'
import { getRequestContext, type RequestContext } from '../../src/http/request-context.ts'
import type { Route } from '../../src/http/route.ts'
import { DependencyFailure } from '../../src/observability/dependency-failure.ts'
import { useKeeper } from '../support/keeper.ts'
import { until } from '../support/until.ts'
import { serve } from './serve.ts'

const keep = useKeeper()

async function failing(handle: Route['handle']) {
  return keep(await serve({ routes: [{ method: 'GET', path: '/:id', handle }] }))
}
const throwing = (error: unknown) =>
  failing(() => {
    throw error
  })

describe('an error that is not a BrokerError is an opaque 500', () => {
  const secretive = Object.assign(new Error('very-secret message'), {
    status: 418,
    statusCode: 418,
    expose: true,
    headers: { 'X-Very-Secret': '1' },
    code: 'ESECRET',
  })

  test.each<[string, unknown]>([
    ['an error with its own status and headers', secretive],
    ['an error with a cause', new Error('very-secret', { cause: new Error('very-secret') })],
    ['a string', 'very-secret'],
    ['an object', { status: 404, message: 'very-secret' }],
    ['a TypeError', new TypeError('very-secret')],
  ])('%s', async (_name, error) => {
    const { ask, lines, logText } = await throwing(error)
    const answer = await ask({ path: '/1' })
    expect(answer.status).toBe(500)
    expect(answer.json).toEqual({
      errorCode: 'E0000009',
      errorSummary: 'Internal Server Error',
      errorLink: 'E0000009',
      errorId: answer.headers['x-request-id'],
      errorCauses: [],
    })
    expect(JSON.stringify(answer)).not.toContain('very-secret')
    expect(answer.headers).not.toHaveProperty('x-very-secret')
    await until(() => lines().length === 2)
    expect(lines()[0]).toMatchObject({
      level: 'error',
      event: 'unexpected_error',
      requestId: answer.headers['x-request-id'],
      error: { name: error instanceof Error ? error.name : typeof error },
    })
    expect(logText()).not.toContain('very-secret')
  })

  // shows: V16.5.3
  test('also for a rejected promise', async () => {
    const { ask } = await failing(async () => {
      await new Promise((resolve) => setImmediate(resolve))
      throw new Error('very-secret')
    })
    expect((await ask({ path: '/1' })).status).toBe(500)
  })
})

describe('a BrokerError is sent unchanged', () => {
  // shows: V16.3.4, V16.5.1
  test('with its headers; its cause is logged and not sent', async () => {
    const { ask, lines, logText } = await throwing(storeUnavailable(new RangeError('very-secret')))
    const answer = await ask({ path: '/1' })
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '2'])
    expect(answer.text).not.toContain('secret')
    await until(() => lines().length === 2)
    expect(lines()[0]).toMatchObject({
      level: 'warn',
      event: 'dependency_failed',
      status: 503,
      dependency: 'store',
      error: { name: 'RangeError' },
    })
    expect(lines()[1]).toMatchObject({ event: 'request', status: 503, errorCode: 'E0000009' })
    expect(logText()).not.toContain('very-secret')
  })

  test('a cause is logged once in ten seconds, with the number of its failures since its last line', async () => {
    let nowMs = 0
    const handle: Route['handle'] = ({ params }) => {
      throw storeUnavailable(new DependencyFailure('refused', { code: String(params.id) }))
    }
    const { ask, lines } = keep(
      await serve({ routes: [{ method: 'GET', path: '/:id', handle }], now: () => nowMs }),
    )
    const failures = () =>
      lines().flatMap(({ event, code, count }) => (event === 'dependency_failed' ? [[code, count]] : []))
    for (const code of ['OOM', 'OOM', 'NOPERM', 'OOM']) await ask({ path: `/${code}` })
    nowMs = 9_999
    await ask({ path: '/OOM' })
    nowMs = 10_000
    await ask({ path: '/OOM' })
    await ask({ path: '/OOM' })
    await until(() => lines().filter(({ event }) => event === 'request').length === 7)
    expect(failures()).toEqual([
      ['OOM', 1],
      ['NOPERM', 1],
      ['OOM', 4],
    ])
  })

  test('a shed request is not logged as a failed dependency', async () => {
    const { ask, lines } = await throwing(overloaded())
    expect((await ask({ path: '/1' })).status).toBe(503)
    await until(() => lines().length === 2)
    expect(lines()[0]).toMatchObject({ level: 'warn', event: 'overloaded', status: 503 })
  })
})

describe('the format of an error', () => {
  const formatted = async (format?: RequestContext['errorFormat']) =>
    keep(
      await serve({
        before: [
          (req, _res, next) => {
            if (format !== undefined) getRequestContext(req).errorFormat = format
            next()
          },
        ],
      }),
    )

  test('empty: no body, for a proxy', async () => {
    const { ask } = await formatted('empty')
    expect(await ask({ path: '/1' })).toMatchObject({ status: 404, text: '' })
  })

  test.each<[string, RequestContext['errorFormat'], string, boolean]>([
    ['page, if HTML is accepted', 'page', 'text/html', true],
    ['page, if HTML is not accepted', 'page', '*/*', false],
    ['the default', undefined, 'text/html', false],
  ])('%s', async (_, format, accept, isPage) => {
    const { ask } = await formatted(format)
    const { status, headers, text, json } = await ask({ path: '/1', headers: { accept } })
    expect(status).toBe(404)
    expect(headers['content-type']).toBe(
      isPage ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    )
    if (isPage) expect(text).toContain(`<code>E0000007 ${headers['x-request-id']}</code>`)
    else expect(json).toMatchObject({ errorCode: 'E0000007' })
  })
})

describe('an error after the headers were sent', () => {
  test('the connection is closed, so that a truncated response does not look complete', async () => {
    const { raw, lines, logText } = await failing((_req, res) => {
      res.write('{"half":')
      throw new Error('very-secret')
    })
    const received = await raw('GET /1 HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(received).not.toMatch(/0\r\n\r\n$/) // the end of a chunked body
    expect(received).not.toContain('very-secret')
    await until(() => lines().length === 2)
    expect(lines().map(({ event }) => event)).toEqual(['unexpected_error', 'request'])
    expect(logText()).not.toContain('very-secret')
  })
})
