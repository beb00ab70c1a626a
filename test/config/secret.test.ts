import { format, inspect } from 'node:util'
import { expect, test } from '@jest/globals'
import { createSecret } from '../../src/config/secret.ts'

test('only current() returns the value', () => {
  const secret = createSecret('marked')
  const texts = [
    JSON.stringify({ secret }),
    `${secret}`,
    String(secret),
    inspect({ secret }, { showHidden: true, depth: 9 }),
    inspect(secret, { customInspect: false, showHidden: true }),
    format('%s %o %j', secret, secret, secret),
    JSON.stringify({ ...secret }),
  ]
  for (const text of texts) expect(text).not.toContain('marked')
  expect(String(secret)).toBe('[secret]')
  expect(JSON.stringify(secret)).toBe('"[secret]"')
  expect(inspect(secret)).toBe('[secret]')
  expect(secret.current()).toBe('marked')
})

test('a listener is called with each new value until it unsubscribes', () => {
  const secret = createSecret(1)
  const received: number[] = []
  const stop = secret.onChange((value) => received.push(value))
  secret.replace(2)
  stop()
  secret.replace(3)
  expect(received).toEqual([2])
  expect(secret.current()).toBe(3)
})

test('a listener that throws does not prevent the others from being called', () => {
  const secret = createSecret('old')
  const received: string[] = []
  secret.onChange(() => {
    throw new Error('no')
  })
  secret.onChange((value) => received.push(value))
  expect(() => secret.replace('new')).toThrow(
    new AggregateError([], 'A listener failed to use the new secret'),
  )
  expect(received).toEqual(['new'])
})
