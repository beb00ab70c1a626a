import { statSync } from 'node:fs'
import Sequencer from '@jest/test-sequencer'

/** Runs the shortest test files first: each tests one module, and finds a mutant soonest. */
// biome-ignore lint/style/noDefaultExport: jest expects a sequencer as the module's default export
export default class ShortestFirst extends Sequencer {
  sort(tests) {
    return tests.toSorted((one, other) => statSync(one.path).size - statSync(other.path).size)
  }
}
