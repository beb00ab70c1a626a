/**
 * Secrets to be looked for in a text. Long ones are found wherever they stand, as they are, percent-encoded and in both
 * forms of base64; short ones (codes, first names) only as words of their own, or chance would find them.
 */
export interface SecretScanner {
  add(...marks: readonly string[]): void
  /** Those that stand in the text, each once. */
  foundIn(text: string): string[]
}

const LONG = 10
const KEY_CHARS = 8
const SHORTEST = 4
/** Words of the sandbox's people that are words of ours, too. */
const COMMON: ReadonlySet<string> = new Set(['gatehouse'])

export function createSecretScanner(): SecretScanner {
  const words = new Set<string>()
  const known = new Set<string>()
  /** Forms of long marks by how they begin, so that one walk through a text looks for all of them. */
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
    add(...marks) {
      for (const mark of marks) {
        if (mark.length < SHORTEST || COMMON.has(mark) || known.has(mark)) continue
        known.add(mark)
        if (mark.length < LONG) words.add(mark)
        else addLong(mark)
      }
    },

    foundIn(text) {
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

/** A figure is no code, even when it looks like one: numbers in JSON, in headers of limits and in metrics. */
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
