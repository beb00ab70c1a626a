import type { CheckResult, Result } from './check.ts'
import { NOT_SEEN } from './not-seen.ts'

export interface RunReport {
  readonly results: readonly CheckResult[]
  readonly engine: string
  readonly isSandbox: boolean
  /** Why the run ended early; undefined: it did not. */
  readonly stopped: string | undefined
  /** The names of what could not be deleted. */
  readonly left: readonly string[]
  /** The types of policies that may have another order now. */
  readonly moved: readonly string[]
}

/** Of the sandbox, each engine is a run of its own. */
export function mergeReports(reports: readonly RunReport[]): RunReport {
  const [first] = reports
  return {
    results: reports.flatMap(({ results }) => results),
    engine: first?.engine ?? '',
    isSandbox: first?.isSandbox ?? false,
    stopped: reports.find(({ stopped }) => stopped !== undefined)?.stopped,
    left: reports.flatMap(({ left }) => left),
    moved: reports.flatMap(({ moved }) => moved),
  }
}

const ORDER: readonly Result[] = ['disproved', 'unclear', 'proved', 'not testable here']

export function countsOf(results: readonly CheckResult[]): string {
  return ORDER.map((result) => `${results.filter((each) => each.result === result).length} ${result}`).join(
    ', ',
  )
}

export const ID_COLUMNS = 30

/** The ids of what the org does, and the sandbox does not. */
export function differencesOf({ results, isSandbox }: RunReport): string[] {
  if (isSandbox) return []
  return results.filter(({ result }) => result === 'disproved').map(({ check }) => check.id)
}

/** One line for a check on the terminal. */
export function lineOf({ check, result, seen, ms }: CheckResult): string {
  return `${result.padEnd(17)} ${check.id.padEnd(ID_COLUMNS)} ${(ms / 1000).toFixed(1).padStart(5)} s  ${seen}`
}

export function reportJson({ results, ...run }: RunReport): string {
  const checks = results.map(({ check, result, seen }) => ({
    id: check.id,
    belief: check.belief,
    result,
    seen,
    where: `docs/${check.where}`,
  }))
  return `${JSON.stringify({ ...run, checks, notSeen: NOT_SEEN }, null, 2)}\n`
}

export function reportMarkdown(run: RunReport): string {
  const { results, engine, isSandbox, stopped, left, moved } = run
  return `# Proof run

${isSandbox ? 'The sandbox' : `An org on ${engine === 'identity' ? 'Identity' : 'Classic'} Engine`}: ${countsOf(results)}.
${stopped === undefined ? '' : `\n**The run ended early:** ${stopped}\n`}${
  left.length === 0 ? '' : `\n**Not deleted** (\`--clean\` tries again): ${left.join(', ')}\n`
}${moved.length === 0 ? '' : `\n**Look at the order of the policies**, which may have changed: ${moved.join(', ')}\n`}${ORDER.map((result) => section(result, results, isSandbox)).join('')}
## What no run can see

${Object.entries(NOT_SEEN)
  .map(([id, why]) => `- **${id}**: ${why}`)
  .join('\n')}
`
}

const TITLES: Record<Result, string> = {
  disproved: 'Disproved',
  unclear: 'Unclear',
  proved: 'Proved',
  'not testable here': 'Not testable here',
}

function section(result: Result, results: readonly CheckResult[], isSandbox: boolean): string {
  const those = results.filter((each) => each.result === result)
  if (those.length === 0) return ''
  if (result === 'not testable here') return `\n## ${TITLES[result]}\n\n${byReason(those)}\n`
  const differs = result === 'disproved' && !isSandbox ? '\nHere the org differs from the sandbox.\n' : ''
  return `\n## ${TITLES[result]}\n${differs}\n${those.map(entryOf).join('\n')}\n`
}

function entryOf({ check, result, seen }: CheckResult): string {
  const lines = [`- **${check.id}** ${check.belief}`, `  Seen: ${seen}`]
  if (result === 'disproved') lines.push(`  What to change: ${check.change} (docs/${check.where})`)
  return lines.join('\n')
}

function byReason(results: readonly CheckResult[]): string {
  const ids = new Map<string, string[]>()
  for (const { check, seen } of results) ids.set(seen, [...(ids.get(seen) ?? []), check.id])
  return [...ids].map(([reason, those]) => `- ${reason}: **${those.join(', ')}**`).join('\n')
}
