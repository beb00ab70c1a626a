import { readAsvsList } from './asvs-list.ts'
import { asvsTables } from './asvs-tables.ts'
import { auditEventsTable, auditFieldsTable } from './audit-tables.ts'
import { readConformanceList } from './conformance-list.ts'
import { conformanceTables } from './conformance-tables.ts'
import { logEventsTable, logFieldsTable } from './log-tables.ts'
import type { Blocks } from './markdown.ts'
import { metricsTable } from './metrics-table.ts'
import { oktaErrorsTable, oktaVariantsTable } from './okta-errors-table.ts'
import { pamErrorsTable } from './pam-errors-table.ts'
import { redisKeysTable } from './redis-keys-table.ts'
import { readShown } from './shown-by-tests.ts'
import { upstreamCallsTable } from './upstream-calls-table.ts'

/** Every page with generated blocks: path → name of the block → what makes it. */
export const GENERATED_PAGES: Readonly<Record<string, Blocks>> = {
  'docs/asvs.md': { asvs: () => asvsTables(readAsvsList(), readShown()) },
  'docs/build-your-sign-in-page.md': {
    'okta-errors': oktaErrorsTable,
    'okta-variants': oktaVariantsTable,
  },
  'docs/conformance.md': { conformance: () => conformanceTables(readConformanceList(), readShown()) },
  'docs/logs.md': {
    'audit-events': auditEventsTable,
    'audit-fields': auditFieldsTable,
    'log-fields': logFieldsTable,
    'log-events': logEventsTable,
    'pam-errors': pamErrorsTable,
    metrics: metricsTable,
  },
  'docs/operations.md': { 'redis-keys': redisKeysTable },
  'docs/security.md': { 'upstream-calls': upstreamCallsTable },
}
