import { expect, test } from '@jest/globals'
import { ConfigError } from '../../src/config/config-error.ts'

test('a ConfigError names every problem and has exit code 78', () => {
  expect(new ConfigError('PORT: a', 'HOST: b')).toMatchObject({
    name: 'ConfigError',
    message: 'The configuration is not valid:\n  PORT: a\n  HOST: b',
    problems: ['PORT: a', 'HOST: b'],
    exitCode: 78,
  })
})
