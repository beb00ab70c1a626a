import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { GENERATED_PAGES } from '../../scripts/docs/generated-pages.ts'
import { renderBlocks } from '../../scripts/docs/markdown.ts'

test.each(Object.entries(GENERATED_PAGES))('%s is up to date; if not, run: npm run docs', (path, blocks) => {
  const page = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  expect(page).toBe(renderBlocks(page, blocks))
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
