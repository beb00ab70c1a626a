/**
 * Searches texts for secrets. Long secrets are found anywhere: verbatim, percent-encoded and in
 * both forms of base64. Short ones (codes, first names) are found only as separate words, because
 * they occur by chance.
 */
export interface SecretScanner {
  add(...scanner: readonly string[]): void
  /** The secrets that the text contains, each once. */
  findIn(text: string): string[]
}

const LONG = 10
const KEY_CHARS = 8
const SHORTEST = 4
/** Values of the sandbox's users that are also ordinary words of the project. */
const COMMON: ReadonlySet<string> = new Set(['gatehouse'])

export function createSecretScanner(): SecretScanner {
  const words = new Set<string>()
  const known = new Set<string>()
  /**
   * The forms of long secrets by their first characters, so that one pass over a text finds all of
   * them.
   */
  const forms = new Map<string, Map<string, string>>()
  const begins = new Uint8Array(1 << 16)

  const addLong = (mark: string) => {
    for (const form of formsOf(mark)) {
      const key = form.slice(0, KEY_CHARS)
      begins[pairAt(form, 0)] = 1
      const same = forms.get(key) ?? new Map<string, string>()
      forms.set(key, same.set(form, mark))
    }
  }

  return {
    add(...scanner) {
      for (const mark of scanner) {
        if (mark.length < SHORTEST || COMMON.has(mark) || known.has(mark)) continue
        known.add(mark)
        if (mark.length < LONG) words.add(mark)
        else addLong(mark)
      }
    },

    findIn(text) {
      const found = new Set<string>()
      for (const [word] of text.matchAll(/[\w-]+(?:\.[\w-]+)*/g)) if (words.has(word)) found.add(word)
      for (let at = 0; at < text.length - 1; at++) {
        if (begins[pairAt(text, at)] !== 1) continue
        for (const [form, mark] of forms.get(text.slice(at, at + KEY_CHARS)) ?? []) {
          if (text.startsWith(form, at)) found.add(mark)
        }
      }
      return [...found]
    },
  }
}

/** Removes numbers in JSON, rate-limit headers and metrics: they can equal a code by chance. */
export function withoutNumbers(text: string): string {
  return text
    .replace(/(?<=[[,:])\d+(?=[,\]}])/g, '')
    .replace(/^(x-rate-limit-\w+|content-length|retry-after): \d+$/gm, '$1:')
    .replace(/^(\w+(?:\{.*\})?) [-+.\deE]+$/gm, '$1')
}

function formsOf(mark: string): string[] {
  const bytes = Buffer.from(mark)
  const base64 = bytes.toString('base64').replaceAll('=', '')
  return [...new Set([mark, encodeURIComponent(bytes.toString()), base64, bytes.toString('base64url')])]
}

function pairAt(text: string, at: number): number {
  return (text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)) & 0xffff
}
