/** A jest reporter that writes the counts to test-results/jest.json, for scripts/ci-verdict.mjs. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FILE = join(dirname(fileURLToPath(import.meta.url)), '..', 'test-results', 'jest.json')

// biome-ignore lint/style/noDefaultExport: jest expects a reporter as the module's default export
export default class JestResult {
  /** Deletes the counts of the previous run, in case this run crashes. */
  onRunStart() {
    rmSync(FILE, { force: true })
  }

  onRunComplete(_contexts, results) {
    const { testResults: _each, openHandles: _handles, coverageMap: _coverage, ...counts } = results
    mkdirSync(dirname(FILE), { recursive: true })
    writeFileSync(FILE, `${JSON.stringify(counts, null, 2)}\n`)
  }
}
