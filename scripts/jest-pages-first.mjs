import Sequencer from '@jest/test-sequencer'

const PAGES = /\/test\/(demo|widget)\//

/** Runs the longest test files first, also where no run before has measured any: no worker is then left alone with one of them. */
// biome-ignore lint/style/noDefaultExport: jest takes a sequencer as the module's default export
export default class PagesFirst extends Sequencer {
  async sort(tests) {
    const sorted = await super.sort(tests)
    const isPage = ({ path }) => PAGES.test(path)
    return [...sorted.filter(isPage), ...sorted.filter((test) => !isPage(test))]
  }
}
