/** What a stored text says; undefined for none and for what is not JSON: written by a version that we do not know. */
export function parseStored(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
