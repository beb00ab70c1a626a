type Header = string | string[] | undefined

/**
 * The time of a `Retry-After`, which is a number of seconds or an HTTP date (RFC 9110, section
 * 10.2.3), in milliseconds since 1970 by the clock of its sender. undefined: it is missing or
 * invalid.
 */
export function parseRetryAfter(header: Header, nowMs: number): number | undefined {
  const seconds = parseNumber(header)
  if (seconds !== undefined) return nowMs + seconds * 1000
  return Date.parse(String(header)) || undefined
}

export function parseNumber(header: Header): number | undefined {
  return /^\s*\d{1,15}(\.\d{1,9})?\s*$/.test(String(header)) ? Number(header) : undefined
}
