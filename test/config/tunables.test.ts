import { expect, test } from '@jest/globals'
import { ConfigError } from '../../src/config/config-error.ts'
import { defaultTunables } from '../../src/config/load-config.ts'
import { parseTunables } from '../../src/config/tunables.ts'

/** The defaults with the figure at `path` set to `value` (undefined takes it away). */
function changed(path: string, value: unknown): unknown {
  const data = JSON.parse(JSON.stringify(defaultTunables()))
  const keys = path.split('.')
  const last = keys.pop() ?? ''
  const group = keys.reduce((at, key) => at[key], data)
  group[last] = value
  return data
}

function problemsIn(data: unknown): readonly string[] {
  try {
    parseTunables(data)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

test.each([
  ['http.bodyLimitByts', 1, 'config/default.json: http.bodyLimitByts is not known'],
  ['extra', {}, 'config/default.json: extra is not known'],
  ['http.bodyLimitBytes', 0, 'config/default.json: http.bodyLimitBytes must be at least 1024'],
  [
    'http.bodyLimitBytes',
    '65536',
    'config/default.json: http.bodyLimitBytes must be there and be of type number',
  ],
  [
    'store.commandTimeoutMs',
    1.5,
    'config/default.json: store.commandTimeoutMs must be there and be of type int',
  ],
  ['store', undefined, 'config/default.json: store must be there and be of type object'],
  ['device.cookieDays', 401, 'config/default.json: device.cookieDays must be at most 400'],
  ['pam.token.jitterShare', 2, 'config/default.json: pam.token.jitterShare must be at most 1'],
  ['http.maxUrlBytes', 32768, 'http.maxUrlBytes is more than http.maxHeaderBytes'],
  ['http.unfinishedBodies.total.bytes', 65535, 'total.bytes is less than http.bodyLimitBytes'],
  ['http.unfinishedBodies.perAddress.bytes', 65535, 'perAddress.bytes is less than http.bodyLimitBytes'],
  ['http.headersTimeoutMs', 30000, 'http.headersTimeoutMs is more than http.requestTimeoutMs'],
  ['http.shutdownGraceMs', 9000, 'http.shutdownGraceMs leaves no time for a running upstream call'],
  ['upstream.pam.connectTimeoutMs', 20000, 'upstream.pam.connectTimeoutMs is more than'],
  ['transaction.defaultTtlMinutes', 90, 'transaction.defaultTtlMinutes does not lie between'],
  ['transaction.stepLockMs', 10000, 'transaction.stepLockMs must be more than upstream.authn.totalTimeoutMs'],
  ['pam.lists.staleMs', 1, 'pam.lists.staleMs is less than pam.lists.freshMs'],
  ['pam.lists.onErrorMs', 1, 'pam.lists.onErrorMs is less than pam.lists.staleMs'],
  ['pam.token.refusedPauseMaxMs', 1, 'pam.token.refusedPauseMaxMs is less than'],
  ['limits.password.perPerson.inARow.attempts', 61, 'are more than 100 together'],
  ['limits.code.perKnownPerson.inARow.attempts', 41, 'are more than 100 together'],
  ['limits.password.perPerson.inARow', undefined, 'limits.password.perPerson.inARow must be there'],
])('%s = %j is refused, by its path', (path, value, problem) => {
  expect(problemsIn(changed(path, value))).toEqual([expect.stringContaining(problem)])
})

test('a file that is no object is refused', () => {
  expect(problemsIn([])).toEqual(['config/default.json: the file must be there and be of type object'])
})

test('the shipped figures are sound and frozen', () => {
  const tunables = defaultTunables()
  expect(problemsIn(tunables)).toEqual([])
  expect(Object.isFrozen(tunables.upstream.authn.breaker)).toBe(true)
})
