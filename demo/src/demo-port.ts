/** Parses PORT. Unlike the broker, the demo refuses port 0: its user must know the port. */
export function parseDemoPort(value: string): number {
  if (!/^[1-9]\d{0,4}$/.test(value) || Number(value) > 65_535)
    throw new Error('PORT must be a port from 1 to 65535')
  return Number(value)
}
