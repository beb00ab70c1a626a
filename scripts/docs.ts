import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { AUDIT_SCHEMA_FILE, auditSchema } from './docs/audit-schema.ts'
import { CLIENT_CODES_FILE, clientCodes } from './docs/client-codes.ts'
import { GENERATED_PAGES } from './docs/generated-pages.ts'
import { renderBlocks } from './docs/markdown.ts'

/**
 * `npm run docs`: writes the generated blocks of the pages, the schema of the audit log, and the
 * codes of the client, and lists the files that changed.
 */
const pages = Object.entries(GENERATED_PAGES).map(
  ([page, blocks]) => [page, renderBlocks(readFileSync(page, 'utf8'), blocks)] as const,
)
const files = [...pages, [AUDIT_SCHEMA_FILE, auditSchema()], [CLIENT_CODES_FILE, clientCodes()]] as const
const changed = files.filter(([file, text]) => !existsSync(file) || readFileSync(file, 'utf8') !== text)
for (const [file, text] of changed) writeFileSync(file, text)
console.log(`Written: ${changed.map(([file]) => file).join(', ') || 'nothing, all is up to date'}`)
