import { Writable } from 'node:stream'

/**
 * Log lines for standard output, written once a turn of the event loop: one system call for all requests that were
 * answered in it instead of one each (docs/performance.md). What waits when the process ends goes out at its end.
 */
export function turnOutput(
  write: (text: string) => unknown = (text) => process.stdout.write(text),
): Writable {
  let waiting = ''
  const flush = () => {
    const lines = waiting
    waiting = ''
    if (lines !== '') write(lines)
  }
  process.once('exit', flush)
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      if (waiting === '') setImmediate(flush)
      waiting += line
      done()
    },
  })
}
