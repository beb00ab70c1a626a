/**
 * `npm run mutants`: which changes of the modules that hold the rules no test notices.
 * `npm run mutants -- pam/roles` chooses others (scripts/mutants.mjs).
 */
const RULES = [
  'authn/transaction',
  'authn/throttling',
  'authn/sanitize',
  'authn/plan-step',
  'authn/decide',
  'authn/commit-step',
  'authn/settle-step',
  'authn/recovery',
  'session',
  'forward-auth',
  'org-events',
  'revocation',
  'pam',
  'http/cross-site',
]
const chosen = process.env.MUTATED?.split(',').filter((name) => name !== '') ?? []
const modules = chosen.length > 0 ? chosen : RULES

/** Tests in other folders. */
const FURTHER_TESTS = {
  'authn/plan-step': ['authn/recovery/plan-and-decide'],
  'authn/decide': ['authn/recovery/plan-and-decide', 'authn/redirects/redirect-step'],
  'authn/transaction': ['authn/sanitize/links', 'authn/decide'],
  'authn/settle-step': ['authn/run-step'],
  session: ['org-events/void-times'],
  'org-events': ['journeys/org-events', 'journeys/session-recheck'],
  revocation: ['journeys/session-revocation'],
}

/** The tests of a module, also for one of its folders or files. */
function testsOf(name) {
  const module = RULES.find((rule) => name === rule || name.startsWith(`${rule}/`)) ?? name
  return [`${module}*`, `${module}/**/*`, ...(FURTHER_TESTS[module] ?? [])].map(
    (tests) => `<rootDir>/test/${tests}.test.ts`,
  )
}

// test/support/until.ts: with many mutants, a test waits for an event that never occurs
process.env.UNTIL_TIMEOUT_MS = '3000'

export default {
  mutate: modules.flatMap((name) => [`src/${name}.ts`, `src/${name}/**/*.ts`]),
  testRunner: 'jest',
  plugins: ['@stryker-mutator/jest-runner'],
  jest: {
    projectType: 'custom',
    enableFindRelatedTests: false,
    config: {
      testMatch: [...new Set(modules.flatMap(testsOf))],
      testTimeout: 9000,
      testEnvironment: '@stryker-mutator/jest-runner/jest-env/node',
    },
  },
  coverageAnalysis: 'perTest',
  concurrency: 1,
  maxTestRunnerReuse: 8, // modules are never freed
  timeoutMS: 20_000,
  tempDirName: 'test-results/mutants',
  ignorePatterns: ['build', 'dist', 'test-results', 'bench', 'tools'],
  disableTypeChecks: false,
  tsconfigFile: 'none', // TypeScript 7 has no API to read it with
  incrementalFile: 'test-results/mutants.json',
  reporters: ['clear-text'],
  clearTextReporter: { allowColor: false, reportTests: false },
  thresholds: { high: 95, low: 90, break: 90 },
}
