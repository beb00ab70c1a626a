/** Runs before each test file: property-based tests use few values, the same in each run, so that scores are reproducible. */
import fc from 'fast-check'

fc.configureGlobal({ numRuns: 20, seed: 1, endOnFailure: true })
