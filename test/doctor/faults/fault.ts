import { expect, test } from '@jest/globals'
import type { CheckResult } from '../../../src/doctor/check.ts'

/**
 * Something that an operator, a proxy, a cloud, Redis, an org or PAM does wrong, how it is brought
 * about, and what the doctor must say of it. Its id is its group and its name:
 * `proxy-headers/origin-removed`.
 */
export interface Fault<Cause> {
  readonly cause: Cause
  /** By check, `status: detail`. The others say what they say without the fault, or are skipped. */
  readonly told: Readonly<Record<string, string | RegExp>>
  /** What the first of these findings says must be done. */
  readonly fix: string
}

/** By name. */
export type Faults<Cause> = Readonly<Record<string, Fault<Cause>>>

/** By group. */
export type FaultGroups<Cause> = Readonly<Record<string, Faults<Cause>>>

/** Its result depends on how busy the machine is. */
const MEASURED = new Set(['redis.latency'])

/** One test for each fault. */
export function testFaults<Cause>(
  groups: FaultGroups<Cause>,
  diagnose: (cause: Cause) => Promise<readonly CheckResult[]>,
  /** The results without a fault. */
  healthy: () => readonly CheckResult[],
): void {
  const faults = Object.entries(groups).flatMap(([group, those]) =>
    Object.entries(those).map(([name, fault]) => ({ id: `${group}/${name}`, ...fault })),
  )
  test.each(faults)('$id', async ({ cause, told, fix }) => {
    const results = await diagnose(cause)
    const found = results.filter(({ name }) => name in told)
    expect(Object.fromEntries(found.map((result) => [result.name, said(result)]))).toEqual(
      Object.fromEntries(
        Object.entries(told).map(([name, says]) => [
          name,
          typeof says === 'string' ? says : expect.stringMatching(says),
        ]),
      ),
    )
    expect(found.find(({ name }) => name === Object.keys(told)[0])?.fix).toContain(fix)
    const others = results.filter(({ name, status }) => {
      const usual = healthy().find((result) => result.name === name)?.status
      return !(name in told || MEASURED.has(name) || status === 'skipped' || status === usual)
    })
    expect(others.map((result) => `${result.name} ${said(result)}`)).toEqual([])
  })
}

export const said = ({ status, detail }: CheckResult) => `${status}: ${detail}`
