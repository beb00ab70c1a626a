import Sequencer from '@jest/test-sequencer'

const LONGEST = /\/test\/(demo|widget|sandbox-package|examples|doctor\/command|journeys\/operability)\b/

/**
 * Runs the longest test files first, even without timings of earlier runs, so that no worker runs
 * one of them alone at the end.
 */
// biome-ignore lint/style/noDefaultExport: jest expects a sequencer as the module's default export
export default class LongestFirst extends Sequencer {
  async sort(tests) {
    const sorted = await super.sort(tests)
    const isLong = ({ path }) => LONGEST.test(path)
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))]
  }
}
