import { readAsvsList } from './asvs-list.ts'
import { asvsTables } from './asvs-tables.ts'
import { auditEventsTable, auditExamples, auditFieldsTable } from './audit-tables.ts'
import { envExample, limitsTable, tunablesTable, variableTables } from './configuration-tables.ts'
import { readConformanceList } from './conformance-list.ts'
import { conformanceTables } from './conformance-tables.ts'
import { decisionsIndex } from './decisions-index.ts'
import { directTable, exposedTable, groupsTable, readDependencyReview } from './dependencies-tables.ts'
import { doctorTable } from './doctor-table.ts'
import { logEventsTable, logFieldsTable, outcomesTable } from './log-tables.ts'
import type { Blocks } from './markdown.ts'
import {
  CHARTS,
  capacityBlock,
  growthBlock,
  mutationScoresTable,
  performanceBlock,
  redisMemoryBlock,
} from './measurements.ts'
import { metricsTable } from './metrics-table.ts'
import { pamErrorsTable } from './pam-errors-table.ts'
import { sandboxFaultsTable, sandboxRoutesTable, sandboxUsersTable } from './sandbox-tables.ts'

/** Every page with generated blocks: path → name of the block → what makes it. */
export const GENERATED_PAGES: Readonly<Record<string, Blocks>> = {
  'docs/asvs.md': { asvs: () => asvsTables(readAsvsList()) },
  'docs/audit.md': {
    'audit-events': auditEventsTable,
    'audit-fields': auditFieldsTable,
    'audit-examples': auditExamples,
  },
  'docs/configuration.md': { variables: variableTables, tunables: tunablesTable, limits: limitsTable },
  'docs/conformance.md': { conformance: () => conformanceTables(readConformanceList()) },
  'docs/decisions/README.md': { 'decisions-index': decisionsIndex },
  'docs/dependencies.md': {
    'dependencies-direct': () => directTable(readDependencyReview()),
    'dependencies-exposed': () => exposedTable(readDependencyReview()),
    'dependencies-groups': () => groupsTable(readDependencyReview()),
  },
  'docs/operations.md': {
    doctor: doctorTable,
    'redis-memory': redisMemoryBlock,
    'log-fields': logFieldsTable,
    'log-events': logEventsTable,
    outcomes: outcomesTable,
    'pam-errors': pamErrorsTable,
    metrics: metricsTable,
  },
  'docs/performance.md': { performance: performanceBlock },
  'docs/scale.md': { capacity: capacityBlock, growth: growthBlock },
  'docs/sandbox.md': {
    'sandbox-users': sandboxUsersTable,
    'sandbox-routes': sandboxRoutesTable,
    'sandbox-faults': sandboxFaultsTable,
  },
  'docs/testing.md': { 'mutation-scores': mutationScoresTable },
}

/** Files that are generated as a whole. */
export const GENERATED_FILES: Readonly<Record<string, () => string>> = {
  '.env.example': envExample,
  ...CHARTS,
}
