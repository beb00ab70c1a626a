import { readFileSync, writeFileSync } from 'node:fs'
import { AUDIT_SCHEMA_FILE, auditSchema } from './docs/audit-schema.ts'
import { CLIENT_CODES_FILE, clientCodes } from './docs/client-codes.ts'
import { GENERATED_PAGES } from './docs/generated-pages.ts'
import { renderBlocks } from './docs/markdown.ts'

/**
 * `npm run docs`: writes the generated blocks of the pages, the schema of the audit log, and the
 * codes of the client.
 */
for (const [page, blocks] of Object.entries(GENERATED_PAGES)) {
  writeFileSync(page, renderBlocks(readFileSync(page, 'utf8'), blocks))
}
writeFileSync(AUDIT_SCHEMA_FILE, auditSchema())
writeFileSync(CLIENT_CODES_FILE, clientCodes())
console.log(`Written: ${[...Object.keys(GENERATED_PAGES), AUDIT_SCHEMA_FILE, CLIENT_CODES_FILE].join(', ')}`)
