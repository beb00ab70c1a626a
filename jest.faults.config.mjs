import everyday from './jest.config.mjs'

process.env.FUZZ_TIMES ??= '5'

/**
 * `npm run faults`: real processes, killed, paused and starved for minutes, and long runs of the
 * tests that `npm test` runs briefly; one suite at a time.
 */
export default {
  ...everyday,
  testMatch: ['**/*.fault.ts', '**/fuzz/*.test.ts', '**/links-property.test.ts', '**/offered-links.test.ts'],
  testTimeout: 900_000,
  maxWorkers: 1,
  reporters: ['default'],
}
