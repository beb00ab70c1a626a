/** Runs the TypeScript as it stands, as ES modules; types are checked by `npm run check`. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  reporters: ['default', '<rootDir>/scripts/jest-result.mjs'],
  testTimeout: 240_000,
  maxWorkers: 2,
  // A worker keeps the modules of every test file that it has run (Node 20 does not free modules of a vm context; the whole broker
  // takes 11 MB). It is replaced between two files when its heap holds more than this; `npm test` caps the heap, garbage included.
  workerIdleMemoryLimit: '400MB',
  restoreMocks: true,
  forceExit: false,
}
