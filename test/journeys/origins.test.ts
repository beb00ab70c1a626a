import { afterEach, expect, test } from '@jest/globals'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.ts'
import { until } from '../support/until.ts'

/** The log names an origin that ALLOWED_ORIGINS lacks, whichever request its page sends first. */

const ORIGIN = 'http://wiki.localhost:3000'
let gatehouse: Gatehouse
afterEach(() => gatehouse.stop())

async function asked(...asks: (readonly [method: string, path: string, headers: Record<string, string>])[]) {
  gatehouse = await startGatehouse({ env: { AUTHN_BASE_URL: 'http://127.0.0.1:9' } })
  for (const [method, path, headers] of asks) await fetch(gatehouse.url + path, { method, headers })
  const lines = () => gatehouse.logLines()
  await until(() => lines().filter(({ event }) => event === 'request').length === asks.length)
  return lines().filter(({ event }) => event === 'origin_not_allowed')
}

const FETCHED = { origin: ORIGIN, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }

test.each<[string, string, Record<string, string>]>([
  ['a GET', 'GET', FETCHED],
  ['a GET of a browser without Fetch metadata', 'GET', { origin: ORIGIN }],
  ['a preflight', 'OPTIONS', { ...FETCHED, 'access-control-request-method': 'GET' }],
  ['a DELETE', 'DELETE', FETCHED],
])('%s logs the origin and the reason', async (_name, method, headers) => {
  expect(await asked([method, '/api/v1/sessions/me', headers])).toEqual([
    {
      time: expect.any(String),
      level: 'warn',
      service: 'gatehouse',
      version: expect.any(String),
      event: 'origin_not_allowed',
      requestId: expect.any(String),
      origin: ORIGIN,
      reason: 'neither PUBLIC_URL nor one of ALLOWED_ORIGINS',
    },
  ])
})

test('each origin is logged once, and only the first twenty of many', async () => {
  const asks = Array.from(
    { length: 60 },
    (_, n) => ['GET', '/api/v1/sessions/me', { origin: `https://made-up-${n >> 1}.example` }] as const,
  )
  const named = (await asked(...asks)).map(({ origin }) => origin)
  expect(named).toEqual(Array.from({ length: 20 }, (_, n) => `https://made-up-${n}.example`))
})

test('a proxy’s sub-request logs none: its headers are those of the application’s request', async () => {
  expect(await asked(['GET', '/forward-auth', FETCHED])).toEqual([])
})
