import { expect, test } from '@jest/globals'
import { LOG_FIELD_TEXTS } from '../../scripts/docs/log-fields.ts'
import { collectLog } from '../observability/collect-log.ts'

test('docs/logs.md has every field that a log line may have', () => {
  const { log, lines } = collectLog()
  log.error('unexpected_error', {}, new Error('made up'))
  log.audit('admin_call', {
    requestId: 'made-up-id',
    address: '127.0.0.1',
    operation: 'none',
    status: 401,
  })
  const fields = lines().flatMap((line) => Object.keys(line))
  expect(fields.length).toBeGreaterThan(8)
  expect(fields.filter((name) => !Object.hasOwn(LOG_FIELD_TEXTS, name))).toEqual([])
})
