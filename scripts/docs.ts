import { readFileSync, writeFileSync } from 'node:fs'
import { GENERATED_FILES, GENERATED_PAGES } from './docs/generated-pages.ts'
import { renderBlocks } from './docs/markdown.ts'

/** `npm run docs`: writes the generated blocks of the pages, and the generated files, from their sources. */
for (const [page, blocks] of Object.entries(GENERATED_PAGES)) {
  writeFileSync(page, renderBlocks(readFileSync(page, 'utf8'), blocks))
}
for (const [file, content] of Object.entries(GENERATED_FILES)) writeFileSync(file, content())
console.log(`Written: ${Object.keys({ ...GENERATED_PAGES, ...GENERATED_FILES }).join(', ')}`)
