import { expect, test } from '@jest/globals'
import { collectProcessMetrics, createMetrics } from '../../src/observability/metrics.ts'

test('every metric has its own name with the prefix, a unit or `total` suffix, and a help text', async () => {
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

test('no label names a user, a token, an address or a path', async () => {
  const metrics = createMetrics()
  const labels = Object.values(metrics).flatMap((metric) =>
    'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames : [],
  )
  expect(labels.length).toBeGreaterThan(5)
  const known =
    'method route status upstream outcome operation reason found_in code kind name scope limit list result version revision level event bound group source'.split(
      ' ',
    )
  for (const label of labels) expect(known).toContain(label)
})

test('process metrics have their standard names', async () => {
  const metrics = createMetrics()
  collectProcessMetrics(metrics)
  const names = (await metrics.registry.getMetricsAsJSON()).map(({ name }) => name)
  expect(names).toEqual(
    expect.arrayContaining(['process_cpu_seconds_total', 'nodejs_eventloop_lag_p99_seconds']),
  )
})
