import { expect, test } from '@jest/globals'
import { listenVariable } from '../../src/config/listen-variable.ts'

test.each([
  ['public', 'EADDRINUSE', 'PORT'],
  ['public', 'EACCES', 'PORT'],
  ['public', 'EADDRNOTAVAIL', 'HOST'],
  ['public', 'ENOTFOUND', 'HOST'],
  ['ops', 'EADDRINUSE', 'OPS_PORT'],
  ['ops', 'EADDRNOTAVAIL', 'OPS_HOST'],
  ['ops', 'EAI_AGAIN', 'OPS_HOST'],
  ['ops', undefined, 'OPS_PORT'],
] as const)('the %s listener, %s: %s', (listener, code, variable) => {
  expect(listenVariable(listener, Object.assign(new Error('refused'), { code }))).toBe(variable)
})
