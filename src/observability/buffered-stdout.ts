import { writeSync } from 'node:fs'
import { Writable } from 'node:stream'

/**
 * Standard output for log lines, flushed once per turn of the event loop: one system call for all lines of that turn
 * (docs/performance.md). At exit, it writes the rest synchronously, because the last line says why a process crashed
 * and a pipe accepts only 64 kB at once.
 */
export function bufferedStdout(outlet: Outlet = STDOUT): Writable {
  let waiting = ''
  let sending = ''
  const flush = () => {
    if (sending !== '' || waiting === '') return
    sending = waiting
    waiting = ''
    outlet.write(sending, () => {
      sending = ''
      flush()
    })
  }
  process.once('exit', () => {
    const sent = Buffer.from(sending)
    const unsent = Math.min(outlet.unsentBytes(), sent.length)
    outlet.writeSync(Buffer.concat([sent.subarray(sent.length - unsent), Buffer.from(waiting)]))
  })
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      if (waiting === '') setImmediate(flush)
      waiting += line
      done()
    },
  })
}

/** Gets one text at a time. */
export interface Outlet {
  write(text: string, done: () => void): void
  /** Bytes of the last text that are still in this process. */
  unsentBytes(): number
  /** For the exit of the process. Returns when everything is written, or when no reader takes it. */
  writeSync(bytes: Buffer): void
}

const STDOUT: Outlet = {
  write: (text, done) => process.stdout.write(text, done),
  /** Node has no public property for this. Only pipes and sockets have a queue. */
  unsentBytes() {
    const handle: unknown = '_handle' in process.stdout ? process.stdout._handle : undefined
    if (typeof handle !== 'object' || handle === null || !('writeQueueSize' in handle)) return 0
    return typeof handle.writeQueueSize === 'number' ? handle.writeQueueSize : 0
  },
  writeSync: writeToStdout,
}

const STDOUT_FD = 1
const RETRY_MS = 10
const MAX_RETRIES = 200

/** Writing to a full pipe fails with EAGAIN until its reader has read. */
function writeToStdout(bytes: Buffer): void {
  const timer = new Int32Array(new SharedArrayBuffer(4))
  let retries = 0
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(STDOUT_FD, bytes, at)
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN'
      if (!isFull || retries >= MAX_RETRIES) return // no reader: the process must still exit
      retries += 1
      Atomics.wait(timer, 0, 0, RETRY_MS)
    }
  }
}
