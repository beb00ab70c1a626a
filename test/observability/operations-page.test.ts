import { readFile } from 'node:fs/promises'
import { expect, test } from '@jest/globals'
import { createMetrics } from '../../src/observability/metrics.ts'

test('docs/operations.md lists every metric with its labels', async () => {
  const page = await readFile('docs/operations.md', 'utf8')
  const written = [...page.matchAll(/^\| `(gatehouse_\w+)` \| ([^|]*)\|/gm)].map(([, name, labels]) => [
    name,
    (labels ?? '').split(',').flatMap((label) => (label.trim() === '' ? [] : [label.trim()])),
  ])
  const { registry } = createMetrics({ processMetrics: false })
  const there = registry.getMetricsAsArray().map((metric) => {
    const labelNames: unknown = Object.getOwnPropertyDescriptor(metric, 'labelNames')?.value
    return [metric.name, Array.isArray(labelNames) ? labelNames : []]
  })
  expect(Object.fromEntries(written)).toEqual(Object.fromEntries(there))
})
