import { availableParallelism } from 'node:os'

/** Packages that are ES modules only, or load parts of themselves with `import()`. */
const COMPILED = [
  'uuid',
  'jose',
  'p-limit',
  'yocto-queue',
  'httpxy',
  '@seriousme/openapi-schema-validator',
  '@opentelemetry/otlp-exporter-base',
]

/**
 * Compiles everything to CommonJS; types are checked by `npm run check`.
 */
export default {
  roots: ['<rootDir>/test', '<rootDir>/sandbox/test', '<rootDir>/demo/test', '<rootDir>/client/test'],
  testMatch: ['**/*.test.ts'],
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  transform: {
    '\\.(ts|js|mjs)$': [
      '@swc/jest',
      {
        jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
        module: { type: 'commonjs' },
        // beside the code: inline, they took a tenth of the processor time of all tests
        sourceMaps: true,
      },
    ],
  },
  transformIgnorePatterns: [`/node_modules/(?!(${COMPILED.join('|')})/)`],
  reporters: ['default', '<rootDir>/scripts/jest-result.mjs'],
  // setImmediate: messages between tabs do not wait for a timer
  fakeTimers: { doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] },
  testTimeout: 240_000,
  // many tests wait for processes, pages and stores. Jest reads '200%' as 200 workers
  maxWorkers: 2 * availableParallelism(),
  // at its end, a worker frees the memory of its files: on busy cores, not within the usual 0.5 s
  workerGracefulExitTimeout: 30_000,
}
