import type { IncomingMessage } from 'node:http'

/**
 * What the URL and the header lines occupy, about: their number is limited by nothing but `maxHeaderBytes`, which counts no
 * separators, so 16 kB of empty lines occupy half a megabyte.
 */
export function headerBytes({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, text) => bytes + BYTES_OF_A_STRING + text.length, url.length)
}

/** Of a header's name or value beside its characters, as measured: its places in `rawHeaders` and in `headers`. */
export const BYTES_OF_A_STRING = 48

/** What a request with a parsed body occupies until it is answered, at most. */
export function requestBytes(req: IncomingMessage & { readonly body?: unknown }): number {
  return headerBytes(req) + valueBytes(req.body)
}

/** Not recursive: a body may be as deep as it is long. */
function valueBytes(body: unknown): number {
  let bytes = 0
  const values = [body]
  while (values.length > 0) {
    const value = values.pop()
    bytes += BYTES_OF_A_VALUE
    if (typeof value === 'string') bytes += BYTES_OF_A_CHARACTER * value.length
    else if (Array.isArray(value)) for (const item of value) values.push(item)
    else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        bytes += BYTES_OF_A_NAME + BYTES_OF_A_CHARACTER * name.length
        values.push(member)
      }
    }
  }
  return bytes
}

// As measured, for the most that V8 needs: `{}` in a list, a name that no other object has, a character that is not in Latin-1.
const BYTES_OF_A_VALUE = 72
const BYTES_OF_A_NAME = 150
const BYTES_OF_A_CHARACTER = 2
