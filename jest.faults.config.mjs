import everyday from './jest.config.mjs'

process.env.FUZZ_TIMES ??= '5'
process.env.FLOOD_ATTEMPTS ??= '10000'
process.env.SLOW_CONNECTIONS ??= '3000'

/**
 * `npm run faults`: real processes, killed, paused and starved for minutes, and long runs of the tests that `npm test` runs
 * briefly; one suite at a time.
 */
export default {
  ...everyday,
  testMatch: [
    '**/*.fault.ts',
    '**/fuzz/*.test.ts',
    '**/links-property.test.ts',
    '**/offered-links.test.ts',
    '**/throttling-brute-force.test.ts',
    '**/incomplete-request-bodies.test.ts',
  ],
  testTimeout: 900_000,
  maxWorkers: 1,
  reporters: ['default'],
}
