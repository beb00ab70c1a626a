import { writeSync } from 'node:fs'
import { Writable } from 'node:stream'

/**
 * Log lines for standard output, written once a turn of the event loop: one system call for all requests that were
 * answered in it instead of one each (docs/performance.md). What has not left when the process ends goes out then, and the
 * process waits for it: a pipe takes 64 kB at once, and the line that says why a process crashed is the last one.
 */
export function turnOutput(outlet: Outlet = STANDARD_OUTPUT): Writable {
  let waiting = ''
  let leaving = ''
  const flush = () => {
    if (leaving !== '' || waiting === '') return
    leaving = waiting
    waiting = ''
    outlet.write(leaving, () => {
      leaving = ''
      flush()
    })
  }
  process.once('exit', () => {
    const handedOver = Buffer.from(leaving)
    const unsent = Math.min(outlet.unsentBytes(), handedOver.length)
    outlet.writeNow(Buffer.concat([handedOver.subarray(handedOver.length - unsent), Buffer.from(waiting)]))
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

/** Where the lines go; one text at a time. */
export interface Outlet {
  write(text: string, done: () => void): void
  /** How much of the last text is still in this process. */
  unsentBytes(): number
  /** For the end of the process: returns when all is out, or nobody takes it. */
  writeNow(bytes: Buffer): void
}

const STANDARD_OUTPUT: Outlet = {
  write: (text, done) => process.stdout.write(text, done),
  unsentBytes: () => queueOf(process.stdout),
  writeNow: writeToStandardOutput,
}

/** Node tells it of pipes and sockets alone, and only here; files and terminals have none. */
function queueOf(stream: object): number {
  const handle: unknown = '_handle' in stream ? stream._handle : undefined
  if (typeof handle !== 'object' || handle === null || !('writeQueueSize' in handle)) return 0
  return typeof handle.writeQueueSize === 'number' ? handle.writeQueueSize : 0
}

const AGAIN_MS = 10
const MAX_AGAIN = 200

/** A pipe that is full says EAGAIN until its reader has taken something. */
function writeToStandardOutput(bytes: Buffer): void {
  const nobody = new Int32Array(new SharedArrayBuffer(4))
  let again = 0
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(STDOUT, bytes, at)
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN'
      if (!isFull || again >= MAX_AGAIN) return // nobody reads: the process must end all the same
      again += 1
      Atomics.wait(nobody, 0, 0, AGAIN_MS)
    }
  }
}

const STDOUT = 1
