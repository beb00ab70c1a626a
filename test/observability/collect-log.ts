import { Writable } from 'node:stream'
import type { LogLevel } from '../../src/observability/log-events.ts'
import { createLogger } from '../../src/observability/logger.ts'

export type CollectedLog = ReturnType<typeof collectLog>

/** A real logger whose lines can be read. `lines` leaves out `service` and `version`, which are the same in every line. */
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
          const { service: _service, version: _version, ...rest } = JSON.parse(line)
          return rest
        }),
  }
}
