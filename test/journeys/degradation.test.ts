import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  FAULTS,
  type Fault,
  ROW_OF_CLASS,
  ROWS,
  type RowDeps,
  rowDeps,
  type Send,
  startDegradationHarness,
} from '../support/degradation.ts'
import type { Harness } from '../support/harness.ts'
import { until } from '../support/until.ts'

/**
 * Each cell of docs/degradation.md: the requests of a column are prepared while all is well, and
 * sent during its fault.
 */

interface Table {
  readonly title: string
  readonly columns: readonly string[]
  /** The cells of each row, by its request. */
  readonly rows: readonly (readonly [request: string, cells: readonly string[]])[]
}

const TABLES = readTables(readFileSync('docs/degradation.md', 'utf8'))

let harness: Harness
let deps: RowDeps
beforeAll(async () => {
  harness = await startDegradationHarness()
  deps = rowDeps(harness)
})
afterAll(() => harness.stop())

test('every table and column has a fault, every row a request, and every class of routes a row', () => {
  const columns = Object.fromEntries(TABLES.map((table) => [table.title, table.columns]))
  expect(columns).toEqual(
    Object.fromEntries(Object.entries(FAULTS).map(([title, faults]) => [title, Object.keys(faults)])),
  )
  const requests = new Set(TABLES.flatMap(({ rows }) => rows.map(([request]) => request)))
  expect([...requests].sort()).toEqual(Object.keys(ROWS).sort())
  const ofRedis = TABLES.find(({ title }) => title === 'Redis')?.rows.map(([request]) => request)
  expect(ofRedis).toEqual(expect.arrayContaining(Object.values(ROW_OF_CLASS)))
})

describe.each(TABLES.map((table) => [table.title, table] as const))('%s', (title, { columns, rows }) => {
  describe.each(columns.map((column, at) => [column, at] as const))('%s', (column, at) => {
    const expected = rows.map(([request, cells]) => [request, Number(cells[at])] as const)
    const answers = new Map<string, number>()
    let sentToOkta: unknown[] = []
    beforeAll(async () => {
      const fault = FAULTS[title]?.[column]
      if (fault === undefined) throw new Error(`there is no fault for ${title} ${column}`)
      const sends = await prepareAll(expected.map(([request]) => request))
      await fault.begin(harness)
      harness.clearUpstreamCalls()
      const sending = expected.map(async ([request, status]) => {
        const awaited = column === 'read-only' ? status : undefined
        answers.set(request, await answerOf(sends.get(request), awaited))
      })
      await Promise.all(sending)
      sentToOkta = [...harness.upstreamCalls()]
      await recover(fault)
    })

    test.each(expected)('%s: %i', (request, status) => {
      expect(answers.get(request)).toBe(status)
    })

    if (title === 'Redis')
      test('nothing is sent to Okta', () => {
        expect(sentToOkta).toEqual([])
      })
  })
})

async function prepareAll(requests: readonly string[]): Promise<Map<string, Send>> {
  const sends = new Map<string, Send>()
  for (const request of requests) {
    const prepare = ROWS[request]
    if (prepare !== undefined) sends.set(request, await prepare(deps))
  }
  return sends
}

/**
 * A read-only Redis may have become one just before, so the client looks for a primary: reads are
 * 503 until it is connected again. They are repeated if another answer is `expected`.
 */
async function answerOf(send: Send = async () => 0, expected = 503): Promise<number> {
  if (expected === 503) return send()
  let status = 0
  await until(async () => {
    status = await send()
    return status !== 503
  })
  return status
}

/** Ends the fault, and waits until the broker can use everything again. */
async function recover(fault: Fault): Promise<void> {
  await fault.end(harness)
  const redis = harness.redis.client()
  await until(async () => (await redis.ping()) === 'PONG', { what: 'Redis' })
  // a 429 closes PAM for a minute
  for (const key of await redis.keys('gatehouse:pam-limit:*')) await redis.del(key)
  const isWell = async () => (await ROWS['`/app/v1/pam/*`, groups not read yet']?.(deps))?.()
  await until(async () => (await isWell()) === 200, { what: 'a broker that has recovered' })
}

/**
 * The tables, each with the title of its section. The first cell of a row is the request, the last
 * one says why.
 */
function readTables(page: string): Table[] {
  return page
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title = ''] = section.split('\n')
      const lines = section.split('\n').filter((line) => line.startsWith('| '))
      const [header = [], ...rows] = lines.map((line) =>
        line
          .slice(1, -1)
          .split(' | ')
          .map((cell) => cell.trim()),
      )
      const [, ...columns] = header
      return {
        title,
        columns: columns.slice(0, -1),
        rows: rows.map(([request = '', ...cells]) => [request, cells] as const),
      }
    })
}
