/**
 * Skips the remaining tests of a mutant after the first failure, which jest cannot do itself. Many of them would wait for
 * an event that never occurs.
 */
import { TestEnvironment } from 'jest-environment-node'

/** The mutant that a test has detected. Stryker sets the current mutant in an environment variable. */
let detected
const current = () => process.env.__STRYKER_ACTIVE_MUTANT__

export default class StopAtFirstFailure extends TestEnvironment {
  handleTestEvent({ name, test }) {
    if (current() === undefined) return // the first run, without a mutant
    if (name === 'test_done' && test.errors.length > 0) detected = current()
    if (name === 'test_start' && detected === current()) test.mode = 'skip'
  }
}
