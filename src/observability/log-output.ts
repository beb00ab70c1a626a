import { writeSync } from 'node:fs'
import { Writable } from 'node:stream'

const STDOUT_FD = 1
const STDERR_FD = 2
const MAX_WAITING_CHARS = 4 * 1024 * 1024
const RETRY_MS = 20
const MAX_RETRIES_AT_EXIT = 100

/**
 * Standard output for log lines, written once per turn of the event loop. It neither fails nor
 * blocks nor grows: up to 4 MB wait for a slow reader, and lines beyond that, or that a full disk
 * or closed pipe refuses, are lost and counted.
 */
export class LogOutput extends Writable {
  readonly #onLost: (lines: number) => void
  #waiting = ''
  #sending: Buffer = Buffer.alloc(0)
  #isScheduled = false
  #hasWarned = false

  constructor(onLost: (lines: number) => void) {
    super({ decodeStrings: false })
    this.#onLost = onLost
    void process.stdout // opens a pipe without blocking
    process.once('exit', () => {
      const timer = new Int32Array(new SharedArrayBuffer(4))
      for (let n = 0; !this.#flush() && n < MAX_RETRIES_AT_EXIT; n++) Atomics.wait(timer, 0, 0, RETRY_MS)
    })
  }

  override _write(line: string, _encoding: BufferEncoding, done: () => void): void {
    done()
    const isFull = this.#sending.length + this.#waiting.length + line.length > MAX_WAITING_CHARS
    if (isFull) this.#lose(line, 'EAGAIN')
    else this.#waiting += line
    if (!this.#isScheduled) setImmediate(() => this.#flushOrRetry())
    this.#isScheduled = true
  }

  #flushOrRetry(): void {
    this.#isScheduled = !this.#flush()
    if (this.#isScheduled) setTimeout(() => this.#flushOrRetry(), RETRY_MS).unref()
  }

  /** Returns false if the reader has yet to take a part. */
  #flush(): boolean {
    try {
      while (this.#sending.length > 0 || this.#waiting !== '') {
        if (this.#sending.length === 0) [this.#sending, this.#waiting] = [Buffer.from(this.#waiting), '']
        this.#sending = this.#sending.subarray(writeSync(STDOUT_FD, this.#sending))
      }
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
      if (code === 'EAGAIN') return false
      this.#lose(this.#sending + this.#waiting, code)
      this.#sending = Buffer.alloc(0)
      this.#waiting = ''
    }
    return true
  }

  #lose(lines: string, code: string): void {
    this.#onLost(lines.split('\n').length - 1)
    if (this.#hasWarned) return
    this.#hasWarned = true
    const text = `standard output does not take the log (${code}). Lines are lost: gatehouse_log_lines_lost_total`
    try {
      writeSync(STDERR_FD, `gatehouse: ${text}\n`)
    } catch {
      // stderr fails as well: the metric remains
    }
  }
}
