import { readFileSync } from 'node:fs'
import { type GrowthResults, growthCharts, growthTables } from '../../bench/growth/report.ts'
import { type RedisMemoryResults, redisMemoryTable } from '../../bench/redis-memory-report.ts'
import { capacityTable, performanceChart, performanceTables, type Results } from '../../bench/report.ts'
import { markdownTable } from './markdown.ts'

/** The files that the benchmarks write are of the project itself and are not checked again. */
const readPerformance = (): Results => JSON.parse(readFileSync('docs/performance.json', 'utf8'))
const readGrowth = (): GrowthResults => JSON.parse(readFileSync('docs/performance-growth.json', 'utf8'))
const readRedisMemory = (): RedisMemoryResults => JSON.parse(readFileSync('docs/redis-memory.json', 'utf8'))

export const performanceBlock = () =>
  `![CPU time per request, as a multiple of the floor](images/performance.svg)\n\n${performanceTables(readPerformance())}`
export const capacityBlock = () => capacityTable(readPerformance())
export const growthBlock = () => growthTables(readGrowth())
export const redisMemoryBlock = () => redisMemoryTable(readRedisMemory())

/** The scores that `npm run mutants` writes, by module. */
export function mutationScoresTable(): string {
  const scores: Record<string, { mutants: number; percent: number; survivingOnPurpose: number }> = JSON.parse(
    readFileSync('docs/mutation-scores.json', 'utf8'),
  )
  return markdownTable(
    ['module', '>mutants', '>score', '>surviving on purpose'],
    Object.entries(scores).map(([name, { mutants, percent, survivingOnPurpose }]) => [
      name,
      String(mutants),
      `${percent.toFixed(1)} %`,
      String(survivingOnPurpose),
    ]),
  )
}

/** The charts of docs/performance.md and docs/scale.md, by their paths. */
export const CHARTS: Readonly<Record<string, () => string>> = {
  'docs/images/performance.svg': () => performanceChart(readPerformance()),
  ...Object.fromEntries(
    ['sessions', 'connections', 'slow-upstream', 'memory'].map((name) => [
      `docs/images/growth-${name}.svg`,
      () => growthCharts(readGrowth())[`growth-${name}`] ?? '',
    ]),
  ),
}
