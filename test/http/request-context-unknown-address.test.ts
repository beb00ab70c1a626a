import { describe, expect, test } from '@jest/globals'
import { getRequestContext } from '../../src/http/request-context.ts'
import type { Route } from '../../src/http/route.ts'
import { useKeeper } from '../support/keeper.ts'
import { until } from '../support/until.ts'
import { serve } from './serve.ts'

const keep = useKeeper()

const whoAsks: Route = {
  method: 'GET',
  path: '/who',
  handle: (req, res) => void res.end(getRequestContext(req).address),
}
const behindProxy = async () => keep(await serve({ routes: [whoAsks], trusted: ['127.0.0.1/32'] }))

describe('a request from a trusted proxy without the client’s address', () => {
  test.each([
    ['without X-Forwarded-For', {}, /^X-Forwarded-For: missing/, 'missing'],
    ['with an empty one', { 'X-Forwarded-For': '' }, /^X-Forwarded-For: missing/, 'missing'],
    ['with two empty ones', { 'X-Forwarded-For': ['', ''] }, /empty entry$/, 'empty'],
    ['with an empty entry at the end', { 'X-Forwarded-For': '198.51.100.7, ' }, /empty entry$/, 'empty'],
    [
      'with a malformed entry',
      { 'X-Forwarded-For': '198.51.100.7, unknown' },
      /not an address$/,
      'malformed',
    ],
  ])('%s is refused, logged and counted', async (_name, headers, cause, reason) => {
    const { ask, lines, metrics } = await behindProxy()
    const answer = await ask({ path: '/who', headers })
    expect(answer.status).toBe(400)
    expect(answer.json).toMatchObject({
      errorCode: 'E0000001',
      errorSummary: 'Api validation failed: X-Forwarded-For',
      errorCauses: [{ errorSummary: expect.stringMatching(cause) }],
    })
    await until(() => lines().some(({ event }) => event === 'request'))
    expect(lines()).toEqual([
      expect.objectContaining({
        level: 'warn',
        event: 'invalid_forwarded_for',
        requestId: answer.headers['x-request-id'],
        address: '127.0.0.1',
        reason,
      }),
      expect.objectContaining({ event: 'request', address: '127.0.0.1', status: 400 }),
    ])
    expect(await metrics.registry.metrics()).toContain(
      'gatehouse_requests_refused_total{reason="invalid_forwarded_for"} 1',
    )
  })

  test('is logged once for each proxy, and counted each time', async () => {
    const { ask, lines, metrics } = await behindProxy()
    for (let n = 0; n < 5; n++) await ask({ path: '/who' })
    await until(() => lines().filter(({ event }) => event === 'request').length === 5)
    expect(lines().filter(({ event }) => event === 'invalid_forwarded_for')).toHaveLength(1)
    expect(await metrics.registry.metrics()).toContain(
      'gatehouse_requests_refused_total{reason="invalid_forwarded_for"} 5',
    )
  })
})

describe('thousands of header lines before X-Forwarded-For', () => {
  test('the client’s address is still read', async () => {
    const { raw } = await behindProxy()
    const lines = 'W: b\r\n'.repeat(5000)
    const answer = await raw(
      `GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}X-Forwarded-For: 198.51.100.7\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1.1 200 [\s\S]*\r\n\r\n198\.51\.100\.7$/)
  })
})
