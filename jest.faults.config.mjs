import everyday from './jest.config.mjs'

/** `npm run faults`: real processes, killed, paused and starved for minutes; one suite at a time. */
export default {
  ...everyday,
  testMatch: ['**/*.fault.ts'],
  testTimeout: 900_000,
  maxWorkers: 1,
  reporters: ['default'],
}
