import { expect, test } from '@jest/globals'
import { ConfigError } from '../../src/config/config-error.ts'
import { defaultTunables } from '../../src/config/load-config.ts'
import { parseTunables } from '../../src/config/tunables.ts'

/** The defaults with the setting at `path` set to `value`; undefined removes it. */
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
  ['http.bodyLimitByts', 1, 'config/default.json: http.bodyLimitByts is unknown'],
  ['extra', {}, 'config/default.json: extra is unknown'],
  ['http.bodyLimitBytes', 0, 'config/default.json: http.bodyLimitBytes must be at least 1024'],
  [
    'http.bodyLimitBytes',
    '65536',
    'config/default.json: http.bodyLimitBytes is missing or not of type number',
  ],
  [
    'store.commandTimeoutMs',
    1.5,
    'config/default.json: store.commandTimeoutMs is missing or not of type int',
  ],
  ['store', undefined, 'config/default.json: store is missing or not of type object'],
  ['pam.token.jitterShare', -0.1, 'config/default.json: pam.token.jitterShare must be at least 0'],
  ['store', null, 'config/default.json: store is missing or not of type object'],
  ['device.cookieDays', 401, 'config/default.json: device.cookieDays must be at most 400'],
  ['pam.token.jitterShare', 1.1, 'config/default.json: pam.token.jitterShare must be at most 1'],
  ['http.maxUrlBytes', 32768, 'http.maxUrlBytes is more than http.maxHeaderBytes'],
  ['http.unfinishedBodies.total.bytes', 65535, 'total.bytes is less than http.bodyLimitBytes'],
  ['http.unfinishedBodies.perAddress.bytes', 65535, 'perAddress.bytes is less than http.bodyLimitBytes'],
  ['http.headersTimeoutMs', 30000, 'http.headersTimeoutMs is more than http.requestTimeoutMs'],
  ['http.shutdownGraceMs', 9000, 'http.shutdownGraceMs leaves no time for a running upstream call'],
  ['upstream.pam.connectTimeoutMs', 20000, 'upstream.pam.connectTimeoutMs is more than'],
  ['transaction.defaultTtlMinutes', 90, 'transaction.defaultTtlMinutes is not between'],
  ['transaction.stepLockMs', 10000, 'transaction.stepLockMs must be more than authn.signInWaitMs'],
  ['pam.lists.staleMs', 1, 'pam.lists.staleMs is less than pam.lists.freshMs'],
  ['pam.lists.onErrorMs', 1, 'pam.lists.onErrorMs is less than pam.lists.staleMs'],
  ['pam.token.refusedPauseMaxMs', 1, 'pam.token.refusedPauseMaxMs is less than'],
  ['limits.password.perUser.inARow.attempts', 61, 'are more than 100 together'],
  ['limits.code.perKnownUser.inARow.attempts', 41, 'are more than 100 together'],
  ['limits.password.perUser.inARow', undefined, 'limits.password.perUser.inARow is missing'],
])('%s = %j is refused, and the message names its path', (path, value, problem) => {
  expect(problemsIn(changed(path, value))).toEqual([expect.stringContaining(problem)])
})

/** Each setting with its last valid value, the step to the first invalid one, and the message for that. */
test.each([
  ['http.maxUrlBytes', 16384, +1, 'is more than http.maxHeaderBytes'],
  ['http.unfinishedBodies.total.bytes', 65536, -1, 'is less than http.bodyLimitBytes'],
  ['http.unfinishedBodies.perAddress.bytes', 65536, -1, 'is less than http.bodyLimitBytes'],
  ['http.headersTimeoutMs', 20000, +1, 'is more than http.requestTimeoutMs'],
  [
    'http.shutdownGraceMs',
    13000,
    -1,
    'leaves no time for a running upstream call after http.readinessLeadMs',
  ],
  ['upstream.authn.connectTimeoutMs', 10000, +1, 'is more than upstream.authn.totalTimeoutMs'],
  ['upstream.pam.connectTimeoutMs', 10000, +1, 'is more than upstream.pam.totalTimeoutMs'],
  [
    'transaction.defaultTtlMinutes',
    60,
    +1,
    'is not between transaction.minTtlMinutes and transaction.maxTtlMinutes',
  ],
  [
    'transaction.stepLockMs',
    14501,
    -1,
    'must be more than authn.signInWaitMs, authn.rateLimit.maxWaitMs and upstream.authn.totalTimeoutMs together, or the lock could expire during the call',
  ],
  ['pam.lists.staleMs', 60000, -1, 'is less than pam.lists.freshMs'],
  ['pam.lists.onErrorMs', 600000, -1, 'is less than pam.lists.staleMs'],
  ['pam.lists.meOnErrorMs', 60000, -1, 'is less than pam.lists.freshMs'],
  ['pam.token.refusedPauseMaxMs', 60000, -1, 'is less than pam.token.refusedPauseMinMs'],
  [
    'limits.password.perUser.inARow.attempts',
    60,
    +1,
    'and limits.password.perKnownUser.inARow.attempts are more than 100 together',
  ],
  [
    'limits.code.perUser.inARow.attempts',
    60,
    +1,
    'and limits.code.perKnownUser.inARow.attempts are more than 100 together',
  ],
])('%s may be %i; %i more contradicts another setting', (path, last, step, why) => {
  expect(problemsIn(changed(path, last))).toEqual([])
  expect(problemsIn(changed(path, last + step))).toEqual([`config/default.json: ${path} ${why}`])
})

test.each([
  ['authn.signInWaitMs', 4499],
  ['authn.rateLimit.maxWaitMs', 1999],
  ['upstream.authn.totalTimeoutMs', 10999],
])('%s may be %i; one more takes longer than transaction.stepLockMs', (path, last) => {
  expect(problemsIn(changed(path, last))).toEqual([])
  expect(problemsIn(changed(path, last + 1))).toEqual([
    expect.stringContaining('transaction.stepLockMs must'),
  ])
})

test('transaction.defaultTtlMinutes is not below its minimum', () => {
  const path = 'transaction.minTtlMinutes'
  expect(problemsIn(changed(path, 5))).toEqual([])
  expect(problemsIn(changed(path, 6))).toEqual([
    expect.stringContaining('transaction.defaultTtlMinutes is not between'),
  ])
})

test('all contradictions are reported at once', () => {
  const data = [changed('http.maxUrlBytes', 16385), changed('pam.lists.meOnErrorMs', 1)] as const
  const both = { ...(data[0] as object), pam: (data[1] as { pam: unknown }).pam }
  expect(problemsIn(both)).toHaveLength(2)
})

test('a file that does not contain an object is refused', () => {
  expect(problemsIn([])).toEqual(['config/default.json: the file is missing or not of type object'])
})

test('the shipped tunables are valid and frozen', () => {
  const tunables = defaultTunables()
  expect(problemsIn(tunables)).toEqual([])
  expect(Object.isFrozen(tunables.upstream.authn.breaker)).toBe(true)
})
