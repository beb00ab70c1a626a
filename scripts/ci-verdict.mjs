/**
 * Ends .ci/run: `node scripts/ci-verdict.mjs <exit status of the test command>`. Prints the
 * problems, if any, and the line `N passed, N failed`. The counts are the test runner's. Skipped
 * tests, todos and files that could not run count as failed.
 */
import { readFileSync } from 'node:fs'

const status = Number(process.argv[2] ?? 1)
const counts = readCounts()
const problems = problemsOf(counts)
const passed = counts?.numPassedTests ?? 0
const failed = counts
  ? counts.numFailedTests + counts.numPendingTests + counts.numTodoTests + counts.numRuntimeErrorTestSuites
  : 0

for (const problem of problems) console.log(problem)
console.log(`${passed} passed, ${problems.length > 0 ? Math.max(1, failed) : failed} failed`)
process.exitCode = problems.length > 0 ? 1 : 0

function readCounts() {
  try {
    return JSON.parse(readFileSync(new URL('../test-results/jest.json', import.meta.url), 'utf8'))
  } catch {
    return undefined // the tests did not start; the output above shows why
  }
}

function problemsOf(result) {
  if (result === undefined) return [`No test ran (exit status ${status}).`]
  const checks = [
    [result.numTotalTests === 0, 'No test ran.'],
    [result.numFailedTests > 0, `Failed tests: ${result.numFailedTests}.`],
    [
      result.numRuntimeErrorTestSuites > 0,
      `Test files that could not run: ${result.numRuntimeErrorTestSuites}.`,
    ],
    [
      result.numPendingTests + result.numTodoTests > 0,
      `Skipped tests and todos: ${result.numPendingTests + result.numTodoTests}.`,
    ],
    [result.numPendingTestSuites > 0, `Skipped test files: ${result.numPendingTestSuites}.`],
    [result.wasInterrupted, 'The tests were interrupted.'],
    [status !== 0, `The test command exited with status ${status}.`],
  ]
  return checks.filter(([isProblem]) => isProblem).map(([, message]) => message)
}
