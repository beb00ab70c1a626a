import { Writable } from 'node:stream'
import type { LogLevel } from '../../src/observability/log-events.ts'
import { createLogger } from '../../src/observability/logger.ts'

export type CollectedLog = ReturnType<typeof collectLog>

/**
 * A real logger whose lines can be read. `lines` leaves out what does not depend on the event:
 * `service` and `version`, and of audit events `process` and `sequence`.
 */
export function collectLog(level: LogLevel = 'info', options: { now?: () => number } = {}) {
  let text = ''
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      text += String(chunk)
      done()
    },
  })
  const log = createLogger({ level, ...options, stream })
  return {
    log,
    text: () => text,
    lines: (): Record<string, unknown>[] =>
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => {
          const { service: _s, version: _v, process: _p, sequence: _n, ...rest } = JSON.parse(line)
          return rest
        }),
  }
}
