/** A jest reporter that writes the counts to test-results/jest.json, for scripts/ci-verdict.mjs. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'

const FILE = new URL('../test-results/jest.json', import.meta.url)

// biome-ignore lint/style/noDefaultExport: jest expects a reporter as the module's default export
export default class JestResult {
  /** Deletes the counts of the previous run, in case this run crashes. */
  onRunStart() {
    rmSync(FILE, { force: true })
  }

  onRunComplete(_contexts, results) {
    const { testResults: _each, openHandles: _handles, coverageMap: _coverage, ...counts } = results
    mkdirSync(new URL('.', FILE), { recursive: true })
    writeFileSync(FILE, `${JSON.stringify(counts, null, 2)}\n`)
  }
}
