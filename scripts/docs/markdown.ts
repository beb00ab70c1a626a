/** A table in Markdown. Columns whose heading begins with `>` are aligned to the right. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((name) => (name.startsWith('>') ? '--:' : '---'))
  return [head.map((name) => name.replace(/^>/, '')), rule, ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

/** Text for a cell of a table, with what Markdown and HTML would read as markup escaped. */
export function inCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

export type Blocks = Readonly<Record<string, () => string>>

/**
 * Writes each block between `<!-- generated: NAME -->` and `<!-- /generated -->` of a page. Throws
 * if the page has a marker without a block, or if a block has no marker.
 */
export function renderBlocks(page: string, blocks: Blocks): string {
  const found = new Set<string>()
  const rendered = page.replace(MARKED, (_, name: string) => {
    const block = blocks[name]
    if (block === undefined) throw new Error(`no source for the generated block ${name}`)
    found.add(name)
    return `<!-- generated: ${name} -->\n\n${block().trim()}\n\n<!-- /generated -->`
  })
  const missing = Object.keys(blocks).filter((name) => !found.has(name))
  if (missing.length > 0) throw new Error(`the page has no place for ${missing.join(', ')}`)
  return rendered
}

const MARKED = /<!-- generated: ([\w-]+) -->[\s\S]*?<!-- \/generated -->/g
