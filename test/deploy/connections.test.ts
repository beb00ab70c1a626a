import { expect, test } from '@jest/globals'
import { z } from 'zod'
import { readProject, readYaml } from './read-deploy.ts'
import { objectOf, renderChart } from './render-chart.ts'

const deployment = z.object({
  spec: z.object({
    replicas: z.number(),
    strategy: z.object({ rollingUpdate: z.object({ maxSurge: z.number() }) }),
  }),
})
const compose = z.object({ services: z.record(z.string(), z.unknown()) })
const settings = z.object({
  upstream: z.object({ authn: z.object({ maxConnections: z.number() }) }),
})

test('the connections of all replicas together are at most the share of the org that docs/performance.md gives', () => {
  const formula = /^\((\d+) − (\d+)\) \/ (\d+) = (\d+)/m.exec(readProject('docs/performance.md'))
  const [concurrent = 0, others = 0, replicas, each] = (formula ?? []).slice(1).map(Number)
  const { spec } = deployment.parse(objectOf('Deployment', renderChart()))
  const { maxConnections } = settings.parse(JSON.parse(readProject('config/default.json'))).upstream.authn
  const mostReplicas = spec.replicas + spec.strategy.rollingUpdate.maxSurge
  const brokers = Object.keys(compose.parse(readYaml('deploy/compose.yaml')).services).filter((name) =>
    /^gatehouse-\d$/.test(name),
  )

  expect(brokers).toHaveLength(2)
  expect(concurrent - others).toBeGreaterThan(0)
  for (const count of [mostReplicas, brokers.length])
    expect(count * maxConnections).toBeLessThanOrEqual(concurrent - others)
  expect([replicas, each]).toEqual([mostReplicas, maxConnections])
})
