import { spawnSync } from 'node:child_process'
import { describe, expect, test } from '@jest/globals'
import { parser } from '@prometheus-io/lezer-promql'
import { z } from 'zod'
import { collectProcessMetrics, createMetrics } from '../../src/observability/metrics.ts'
import { readProject, readYaml } from './read-deploy.ts'

const rule = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning', 'info']) }),
  annotations: z.strictObject({ summary: z.string(), runbook_url: z.string() }),
})
const record = z.strictObject({ record: z.string(), expr: z.string() })
const ruleFile = z.object({
  groups: z.array(z.object({ name: z.string(), rules: z.array(z.union([rule, record])) })),
})
const rules = ['alerts', 'objectives'].flatMap((name) =>
  ruleFile.parse(readYaml(`deploy/helm/gatehouse/files/${name}.yaml`)).groups.flatMap((group) => group.rules),
)
const alerts = rules.flatMap((one) => ('alert' in one ? [one] : []))
const records = rules.flatMap((one) => ('record' in one ? [one] : []))

const target = z.object({ expr: z.string(), legendFormat: z.string() })
const panel = z.object({ title: z.string(), targets: z.array(target).default([]) })
const { panels } = z
  .object({ panels: z.array(panel) })
  .parse(JSON.parse(readProject('deploy/helm/gatehouse/files/dashboard.json')))

const shown = panels.flatMap(({ title, targets }) => targets.map((target) => ({ title, ...target })))
/** Prometheus adds these to every series. */
const TARGET_LABELS = ['namespace', 'job', 'instance']
const known = knownSeries()

describe('every expression parses and uses only metrics and labels that exist', () => {
  test.each(alerts.map(({ alert, expr }) => [alert, expr]))('alert %s', (_, expr) => {
    expect(problemsIn(expr)).toEqual([])
  })

  test.each(records.map(({ record: name, expr }) => [name, expr]))('record %s', (_, expr) => {
    expect(problemsIn(expr)).toEqual([])
  })

  test.each(shown.map(({ title, expr }, at) => [`${at}: ${title}`, expr]))('panel %s', (_, expr) => {
    expect(problemsIn(expr)).toEqual([])
  })
})

describe('the runbooks', () => {
  const page = readProject('docs/operations.md')
  const runbooks = page.slice(page.indexOf('## Alerts'))

  test.each(alerts.map(({ alert, annotations }) => [alert, annotations.runbook_url]))(
    '%s has a runbook section that names it',
    (alert, url) => {
      const [address, anchor] = url.split('#')
      expect(address).toMatch(/\/docs\/operations\.md$/)
      const section = sections(runbooks).find((one) => one.anchor === anchor)
      expect(section?.text).toContain(`\`${alert}\``)
      for (const part of ['**Signs:**', '**Users see**', '**Do:**', '**Resolved when**'])
        expect(section?.text).toContain(part)
    },
  )

  test('name only alerts and metrics that exist', () => {
    const names = new Set(alerts.map(({ alert }) => alert))
    const named = [...runbooks.matchAll(/`(Gatehouse[A-Z]\w+)`/g)].map(([, name = '']) => name)
    expect(named.filter((name) => !names.has(name))).toEqual([])
    const metrics = [...runbooks.matchAll(/`(gatehouse_\w+)`/g)].map(([, name = '']) => name)
    expect(metrics.filter((name) => !known.has(name) && !known.has(`${name}_count`))).toEqual([])
  })
})

const RULE_TESTS = ['test/deploy/alerts.test.yaml', 'test/deploy/objectives.test.yaml']

test('the alerts fire when they should, and only then', () => {
  const run = spawnSync('promtool', ['test', 'rules', ...RULE_TESTS], { encoding: 'utf8' })
  expect([run.error, run.status, run.stdout + run.stderr]).toEqual([
    undefined,
    0,
    expect.stringContaining('SUCCESS'),
  ])
})

test('each alert has its own name, and is tested', () => {
  const names = alerts.map(({ alert }) => alert)
  expect(new Set(names).size).toBe(names.length)
  for (const file of RULE_TESTS) expect(readYaml(file)).toHaveProperty('tests')
  const tests = RULE_TESTS.map(readProject).join('\n')
  for (const name of names) expect(tests).toContain(`alertname="${name}"`)
})

/** The name of each series of a scrape, with its labels. */
function knownSeries(): ReadonlyMap<string, ReadonlySet<string>> {
  const series = new Map<string, ReadonlySet<string>>([
    ['ALERTS', new Set(['alertname', 'alertstate'])],
    ['up', new Set(TARGET_LABELS)],
    ...records.map((one) => [one.record, new Set<string>()] as const),
  ])
  const metrics = createMetrics()
  collectProcessMetrics(metrics)
  for (const metric of metrics.registry.getMetricsAsArray()) {
    const labels: unknown = Object.getOwnPropertyDescriptor(metric, 'labelNames')?.value
    const names = [...TARGET_LABELS, ...(Array.isArray(labels) ? labels.map(String) : [])]
    if (String(Object.getOwnPropertyDescriptor(metric, 'buckets')?.value ?? '') === '') {
      series.set(metric.name, new Set(names))
    } else {
      for (const end of ['_count', '_sum']) series.set(metric.name + end, new Set(names))
      series.set(`${metric.name}_bucket`, new Set([...names, 'le']))
    }
  }
  return series
}

/** A grouping label must be a label of a metric in the expression. */
function problemsIn(expr: string): string[] {
  const text = expr.replaceAll('$__rate_interval', '5m')
  const problems: string[] = []
  const metrics: string[] = []
  const groupings: string[] = []
  let current = ''
  const cursor = parser.parse(text).cursor()
  do {
    const token = text.slice(cursor.from, cursor.to)
    if (cursor.type.isError) return ['does not parse']
    if (cursor.name === 'Identifier') {
      current = token
      metrics.push(token)
      if (!known.has(token)) problems.push(`${token} is not a metric`)
    }
    if (cursor.name === 'LabelName') {
      const isMatcher = cursor.node.parent?.name !== 'GroupingLabels'
      if (!isMatcher) groupings.push(token)
      else if (known.has(current) && !known.get(current)?.has(token))
        problems.push(`${current} has no label ${token}`)
    }
  } while (cursor.next())
  for (const label of groupings) {
    if (!metrics.some((name) => known.get(name)?.has(label)))
      problems.push(`${metrics.join(', ')} has no label ${label}`)
  }
  return problems
}

/** The page's sections, each with the anchor of its heading. */
function sections(text: string): { anchor: string; text: string }[] {
  return text
    .split(/^(?=#+ )/m)
    .filter((part) => part.startsWith('#'))
    .map((part) => ({
      anchor: (part.split('\n')[0] ?? '')
        .replace(/^#+ /, '')
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
      text: part,
    }))
}
