import type { AsvsRow } from '../../scripts/docs/asvs-list.ts'
import { checkNamedTest, type ReadTest } from './named-tests.ts'

/**
 * Checks docs/asvs.json: each requirement of OWASP ASVS 5.0.0, levels 1 and 2, with its test or its reason. The numbers
 * of the standard are listed here, so that none can be forgotten.
 */
type Levels = readonly [one: readonly number[], two: readonly number[], three: readonly number[]]

const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, at) => first + at)

/** Section → the numbers of its requirements, by level. */
export const SECTIONS: Readonly<Record<string, Levels>> = {
  'V1.1': [[], [1, 2], []],
  'V1.2': [upTo(5), upTo(9, 6), [10]],
  'V1.3': [[1, 2], upTo(11, 3), [12]],
  'V1.4': [[], [1, 2, 3], []],
  'V1.5': [[1], [2], [3]],
  'V2.1': [[1], [2, 3], []],
  'V2.2': [[1, 2], [3], []],
  'V2.3': [[1], [2, 3, 4], [5]],
  'V2.4': [[], [1], [2]],
  'V3.1': [[], [], [1]],
  'V3.2': [[1, 2], [], [3]],
  'V3.3': [[1], [2, 3, 4], [5]],
  'V3.4': [
    [1, 2],
    [3, 4, 5, 6],
    [7, 8],
  ],
  'V3.5': [
    [1, 2, 3],
    [4, 5],
    [6, 7, 8],
  ],
  'V3.6': [[], [], [1]],
  'V3.7': [[], [1, 2], [3, 4, 5]],
  'V4.1': [[1], [2, 3], [4, 5]],
  'V4.2': [[], [1], upTo(5, 2)],
  'V4.3': [[], [1, 2], []],
  'V4.4': [[1], [2, 3, 4], []],
  'V5.1': [[], [1], []],
  'V5.2': [[1, 2], [3], [4, 5, 6]],
  'V5.3': [[1, 2], [], [3]],
  'V5.4': [[], [1, 2, 3], []],
  'V6.1': [[1], [2, 3], []],
  'V6.2': [upTo(8), upTo(12, 9), []],
  'V6.3': [[1, 2], [3, 4], upTo(8, 5)],
  'V6.4': [
    [1, 2],
    [3, 4],
    [5, 6],
  ],
  'V6.5': [[], upTo(5), [6, 7, 8]],
  'V6.6': [[], [1, 2, 3], [4]],
  'V6.7': [[], [], [1, 2]],
  'V6.8': [[], upTo(4), []],
  'V7.1': [[], [1, 2, 3], []],
  'V7.2': [upTo(4), [], []],
  'V7.3': [[], [1, 2], []],
  'V7.4': [[1, 2], [3, 4, 5], []],
  'V7.5': [[], [1, 2], [3]],
  'V7.6': [[], [1, 2], []],
  'V8.1': [[1], [2], [3, 4]],
  'V8.2': [[1, 2], [3], [4]],
  'V8.3': [[1], [], [2, 3]],
  'V8.4': [[], [1], [2]],
  'V9.1': [[1, 2, 3], [], []],
  'V9.2': [[1], [2, 3, 4], []],
  'V10.1': [[], [1, 2], []],
  'V10.2': [[], [1, 2], [3]],
  'V10.3': [[], upTo(4), [5]],
  'V10.4': [upTo(5), upTo(11, 6), upTo(16, 12)],
  'V10.5': [[], upTo(5), []],
  'V10.6': [[], [1, 2], []],
  'V10.7': [[], [1, 2, 3], []],
  'V11.1': [[], [1, 2], [3, 4]],
  'V11.2': [[], [1, 2, 3], [4, 5]],
  'V11.3': [[1, 2], [3], [4, 5]],
  'V11.4': [[1], [2, 3, 4], []],
  'V11.5': [[], [1], [2]],
  'V11.6': [[], [1], [2]],
  'V11.7': [[], [], [1, 2]],
  'V12.1': [[1], [2, 3], [4, 5]],
  'V12.2': [[1, 2], [], []],
  'V12.3': [[], upTo(4), [5]],
  'V13.1': [[], [1], [2, 3, 4]],
  'V13.2': [[], upTo(5), [6]],
  'V13.3': [[], [1, 2], [3, 4]],
  'V13.4': [[1], upTo(5, 2), [6, 7]],
  'V14.1': [[], [1, 2], []],
  'V14.2': [[1], [2, 3, 4], upTo(8, 5)],
  'V14.3': [[1], [2, 3], []],
  'V15.1': [[1], [2, 3], [4, 5]],
  'V15.2': [[1], [2, 3], [4, 5]],
  'V15.3': [[1], upTo(7, 2), []],
  'V15.4': [[], [], upTo(4)],
  'V16.1': [[], [1], []],
  'V16.2': [[], upTo(5), []],
  'V16.3': [[], upTo(4), []],
  'V16.4': [[], [1, 2, 3], []],
  'V16.5': [[], [1, 2, 3], [4]],
  'V17.1': [[], [1], [2]],
  'V17.2': [[], upTo(4), upTo(8, 5)],
  'V17.3': [[], [1, 2], []],
}

/** The requirements of a level, such as `V1.2.3`. */
export function requirementsOf(level: 1 | 2 | 3): string[] {
  return Object.entries(SECTIONS).flatMap(([section, levels]) =>
    (levels[level - 1] ?? []).map((number) => `${section}.${number}`),
  )
}

/** Every problem of the rows, one sentence each. */
export function checkAsvsRows(
  rows: readonly AsvsRow[],
  readTest: ReadTest,
  wanted = [...requirementsOf(1), ...requirementsOf(2)],
): string[] {
  const known = new Set([...wanted, ...requirementsOf(3)])
  const covered = rows.flatMap(({ id }) => (known.has(id) ? [id] : wanted.filter((one) => isIn(one, id))))
  return [
    ...rows.flatMap(({ id, tests }) =>
      Object.entries(tests)
        .flatMap(([path, titles]) => titles.flatMap((title) => checkNamedTest(path, title, readTest)))
        .map((problem) => `${id}: ${problem}`),
    ),
    ...rows
      .filter(({ id }) => !known.has(id) && !wanted.some((one) => isIn(one, id)))
      .map(({ id }) => `${id}: is no requirement, section or chapter of the standard`),
    ...wanted.filter((id) => !covered.includes(id)).map((id) => `${id}: is missing`),
    ...[...new Set(covered.filter((id, at) => covered.indexOf(id) !== at))].map(
      (id) => `${id}: has two rows`,
    ),
  ]
}

function isIn(requirement: string, sectionOrChapter: string): boolean {
  return requirement.startsWith(`${sectionOrChapter}.`)
}
