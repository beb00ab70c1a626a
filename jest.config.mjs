import { availableParallelism } from 'node:os'

/** Runs the TypeScript as it stands, as ES modules; types are checked by `npm run check`. */
export default {
  runtime: '<rootDir>/test/support/native-modules/runtime.mjs',
  testEnvironment: '<rootDir>/test/support/native-modules/environment.mjs',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript' },
          experimental: { keepImportAttributes: true },
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  reporters: ['default', '<rootDir>/scripts/jest-result.mjs'],
  testTimeout: 240_000,
  // Node's own modules use these, of the same global object
  fakeTimers: { doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] },
  testSequencer: '<rootDir>/scripts/jest-longest-first.mjs',
  maxWorkers: 2 * availableParallelism(), // many tests wait for processes, pages and stores
  // The modules of test files, and what they hold, stay in the worker: it is replaced between two
  // files when its heap exceeds this.
  workerIdleMemoryLimit: '700MB',
  forceExit: false,
}
