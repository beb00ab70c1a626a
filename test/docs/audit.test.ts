import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { AUDIT_FIELD_TEXTS } from '../../scripts/docs/audit.ts'
import { AUDIT_EVENTS, REVOCATION_REASONS } from '../../src/observability/audit-events.ts'
import { checkAuditLines, parseAuditLine } from '../support/audit-lines.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/audit.md'), 'utf8')

test('every reason for ending sessions is named', () => {
  for (const reason of REVOCATION_REASONS) expect(AUDIT_FIELD_TEXTS.reason).toContain(`\`${reason}\``)
})

describe('the examples', () => {
  const [, block = ''] = /```json\n([^`]*)```/.exec(PAGE) ?? []
  const examples = block
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

  test('are one of each event, in the order of the table', () => {
    expect(examples.map(({ event }) => event)).toEqual(Object.keys(AUDIT_EVENTS))
  })

  test.each(examples)('$event matches its schema', (line) => {
    expect(() => parseAuditLine(line)).not.toThrow()
  })

  test.each(examples)(
    '$event with an additional field, a missing field or a login in a hash is found',
    (line) => {
      expect(() => checkAuditLines([{ ...line, login: 'ada@example.com' }])).toThrow(/Unrecognized key/)
      expect(() => checkAuditLines([{ ...line, requestId: undefined }])).toThrow(/requestId/)
      expect(() => checkAuditLines([{ ...line, audit: undefined }])).toThrow(/audit/)
      if (line.loginHash !== undefined)
        expect(() => checkAuditLines([{ ...line, loginHash: 'ada@example.com' }])).toThrow(/loginHash/)
    },
  )
})

test('an audit line with an unknown event is refused', () => {
  expect(() => checkAuditLines([{ event: 'unknown_event', audit: true }])).toThrow(/not an audit event/)
})
