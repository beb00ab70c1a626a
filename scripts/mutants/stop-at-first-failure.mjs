/**
 * Once a test has failed, the mutant is noticed, and its other tests are skipped: jest cannot do this by itself. Many of them
 * would wait for something that never happens.
 */
import { TestEnvironment } from 'jest-environment-node'

/** The mutant that a test has noticed; Stryker names the one that it tests in this variable. */
let noticed
const current = () => process.env.__STRYKER_ACTIVE_MUTANT__

export default class StopAtFirstFailure extends TestEnvironment {
  handleTestEvent({ name, test }) {
    if (current() === undefined) return // the first run, without a mutant
    if (name === 'test_done' && test.errors.length > 0) noticed = current()
    if (name === 'test_start' && noticed === current()) test.mode = 'skip'
  }
}
