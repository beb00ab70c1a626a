import { innermostFailure } from '../observability/dependency-failure.ts'
import { describeError } from '../observability/describe-error.ts'
import { inTime, startTimer } from '../upstream/timer.ts'
import type { Check, CheckGroup, CheckResult } from './check.ts'
import { type Finding, fail, skipped } from './finding.ts'

export interface Deadlines {
  /** For one check. */
  readonly checkMs: number
  /** For all checks together. */
  readonly totalMs: number
  /** For closing the connections. */
  readonly closeMs: number
}

/** Runs all checks. Ends in time whatever hangs, and never throws. */
export async function runChecks(
  groups: readonly CheckGroup[],
  { checkMs, totalMs, closeMs }: Deadlines,
): Promise<CheckResult[]> {
  const findings = new Map<string, Finding>()
  const isOver = new AbortController()
  const runGroup = async ({ checks }: CheckGroup) => {
    for (const check of checks) {
      const finding = await runCheck(check, findings, checkMs)
      if (isOver.signal.aborted) return
      findings.set(check.name, finding)
    }
  }
  await within(totalMs, Promise.all(groups.map(runGroup)))
  isOver.abort()
  await within(closeMs, Promise.allSettled(groups.map((group) => group.close())))
  const unfinished = fail(`not finished within ${seconds(totalMs)}`, SLOW)
  return groups.flatMap(({ checks }) =>
    checks.map(({ name }) => ({ name, ...(findings.get(name) ?? unfinished) })),
  )
}

async function runCheck(
  { needs = [], mayTakeLong, run }: Check,
  findings: ReadonlyMap<string, Finding>,
  checkMs: number,
): Promise<Finding> {
  const missing = needs.filter((name) => !USABLE.has(findings.get(name)?.status))
  if (missing.length > 0) return skipped(`not possible without ${missing.join(', ')}`)
  try {
    if (mayTakeLong) return await run()
    return (await within(checkMs, run())) ?? fail(`no response within ${seconds(checkMs)}`, SLOW)
  } catch (error) {
    const { outcome, code } = innermostFailure(error) ?? {}
    const reason = [outcome ?? describeError(error).name, code].filter((part) => part !== undefined)
    return fail(
      `the check failed: ${reason.join(' ')}`,
      'Run the doctor again, and report it if it persists.',
    )
  }
}

const USABLE: ReadonlySet<unknown> = new Set<Finding['status']>(['ok', 'warn'])
const SLOW = 'Check DNS, firewalls and the network path; something drops packets or responds too slowly.'
const seconds = (ms: number) => `${ms / 1000} s`

/** Undefined if the time is over first. */
async function within<T>(ms: number, work: T | Promise<T>): Promise<T | undefined> {
  return inTime(Promise.resolve(work), ms, startTimer)
}
