/** The source of a test file, by its path from the project's root; undefined: there is no such file. */
export type ReadTest = (path: string) => string | undefined

/** What is wrong with a test that a document names: "group › title › row of its table" in a file. */
export function checkNamedTest(path: string, titles: string, readTest: ReadTest): string[] {
  const source = readTest(path)
  if (source === undefined) return [`there is no file ${path}`]
  return titles
    .split(' › ')
    .filter((title) => !standsIn(source, title))
    .map((title) => `${path} has no test or row named: ${title}`)
}

/** In quotes of any kind, or as the key of a table; a part of a longer title is not enough. */
function standsIn(source: string, title: string): boolean {
  const text = source.replace(/\\u([0-9a-f]{4})/g, (_, hex: string) =>
    String.fromCharCode(Number(`0x${hex}`)),
  )
  const isQuoted = ["'", '"', '`'].some((quote) => text.includes(quote + title + quote))
  return isQuoted || (/^\w+$/.test(title) && new RegExp(`^\\s*${title}: `, 'm').test(source))
}
