import type { Cost } from './measure.ts'
import type { TargetName } from './targets.ts'
import type { PathName } from './visitors.ts'

export interface Results {
  readonly at: string
  readonly node: string
  readonly isPinned: boolean
  readonly connections: number
  readonly rounds: number
  readonly rows: readonly Row[]
}

export interface Row {
  readonly path: PathName
  readonly target: TargetName
  readonly label: string
  readonly cost: Cost
}

export function writeReport(results: Results, _options: { dry: boolean }): void {
  for (const { path, label, cost, target } of results.rows) {
    const floor =
      results.rows.find((row) => row.path === path && row.target === 'floor')?.cost.cpuUs ?? Number.NaN
    process.stdout.write(
      `${path} ${label.padEnd(36)} ${cost.cpuUs.toFixed(1).padStart(7)} µs ${(cost.cpuUs / floor).toFixed(2).padStart(6)}× ${cost.requestsPerSecond.toFixed(0).padStart(7)}/s p50 ${cost.p50Ms.toFixed(2)} p99 ${cost.p99Ms.toFixed(2)} ms, redis ${cost.redisCommands.toFixed(2)}, ${cost.rssMb.toFixed(0)} MB ${target}\n`,
    )
  }
}
