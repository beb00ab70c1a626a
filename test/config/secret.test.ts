import { format, inspect } from 'node:util'
import { expect, test } from '@jest/globals'
import { createSecret } from '../../src/config/secret.ts'

// shows: V13.3.2
test('only `value` shows the value', () => {
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
  expect(secret.value).toBe('marked')
})
