import { expect, test } from '@jest/globals'
import express from 'express'
import { useFixture } from 'gatehouse-test-support/fixture'
import { type FaultRule, InvalidFaultRule } from '../src/fault-rules.ts'
import { createFaults, seededRandom } from '../src/faults.ts'
import { listen } from '../src/listen.ts'

const faults = createFaults({ random: seededRandom(7) })
const app = express()
app.use(express.json())
app.use(faults.middleware())
app.use((_req, res) => {
  res.json({ fine: true })
})
const server = useFixture({
  start: () => listen(app, { port: 0, host: '127.0.0.1' }),
  reset: () => faults.clear(),
  stop: ({ close }) => close(),
})

const get = (path = '/') => fetch(server.url + path)

const INVALID_RULES: [rule: unknown, field: string][] = [
  [{ kind: 'explode' }, 'kind'],
  ['cut', 'rule'],
  [{ kind: 'delay' }, 'ms'],
  [{ kind: 'status', status: 99 }, 'status'],
  [{ kind: 'status', status: 500, headers: { 'X-A': 7 } }, 'headers.X-A'],
  [{ kind: 'cut', path: 'no-slash' }, 'path'],
  [{ kind: 'error-rate', share: 1.5 }, 'share'],
  [{ kind: 'cut', sometimes: true }, 'rule'],
]
test.each(INVALID_RULES)('an invalid rule is refused, and the field named: %j', async (rule, field) => {
  const add = () => faults.add(rule as FaultRule)
  expect(add).toThrow(InvalidFaultRule)
  expect(add).toThrow(new RegExp(`^invalid fault rule: (.*; )?${field.replace('.', '\\.')}: `))
  expect((await get()).status).toBe(200)
})

// sandbox shows: F-7.14
test('a rule may have a path and a method, and set() replaces all rules', async () => {
  faults.set([
    { kind: 'status', status: 500, path: '/api', method: 'post' },
    { kind: 'status', status: 501, path: '/login' },
  ])
  const post = await fetch(`${server.url}/api/v1`, { method: 'POST' })
  expect([post.status, (await get('/api/v1')).status, (await get('/login?a=1')).status]).toEqual([
    500, 200, 501,
  ])
  faults.set({ kind: 'status', status: 502, path: '/api' })
  expect([(await get('/api')).status, (await get('/login')).status]).toEqual([502, 200])
})

// sandbox shows: F-7.15
test('drip: one byte at a time', async () => {
  faults.set({ kind: 'drip', everyMs: 0, body: { a: 1 }, times: 1 })
  const answer = await get()
  let bytes = 0
  let chunks = 0
  for await (const chunk of answer.body ?? []) {
    bytes += (chunk as Uint8Array).length
    chunks += 1
  }
  expect([bytes, chunks > 1]).toEqual([7, true])
})
