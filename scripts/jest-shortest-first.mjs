import { statSync } from 'node:fs'
import Sequencer from '@jest/test-sequencer'

/** The shortest test files, which test one module, soonest find a mutant. */
// biome-ignore lint/style/noDefaultExport: jest expects a sequencer as the module's default export
export default class ShortestFirst extends Sequencer {
  sort(tests) {
    return tests.toSorted((one, other) => statSync(one.path).size - statSync(other.path).size)
  }
}
