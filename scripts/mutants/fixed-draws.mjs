/** Before each test file: properties draw few values, and the same ones in each run, so that a score can be measured again. */
import fc from 'fast-check'

fc.configureGlobal({ numRuns: 20, seed: 1, endOnFailure: true })
