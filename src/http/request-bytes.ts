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

/** What a request occupies until it is answered, at most: its headers, and its body of so many bytes once it is parsed. */
export function requestBytes(req: IncomingMessage, bodyBytes: number): number {
  return headerBytes(req) + PARSED * bodyBytes
}

/** As measured: a list of empty objects, `{},{},…`, occupies 21 times as much as its text. */
const PARSED = 22
