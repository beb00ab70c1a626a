import { readFileSync, writeFileSync } from 'node:fs'
import { AUDIT_SCHEMA_FILE, auditSchema } from './docs/audit-schema.ts'
import { GENERATED_PAGES } from './docs/generated-pages.ts'
import { renderBlocks } from './docs/markdown.ts'

/** `npm run docs`: writes the generated blocks of the pages from their sources, and the schema of the audit log. */
for (const [page, blocks] of Object.entries(GENERATED_PAGES)) {
  writeFileSync(page, renderBlocks(readFileSync(page, 'utf8'), blocks))
}
writeFileSync(AUDIT_SCHEMA_FILE, auditSchema())
console.log(`Written: ${[...Object.keys(GENERATED_PAGES), AUDIT_SCHEMA_FILE].join(', ')}`)
