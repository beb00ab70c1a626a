import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { AUDIT_SCHEMA_FILE, auditSchema } from '../../scripts/docs/audit-schema.ts'
import { CLIENT_CODES_FILE, clientCodes } from '../../scripts/docs/client-codes.ts'
import { GENERATED_PAGES } from '../../scripts/docs/generated-pages.ts'
import { renderBlocks } from '../../scripts/docs/markdown.ts'

test.each(Object.entries(GENERATED_PAGES))('%s is up to date; if not, run: npm run docs', (path, blocks) => {
  const page = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  expect(page).toBe(renderBlocks(page, blocks))
})

test('the schema of the audit log is up to date; if not, run: npm run docs', () => {
  const shipped = readFileSync(new URL(`../../${AUDIT_SCHEMA_FILE}`, import.meta.url), 'utf8')
  expect(shipped).toBe(auditSchema())
})

test('the codes of the client are up to date; if not, run: npm run docs', () => {
  const shipped = readFileSync(new URL(`../../${CLIENT_CODES_FILE}`, import.meta.url), 'utf8')
  expect(shipped).toBe(clientCodes())
})

describe('a generated block', () => {
  const PAGE = '<!-- generated: rows -->\nold\n<!-- /generated -->\n'

  test('needs a source', () => {
    expect(() => renderBlocks(PAGE, {})).toThrow('no source for the generated block rows')
  })

  test('needs a place on the page', () => {
    expect(() => renderBlocks(PAGE, { rows: () => '', more: () => '' })).toThrow(
      'the page has no place for more',
    )
  })
})
