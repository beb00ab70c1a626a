/**
 * Runs test files with Node's own module loader, in place of jest's. jest loads all modules anew for each test file, into a
 * `vm` context: that costs half a second a file, and Node 20 never frees them. Here a jest worker loads each module of
 * src/, test/support/ and node_modules/ once. All else is jest's: finding files, workers, hooks, time limits, results.
 *
 * So test files of one worker share the state of modules. No module of src/ has any; one of test/support/ must leave none behind.
 * Not available, as nothing needs them: mocks of modules, coverage, `setupFiles` in CommonJS.
 */
import { createRequire, register } from 'node:module'
import { pathToFileURL } from 'node:url'
import { setGlobals } from './globals.mjs'

const require = createRequire(import.meta.url)
const asyncHooks = require('node:async_hooks')
let loaded = 0

/**
 * Stands for the `AsyncLocalStorage` in which jest keeps the test that runs. Only one runs at a time, and the real one makes
 * Node 20 call hooks at every promise: a fifteenth of all CPU time.
 */
class CurrentTest {
  #current

  getStore() {
    return this.#current
  }

  run(test, callback) {
    this.#current = test
    return callback()
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

  /** Loads jest's test framework, whose state is that of one test file. */
  requireInternalModule(path) {
    delete require.cache[path]
    delete globalThis[Symbol.for('EVENT_HANDLERS')]
    delete Error.prepareStackTrace // jest's own: Node knows the source maps of what it has loaded
    const { AsyncLocalStorage } = asyncHooks
    asyncHooks.AsyncLocalStorage = CurrentTest
    try {
      return require(path)
    } finally {
      asyncHooks.AsyncLocalStorage = AsyncLocalStorage
    }
  }

  setGlobalsForRuntime(globals) {
    const jest = new Proxy(this.#environment.fakeTimersModern, {
      get: (timers, name) => timers[name].bind(timers), // called through globals.mjs, not as its method
    })
    setGlobals({ ...globals, jest })
  }

  unstable_shouldLoadAsEsm() {
    return true
  }

  unstable_importModule(path) {
    loaded += 1
    return import(`${pathToFileURL(path)}?load=${loaded}`)
  }

  requireModule(path) {
    return require(path)
  }

  /** The framework leaves its state, with all tests of the file, on the global object. */
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
