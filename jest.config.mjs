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
  restoreMocks: true,
  forceExit: false,
}
