import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createMetrics } from '../../src/observability/metrics.ts'
import { readOrgPipeline, watchOrgPipeline } from '../../src/upstream/org-pipeline.ts'
import type { UpstreamClient } from '../../src/upstream/upstream-client.ts'
import { collectLog } from '../observability/collect-log.ts'
import { StubError, type StubUpstream, sendJson, startStubUpstream } from '../support/stub-upstream.ts'
import { until } from '../support/until.ts'
import { clientFor } from './client-for.ts'

let stub: StubUpstream
let client: UpstreamClient
const stops: (() => void)[] = []

beforeEach(async () => {
  stub = await startStubUpstream((_req, res) => sendJson(res, 200, { id: '00o1', pipeline: 'v1' }))
  client = clientFor(stub.origin)
})
afterEach(async () => {
  for (const stop of stops.splice(0)) stop()
  await client.close()
  await stub.close()
})

/** A watch whose timer the test fires. */
function watch() {
  const log = collectLog()
  const metrics = createMetrics({ processMetrics: false })
  const timers: { readonly callback: () => void; readonly ms: number }[] = []
  const { stop } = watchOrgPipeline({
    client,
    log: log.log,
    metrics,
    random: () => 0,
    startTimer(callback, ms) {
      const timer = { callback, ms }
      timers.push(timer)
      return () => void timers.splice(timers.indexOf(timer), 1)
    },
  })
  stops.push(stop)
  /** Resolves when a check has ended. */
  const nextTimer = async () => {
    await until(() => timers.length > 0)
    return { callback: () => timers[0]?.callback(), ms: timers[0]?.ms }
  }
  return {
    stop,
    timers,
    nextTimer,
    async checkAgain() {
      ;(await nextTimer()).callback()
      timers.shift()
      await nextTimer()
    },
    events: () => log.lines().map(({ event, level, name, outcome }) => ({ event, level, name, outcome })),
    series: async () =>
      (await metrics.registry.metrics()).split('\n').filter((line) => /^gatehouse_authn_pipeline/.test(line)),
  }
}

test('the pipeline is read without a token, and the path of AUTHN_BASE_URL is not used', async () => {
  expect(await readOrgPipeline(client)).toBe('v1')
  const [{ method, url, headers } = {}] = stub.requests as Partial<(typeof stub.requests)[0]>[]
  expect({ method, url }).toEqual({ method: 'GET', url: '/.well-known/okta-organization' })
  expect(headers).not.toHaveProperty('authorization')
})

test.each([
  ['another pipeline', { pipeline: 'v2' }],
  ['no pipeline', {}],
  ['a list', []],
  ['an error', new StubError(404, 'E0000007', { pipeline: 'v1' })],
])('a response with %s is invalid', async (_name, answer) => {
  stub.answers(answer)
  await expect(readOrgPipeline(client)).rejects.toMatchObject({ outcome: 'invalid_response' })
})

test('a redirect is not followed', async () => {
  const redirecting = await startStubUpstream((_req, res) =>
    res.writeHead(302, { location: `${stub.origin}/.well-known/okta-organization` }).end(),
  )
  const other = clientFor(redirecting.origin)
  try {
    await expect(readOrgPipeline(other)).rejects.toMatchObject({ upstreamStatus: 302 })
    expect(stub.requests).toHaveLength(0)
  } finally {
    await other.close()
    await redirecting.close()
  }
})

test('a response that is too large is refused', async () => {
  stub.answers({ pipeline: 'v1', more: 'x'.repeat(200_000) })
  await expect(readOrgPipeline(client)).rejects.toMatchObject({ outcome: 'response_too_large' })
})

test('the pipeline is logged at the start and when it changes, and is a metric', async () => {
  const { checkAgain, nextTimer, events, series } = watch()
  expect((await nextTimer()).ms).toBe(300_000)
  await checkAgain()
  const v1 = { event: 'authn_pipeline', level: 'info', name: 'v1' }
  expect(events()).toEqual([v1])
  expect(await series()).toEqual(['gatehouse_authn_pipeline_info{pipeline="v1"} 1'])

  stub.answers({ pipeline: 'idx' })
  await checkAgain()
  expect(events()).toEqual([v1, { event: 'authn_pipeline_changed', level: 'warn', name: 'idx' }])
  expect(await series()).toEqual(['gatehouse_authn_pipeline_info{pipeline="idx"} 1'])
})

test('failed checks are logged once and repeated; a known pipeline stays', async () => {
  stub.answers(new StubError(500, 'E0000009'), new StubError(503, 'E0000010'))
  const { checkAgain, nextTimer, events, series } = watch()
  expect((await nextTimer()).ms).toBe(60_000)
  await checkAgain()
  const unknown = { event: 'authn_pipeline_unknown', level: 'warn', outcome: 'invalid_response' }
  expect(events()).toEqual([unknown])
  expect(await series()).toEqual([])

  await checkAgain()
  stub.answers(new StubError(500, 'E0000009'))
  await checkAgain()
  expect(events()).toEqual([unknown, { event: 'authn_pipeline', level: 'info', name: 'v1' }, unknown])
  expect(await series()).toEqual(['gatehouse_authn_pipeline_info{pipeline="v1"} 1'])
})

test('after a stop, no check is scheduled and nothing is logged', async () => {
  const waiting = watch()
  await waiting.nextTimer()
  waiting.stop()
  expect(waiting.timers).toEqual([])

  const checking = watch()
  checking.stop()
  await until(() => stub.requests.length === 2)
  await client.close()
  await new Promise(setImmediate)
  expect(checking.events()).toEqual([])
  expect(checking.timers).toEqual([])
})
