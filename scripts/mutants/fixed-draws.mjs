/** Runs before each test file: property-based tests draw few values, the same ones in each run, so scores are reproducible. */
import fc from 'fast-check'

fc.configureGlobal({ numRuns: 20, seed: 1, endOnFailure: true })
