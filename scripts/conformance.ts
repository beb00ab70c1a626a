import { writeFileSync } from 'node:fs'
import { readConformanceList } from './conformance-list.ts'
import { conformancePage } from './conformance-page.ts'

/** `npm run conformance`: writes docs/conformance.md anew from docs/conformance/*.json. */
writeFileSync('docs/conformance.md', conformancePage(readConformanceList()))
console.log('docs/conformance.md is written.')
