import type { Metrics } from '../../src/observability/metrics.ts'

/** The values of a metric, by their labels. */
export function counted(metrics: Metrics, name: string): Promise<Record<string, number>> {
  return metrics.registry.getMetricsAsJSON().then((all) => {
    const metric = all.find((one) => one.name === `gatehouse_${name}`)
    const values = metric?.values ?? []
    return Object.fromEntries(
      values.map(({ labels, value }) => [Object.values(labels).join(' '), value] as [string, number]),
    )
  })
}
