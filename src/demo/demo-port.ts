/** The value of PORT. Unlike the broker's, it is never the system's choice: a visitor must know it. */
export function parseDemoPort(value: string): number {
  if (!/^[1-9]\d{0,4}$/.test(value) || Number(value) > 65_535)
    throw new Error('PORT must be a port from 1 to 65535')
  return Number(value)
}
