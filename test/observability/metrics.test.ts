import { expect, test } from '@jest/globals'
import { createMetrics } from '../../src/observability/metrics.ts'

test('every metric has a name of its own with our prefix, a unit or `total` where it needs one, and a help text', async () => {
  const metrics = createMetrics()
  const all = await metrics.registry.getMetricsAsJSON()
  const names = all.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  for (const { name, help, type } of all) {
    expect(name).toMatch(/^gatehouse_[a-z0-9_]+$/)
    expect({ name, help: help.length > 5 }).toEqual({ name, help: true })
    if (String(type) === 'counter') expect(name).toMatch(/_total$/)
    if (String(type) === 'histogram') expect(name).toMatch(/_(seconds|bytes)$/)
  }
})

test('no label is made for a person, a token, an address or a path', async () => {
  const metrics = createMetrics({ processMetrics: false })
  const labels = Object.values(metrics).flatMap((metric) =>
    'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames : [],
  )
  expect(labels.length).toBeGreaterThan(5)
  const known =
    'method route status upstream outcome operation reason by kind name scope limit list result'.split(' ')
  for (const label of labels) expect(known).toContain(label)
})

test('two brokers in one process count apart', async () => {
  const [one, other] = [createMetrics(), createMetrics()]
  one.sessionsOpened.inc()
  expect((await other.sessionsOpened.get()).values[0]?.value).toBe(0)
  expect(await one.registry.metrics()).toContain('gatehouse_sessions_opened_total 1')
})
