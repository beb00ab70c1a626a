import type { CheckResult } from './check.ts'
import type { Finding } from './finding.ts'

/** 1 if a check failed. */
export function exitCodeOf(results: readonly CheckResult[]): 0 | 1 {
  return results.some(({ status }) => status === 'fail') ? 1 : 0
}

export function toJson(results: readonly CheckResult[]): string {
  return JSON.stringify({ checks: results }, undefined, 2)
}

const STATUSES: readonly Finding['status'][] = ['ok', 'warn', 'fail', 'skipped']
const STATUS_WIDTH = 9
const NAME_WIDTH = 22

export function toText(results: readonly CheckResult[]): string {
  const lines = results.flatMap(({ name, status, detail, fix }) => [
    `${status.padEnd(STATUS_WIDTH)}${name.padEnd(NAME_WIDTH)}${detail}`,
    ...(fix === null ? [] : [`${' '.repeat(STATUS_WIDTH + NAME_WIDTH)}→ ${fix}`]),
  ])
  const counts = STATUSES.map(
    (status) => `${results.filter((result) => result.status === status).length} ${status}`,
  )
  return [...lines, counts.join(', ')].join('\n')
}
