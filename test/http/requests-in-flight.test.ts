import { expect, test } from '@jest/globals'
import { parseBody } from '../../src/http/body-parser.ts'
import { createInFlightLimit } from '../../src/http/requests-in-flight.ts'
import type { Route } from '../../src/http/route.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import type { Ask } from '../support/ask-port.ts'
import { useKeeper } from '../support/keeper.ts'
import { until } from '../support/until.ts'
import { handlerOf, serve } from './serve.ts'

const keep = useKeeper()

const MAX = 4
const SHED = {
  status: 503,
  headers: { 'retry-after': '2' },
  json: { errorCode: 'E0000009', errorLink: 'E0000009', errorCauses: [] },
}

/** A listener whose responses wait until the test releases them. */
async function harness() {
  const waiting: ((outcome: 'served' | 'failed') => void)[] = []
  const metrics = createMetrics()
  const route: Route = {
    method: 'POST',
    path: '/',
    async handle(_req, res) {
      const outcome = await new Promise((resolve) => waiting.push(resolve))
      if (outcome === 'failed') throw new Error('of the handler')
      res.json({})
    },
  }
  const limit = createInFlightLimit({ maxRequestsInFlight: MAX, metrics })
  const routes = [{ ...route, handle: handlerOf([parseBody('json'), limit], route) }]
  const listener = keep(await serve({ trusted: ['127.0.0.1/32'], routes }))
  return {
    ...listener,
    ask: (address: string, about: Ask = {}) =>
      listener.ask({ ...about, method: 'POST', headers: { 'x-forwarded-for': address } }),
    waiting,
    endAll(outcome: 'served' | 'failed' = 'served') {
      for (const end of waiting.splice(0)) end(outcome)
    },
    inFlight: async () => (await metrics.httpRequestsInFlight.get()).values[0]?.value,
    shed: async () =>
      (await metrics.requestsShed.get()).values.map(({ labels, value }) => [labels.reason, value]),
  }
}

test('requests above the maximum are 503, logged as overloaded and counted, until others have finished', async () => {
  const { ask, waiting, endAll, inFlight, shed, lines } = await harness()
  const running = [1, 2, 3, 4].map((n) => ask(`192.0.2.${n}`))
  await until(() => waiting.length === MAX)
  expect(await inFlight()).toBe(MAX)
  expect(await ask('192.0.2.5')).toMatchObject(SHED)
  expect(await shed()).toEqual([['in_flight', 1]])
  expect(lines()).toContainEqual(expect.objectContaining({ level: 'warn', event: 'overloaded' }))
  endAll()
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect(await inFlight()).toBe(0)
  const next = ask('192.0.2.5')
  await until(() => waiting.length === 1)
  endAll()
  expect((await next).status).toBe(200)
})

test('one address, or one IPv6 /48, gets half of the maximum', async () => {
  const { ask, waiting, endAll, shed } = await harness()
  const running = [ask('2001:db8:1:2::1'), ask('2001:db8:1:3::2')]
  await until(() => waiting.length === 2)
  expect(await ask('2001:db8:1:4::3')).toMatchObject(SHED)
  expect(await shed()).toEqual([['address', 1]])
  running.push(ask('2001:db8:2:3::1'), ask('192.0.2.1'))
  await until(() => waiting.length === MAX)
  endAll()
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
})

test('a failed request does not count any more, and one whose client has disconnected counts until it has finished', async () => {
  const { ask, waiting, endAll, inFlight, raw } = await harness()
  const failing = ask('192.0.2.1')
  await until(() => waiting.length === 1)
  endAll('failed')
  expect((await failing).status).toBe(500)
  expect(await inFlight()).toBe(0)

  const pipelined = 'POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n'.repeat(2)
  const received = raw(`${pipelined}no HTTP\r\n\r\n`) // the server closes the connection
  await until(() => waiting.length === 2)
  await received
  expect(await inFlight()).toBe(2)
  endAll()
  await until(async () => (await inFlight()) === 0)
})

test('a request whose body has not arrived does not count', async () => {
  const { ask, waiting, endAll, inFlight, raw } = await harness()
  const slow = raw(
    'POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Forwarded-For: 192.0.2.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  )
  const other = ask('192.0.2.2')
  await until(() => waiting.length === 1)
  expect(await inFlight()).toBe(1)
  endAll()
  expect((await other).status).toBe(200)
  slow.catch(() => undefined) // the test does not wait for it
})
