/** Reads a test file by its path from the project's root. undefined if the file does not exist. */
export type ReadTest = (path: string) => string | undefined

/**
 * Checks that a test named in a document exists: "group › title › table row" in a file. Returns the
 * problem, if any.
 */
export function checkNamedTest(path: string, titles: string, readTest: ReadTest): string[] {
  const source = readTest(path)
  if (source === undefined) return [`there is no file ${path}`]
  return titles
    .split(' › ')
    .filter((title) => !isIn(source, title))
    .map((title) => `${path} has no test or row named: ${title}`)
}

/** The title must be quoted or be the key of a table. A part of a longer title does not count. */
function isIn(source: string, title: string): boolean {
  const text = source.replace(/\\u([0-9a-f]{4})/g, (_, hex: string) =>
    String.fromCharCode(Number(`0x${hex}`)),
  )
  const isQuoted = ["'", '"', '`'].some((quote) => text.includes(quote + title + quote))
  return isQuoted || (/^\w+$/.test(title) && new RegExp(`^\\s*${title}: `, 'm').test(source))
}
