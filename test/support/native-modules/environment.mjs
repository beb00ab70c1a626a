/** The jest environment of test files that share the worker's global object (see runtime.mjs). */
import { ModernFakeTimers } from '@jest/fake-timers'

/** The mutant of `npm run mutants` for which a test has failed. Its other tests are skipped. */
let killed

function skipTests(block) {
  block.mode = 'skip'
  for (const child of block.children ?? []) skipTests(child)
}

export default class SharedEnvironment {
  global = globalThis
  #environmentVariables = { ...process.env }
  #more

  constructor({ projectConfig }) {
    this.#more = projectConfig.testEnvironmentOptions
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis })
  }

  handleTestEvent({ name, test }, { rootDescribeBlock }) {
    const mutant = process.env.__STRYKER_ACTIVE_MUTANT__
    if (mutant === undefined) return
    if (name === 'test_done' && test.errors.length > 0) killed = mutant
    if (killed === mutant && name === 'run_start') skipTests(rootDescribeBlock)
    if (killed === mutant && name === 'test_start') test.mode = 'skip'
  }

  /**
   * A test file sets environment variables with `@jest-environment-options` in its first comment.
   */
  async setup() {
    Object.assign(process.env, this.#more)
  }

  /** Restores the timers and environment variables for the next test file of this worker. */
  async teardown() {
    this.fakeTimersModern.dispose()
    for (const name of Object.keys(process.env)) delete process.env[name]
    Object.assign(process.env, this.#environmentVariables)
  }

  getVmContext() {
    return null
  }
}
