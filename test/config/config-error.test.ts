import { expect, test } from '@jest/globals'
import { ConfigError, InvalidValue } from '../../src/config/config-error.ts'
import { deepFreeze } from '../../src/config/deep-freeze.ts'
import { createSecret } from '../../src/config/secret.ts'

test('an InvalidValue has all reasons, and joins them in its message', () => {
  const refusal = new InvalidValue('is odd', 'is even')
  expect(refusal).toMatchObject({
    name: 'InvalidValue',
    message: 'is odd; is even',
    reasons: ['is odd', 'is even'],
  })
})

test('a ConfigError names every problem and has exit code 78', () => {
  expect(new ConfigError(['PORT: a', 'HOST: b'])).toMatchObject({
    name: 'ConfigError',
    message: 'The configuration is not valid:\n  PORT: a\n  HOST: b',
    problems: ['PORT: a', 'HOST: b'],
    exitCode: 78,
  })
})

test('objects and arrays are frozen deeply; a secret can still be replaced', () => {
  const secret = createSecret('one')
  const value = { list: [{ deep: true }], none: null, text: 'x', already: Object.freeze({ in: {} }), secret }
  expect(deepFreeze(value)).toBe(value)
  for (const part of [value, value.list, value.list[0]]) expect(Object.isFrozen(part)).toBe(true)
  secret.replace('two')
  expect(value.secret.current()).toBe('two')
  expect([deepFreeze(null), deepFreeze('x'), deepFreeze(undefined)]).toEqual([null, 'x', undefined])
})
