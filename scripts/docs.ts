import { readFileSync, writeFileSync } from 'node:fs'
import { GENERATED_PAGES } from './docs/generated-pages.ts'
import { renderBlocks } from './docs/markdown.ts'

/** `npm run docs`: writes the generated blocks of the pages from their sources. */
for (const [page, blocks] of Object.entries(GENERATED_PAGES)) {
  writeFileSync(page, renderBlocks(readFileSync(page, 'utf8'), blocks))
}
console.log(`Written: ${Object.keys(GENERATED_PAGES).join(', ')}`)
