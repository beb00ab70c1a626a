/**
 * Runs test files with Node's module loader instead of jest's. jest's loader compiles all modules
 * again for each test file, in a `vm` context: this costs half a second per file, and Node 20 never
 * frees the memory. With this runtime, a jest worker loads each module of src/, test/support/ and
 * node_modules/ once. jest still finds files and runs workers, hooks, time limits and results.
 *
 * Test files of one worker therefore share module state. Modules of src/ have none, and modules of
 * test/support/ must leave none behind. Module mocks, coverage and `setupFiles` in CommonJS are not
 * available.
 */
import { createRequire, register } from 'node:module'
import { pathToFileURL } from 'node:url'
import { setGlobals } from './globals.mjs'

const require = createRequire(import.meta.url)
const asyncHooks = require('node:async_hooks')
const { AsyncLocalStorage } = asyncHooks
let loaded = 0

// jest keeps the current test in an `AsyncLocalStorage` for each test file, and Node 20 visits all
// of them whenever a promise is created: a fifth of all CPU time. The tests of a file run one after
// the other, so a variable does the same.
class CurrentTest {
  getStore() {
    return this.test
  }

  async run(test, callback) {
    const outer = this.test
    this.test = test
    await callback()
    this.test = outer
  }
}

export default class NativeRuntime {
  #environment

  constructor({ transform }, environment) {
    this.#environment = environment
    if (loaded === 0) {
      const [[_pattern, _transformer, swcOptions]] = transform
      register('./hooks.mjs', import.meta.url, { data: swcOptions })
      process.setSourceMapsEnabled(true)
    }
  }

  /** Loads jest's test framework, which keeps the state of one test file. */
  requireInternalModule(path) {
    delete require.cache[path]
    delete globalThis[Symbol.for('EVENT_HANDLERS')]
    delete Error.prepareStackTrace // set by jest; Node has the source maps itself
    asyncHooks.AsyncLocalStorage = CurrentTest
    const framework = require(path)
    asyncHooks.AsyncLocalStorage = AsyncLocalStorage
    return framework
  }

  setGlobalsForRuntime(globals) {
    const jest = new Proxy(this.#environment.fakeTimersModern, {
      get: (timers, name) => timers[name].bind(timers), // globals.mjs does not call it as a method
    })
    setGlobals({ ...globals, jest })
  }

  unstable_shouldLoadAsEsm() {
    return true
  }

  unstable_importModule(path) {
    loaded += 1
    const mutant = process.env.__STRYKER_ACTIVE_MUTANT__ ?? ''
    return import(`${pathToFileURL(path)}?load=${loaded}&mutant=${mutant}`)
  }

  requireModule(path) {
    return require(path)
  }

  /** Removes the framework's state, with all tests of the file, from the global object. */
  teardown() {
    setGlobals(undefined)
    for (const symbol of Object.getOwnPropertySymbols(globalThis))
      if (symbol.description === 'JEST_STATE_SYMBOL') delete globalThis[symbol]
  }

  restoreAllMocks() {}
  enterTestCode() {}
  leaveTestCode() {}
  getSourceMaps() {
    return new Map()
  }
  getAllCoverageInfoCopy() {}
}
