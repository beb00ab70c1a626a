/** The jest environment of test files that share the worker's global object (see runtime.mjs). */
import { ModernFakeTimers } from '@jest/fake-timers'

export default class SharedEnvironment {
  global = globalThis
  #environmentVariables = { ...process.env }
  #more

  constructor({ projectConfig }) {
    this.#more = projectConfig.testEnvironmentOptions
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis })
  }

  /** A test file sets environment variables with `@jest-environment-options` in its first comment. */
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
