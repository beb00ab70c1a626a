import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import type { z } from 'zod'
import { AUDIT_EVENTS, REVOCATION_REASONS } from '../../src/observability/audit-events.ts'
import { checkAuditLines, parseAuditLine } from '../support/audit-lines.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/audit.md'), 'utf8')
const schemas: readonly (readonly [string, z.ZodObject])[] = Object.entries(AUDIT_EVENTS)

function rowsUnder(heading: string): string[][] {
  const section = PAGE.split(/^## /m).find((one) => one.startsWith(heading)) ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.map((row) => row.split('|').slice(1, -1))
}
const namesIn = (cell: string | undefined) => [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name)

test('every event has its row, with exactly its fields, and those that may be missing marked', () => {
  const documented = rowsUnder('Events').map(([event, , fields]) => [
    namesIn(event)[0],
    namesIn(fields).toSorted(),
  ])
  const expected = schemas.map(([event, { shape }]) => [
    event,
    Object.entries(shape)
      .map(([name, schema]) => (isOptional(schema) ? `${name}?` : name))
      .toSorted(),
  ])
  expect(documented).toEqual(expected)
})

test('every field of an event is explained once', () => {
  const explained = rowsUnder('Fields').flatMap(([names]) => namesIn(names))
  const used = new Set(schemas.flatMap(([, { shape }]) => Object.keys(shape)))
  expect(explained.toSorted()).toEqual([...used].toSorted())
})

test('every reason for ending sessions is named', () => {
  const [, holds] = rowsUnder('Fields').find(([names]) => names?.includes('`reason`')) ?? []
  expect(namesIn(holds)).toEqual(expect.arrayContaining([...REVOCATION_REASONS]))
})

describe('the examples', () => {
  const [, block = ''] = /```json\n([^`]*)```/.exec(PAGE) ?? []
  const examples = block
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

  test('are one of each event, in the order of the table', () => {
    expect(examples.map(({ event }) => event)).toEqual(schemas.map(([event]) => event))
  })

  test.each(examples)('$event is as its schema says', (line) => {
    expect(() => parseAuditLine(line)).not.toThrow()
  })

  test.each(examples)('$event with a field too much, one too few or a login in a hash is found', (line) => {
    expect(() => checkAuditLines([{ ...line, login: 'ada@example.com' }])).toThrow(/Unrecognized key/)
    expect(() => checkAuditLines([{ ...line, requestId: undefined }])).toThrow(/requestId/)
    expect(() => checkAuditLines([{ ...line, audit: undefined }])).toThrow(/audit/)
    if (line.loginHash !== undefined)
      expect(() => checkAuditLines([{ ...line, loginHash: 'ada@example.com' }])).toThrow(/loginHash/)
  })
})

test('an audit line with an unknown event is refused', () => {
  expect(() => checkAuditLines([{ event: 'unknown_event', audit: true }])).toThrow(/not an audit event/)
})

function isOptional(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && 'type' in schema && schema.type === 'optional'
}
