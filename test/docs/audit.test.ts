import { expect, test } from '@jest/globals'
import { AUDIT_FIELD_TEXTS } from '../../scripts/docs/audit.ts'
import { REVOCATION_REASONS } from '../../src/observability/audit-events.ts'
import { createAjv } from '../support/ajv.ts'
import { AUDIT_SCHEMA, checkAuditLines } from '../support/audit-lines.ts'

test('every reason for ending sessions is named', () => {
  for (const reason of REVOCATION_REASONS) expect(AUDIT_FIELD_TEXTS.reason).toContain(`\`${reason}\``)
})

test('an audit line with a login, without a field, with a login as a hash or with an unknown event is refused', () => {
  const line = {
    time: '2026-11-05T06:00:00.000Z',
    level: 'info',
    service: 'gatehouse',
    version: '0.3.0',
    process: '0b5e3f7e-6c1d-4c5e-9a55-0d6b7a1f2c3d',
    sequence: 7,
    event: 'sign_in_started',
    audit: true,
    requestId: 'made-up-id',
    address: '203.0.113.7',
    deviceHash: '7jMUBzdicQV3DTOQ',
    loginHash: 'e_CZLWr3pzsRajme',
    operation: 'primary',
  }
  expect(() => checkAuditLines([line])).not.toThrow()
  expect(() => checkAuditLines([{ ...line, login: 'ada@example.com' }])).toThrow(/additional properties/)
  expect(() => checkAuditLines([{ ...line, requestId: undefined }])).toThrow(/requestId/)
  expect(() => checkAuditLines([{ ...line, audit: undefined }])).toThrow(/audit/)
  expect(() => checkAuditLines([{ ...line, loginHash: 'ada@example.com' }])).toThrow(/loginHash/)
  expect(() => checkAuditLines([{ event: 'unknown_event', audit: true }])).toThrow(/not an audit event/)
})

test('the schema of audit lines is a valid JSON Schema', () => {
  const ajv = createAjv({ strict: true })
  expect([ajv.validateSchema(AUDIT_SCHEMA), ajv.errors]).toEqual([true, null])
  expect(ajv.validateSchema({ ...AUDIT_SCHEMA, $defs: { event: { type: 'texts' } } })).toBe(false)
})
