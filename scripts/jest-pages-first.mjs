import Sequencer from '@jest/test-sequencer'

const PAGES = /\/test\/(demo|widget|sandbox-package|examples)\//

/** Runs the longest test files first, even without timings of earlier runs, so that no worker runs one of them alone at the end. */
// biome-ignore lint/style/noDefaultExport: jest expects a sequencer as the module's default export
export default class PagesFirst extends Sequencer {
  async sort(tests) {
    const sorted = await super.sort(tests)
    const isPage = ({ path }) => PAGES.test(path)
    return [...sorted.filter(isPage), ...sorted.filter((test) => !isPage(test))]
  }
}
