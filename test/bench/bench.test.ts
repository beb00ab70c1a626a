import { describe, expect, test } from '@jest/globals'
import { percentile } from '../../bench/load.ts'
import { type Cost, medianOf } from '../../bench/measure.ts'
import { table } from '../../bench/output.ts'
import { barChart, lineChart } from '../../bench/svg.ts'

describe('results', () => {
  const cost = (cpuUs: number, p99Ms: number): Cost => ({
    ...{ requests: 10, requestsPerSecond: 1, p50Ms: 1, upstreamCalls: 0, rssMb: 1, shed: 0 },
    ...{ cpuUs, p99Ms },
  })

  test('medianOf: the median of each field, and the total of requests', () => {
    const { requests, cpuUs, p99Ms } = medianOf([cost(30, 2), cost(10, 9), cost(20, 4)])
    expect({ requests, cpuUs, p99Ms }).toEqual({ requests: 30, cpuUs: 20, p99Ms: 4 })
  })

  test('percentile: the latency that this share of the requests do not exceed', () => {
    const latencies = Float64Array.from({ length: 200 }, (_, n) => n + 1)
    expect([percentile(latencies, 0.5), percentile(latencies, 0.99), percentile(latencies, 1)]).toEqual([
      101, 199, 200,
    ])
  })
})

describe('charts', () => {
  const bars = barChart({
    title: 'Less & "less"',
    groups: [
      {
        label: '<S>',
        bars: [
          { name: 'one', value: 1 },
          { name: 'other', value: 4 },
        ],
      },
    ],
  })

  test('bars have the height of their values', () => {
    const drawn = [...bars.matchAll(/<rect x="[\d.]+" y="[\d.]+" width="[\d.]+" height="([\d.]+)" fill/g)]
    const [first, second] = drawn.map(([, height]) => Number(height)) // the legend's follow
    expect((second ?? 0) / (first ?? 1)).toBeCloseTo(4)
  })

  test('text is escaped', () => {
    expect(bars).toContain('>Less &amp; &quot;less&quot;</text>')
    expect(bars).toContain('>&lt;S&gt;</text>')
  })

  test('lines rise with their values; on a logarithmic axis, powers of ten are equidistant', () => {
    const svg = lineChart({
      title: 'Latency',
      xLabel: 'sessions',
      xScale: 'log',
      lines: [
        {
          name: 'p50',
          points: [
            [10, 1],
            [100, 2],
            [1000, 4],
          ],
        },
      ],
    })
    const points =
      /points="([^"]+)"/
        .exec(svg)?.[1]
        ?.split(' ')
        .map((pair) => pair.split(',').map(Number)) ?? []
    const [[x1 = 0, y1 = 0] = [], [x2 = 0, y2 = 0] = [], [x3 = 0, y3 = 0] = []] = points
    expect(x2 - x1).toBeCloseTo(x3 - x2)
    expect([y1 > y2, y2 > y3]).toEqual([true, true])
  })

  test('light and dark colour schemes have their own colours', () => {
    expect(bars).toContain('@media (prefers-color-scheme: dark)')
  })
})

test('tables have a delimiter row', () => {
  expect(table(['', 'µs'], [['S', '25']])).toBe('|  | µs |\n| --- | ---: |\n| S | 25 |')
})
