import { readAsvsList } from './asvs-list.ts'
import { asvsTables } from './asvs-tables.ts'
import { readConformanceList } from './conformance-list.ts'
import { conformanceTables } from './conformance-tables.ts'
import type { Blocks } from './markdown.ts'

/** Every page with generated blocks: path → name of the block → what makes it. */
export const GENERATED_PAGES: Readonly<Record<string, Blocks>> = {
  'docs/asvs.md': { asvs: () => asvsTables(readAsvsList()) },
  'docs/conformance.md': { conformance: () => conformanceTables(readConformanceList()) },
}
