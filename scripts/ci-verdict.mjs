/**
 * Ends .ci/run: `node scripts/ci-verdict.mjs <exit status of the test line>`. Says what is wrong, if anything is, and
 * ends with the line `N passed, N failed`. The counts are the test runner's own; a test that was skipped or is still
 * to be written has not passed, nor has a file that could not be run, so they count as failed.
 */
import { readFileSync } from 'node:fs'

const status = Number(process.argv[2] ?? 1)
const counts = readCounts()
const troubles = troublesOf(counts)
const passed = counts?.numPassedTests ?? 0
const failed = counts
  ? counts.numFailedTests + counts.numPendingTests + counts.numTodoTests + counts.numRuntimeErrorTestSuites
  : 0

for (const trouble of troubles) console.log(trouble)
console.log(`${passed} passed, ${troubles.length > 0 ? Math.max(1, failed) : failed} failed`)
process.exitCode = troubles.length > 0 ? 1 : 0

function readCounts() {
  try {
    return JSON.parse(readFileSync(new URL('../test-results/jest.json', import.meta.url), 'utf8'))
  } catch {
    return undefined // the line did not get as far as the tests; what it wrote above says why
  }
}

function troublesOf(result) {
  if (result === undefined) return [`No test ran (exit status ${status}).`]
  const found = [
    [result.numTotalTests === 0, 'No test ran.'],
    [result.numFailedTests > 0, `Tests that failed: ${result.numFailedTests}.`],
    [
      result.numRuntimeErrorTestSuites > 0,
      `Test files that could not be run: ${result.numRuntimeErrorTestSuites}.`,
    ],
    [
      result.numPendingTests + result.numTodoTests > 0,
      `Tests skipped or still to be written: ${result.numPendingTests + result.numTodoTests}.`,
    ],
    [result.numPendingTestSuites > 0, `Test files skipped: ${result.numPendingTestSuites}.`],
    [result.wasInterrupted, 'The tests were interrupted.'],
    [status !== 0, `The test line ended with exit status ${status}.`],
  ]
  return found.filter(([holds]) => holds).map(([, what]) => what)
}
