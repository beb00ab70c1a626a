import type { IncomingMessage } from 'node:http'
import { bodyTooLarge } from '../errors.ts'

export interface BodyReading {
  receivedBytes(): number
  /** Nothing is kept from then on, and `done` is not called any more. */
  stop(): void
}

type Done = (error: Error | undefined, body: Buffer) => void

/**
 * Reads a body of at most `limitBytes`. Its pieces are copied into one buffer: 64 kB that a client sends byte by byte
 * would occupy 16 MB as a list of pieces. `done` is called once, but not if the client goes away first.
 */
export function readBody(req: IncomingMessage, limitBytes: number, done: Done): BodyReading {
  let buffer = NOTHING
  let length = 0

  const stop = () => {
    req.off('data', take).off('end', finish)
    buffer = NOTHING
  }
  function take(chunk: Buffer): void {
    const before = length
    length += chunk.length
    if (length > limitBytes) {
      stop()
      done(bodyTooLarge(limitBytes), NOTHING)
      return
    }
    if (before === 0)
      buffer = chunk // mostly all of it
    else {
      if (length > buffer.length) buffer = grown(buffer, before, Math.min(limitBytes, 2 * length))
      chunk.copy(buffer, before)
    }
  }
  function finish(): void {
    const body = buffer.subarray(0, length)
    stop()
    done(undefined, body)
  }
  req.on('data', take).on('end', finish)
  return { receivedBytes: () => length, stop }
}

const NOTHING: Buffer = Buffer.alloc(0)

function grown(buffer: Buffer, length: number, bytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(bytes)
  buffer.copy(larger, 0, 0, length)
  return larger
}
