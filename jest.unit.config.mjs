import everyday from './jest.config.mjs'

const FOLDERS = [
  'authn',
  'config',
  'crypto',
  'forward-auth',
  'http',
  'observability',
  'ops',
  'org-events',
  'pam',
  'revocation',
  'session',
  'upstream',
]

/**
 * `npm run test:unit`: the tests that need no build but that of the client (two seconds), and no
 * server or browser that is installed. `test/architecture.test.ts` checks that they start none.
 */
export default {
  ...everyday,
  roots: [...FOLDERS.map((name) => `<rootDir>/test/${name}`), '<rootDir>/sandbox/test'],
  testPathIgnorePatterns: ['/node_modules/', '/sandbox/test/package/', '/sandbox/test/prove/'],
  reporters: ['default'],
}
