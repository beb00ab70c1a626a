import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export interface GarbageCollector {
  /** Reports received bytes that are no longer used. */
  noteFreed(bytes: number): void
}

/**
 * Runs a garbage collection soon after bodies have been evicted. V8 would keep about 50 MB of them until its next collection, so a
 * client could make the process grow by that much.
 */
export function createGarbageCollector(
  collect: () => void = fullCollection(),
  now = () => performance.now(),
): GarbageCollector {
  let freedBytes = 0
  let notBeforeMs = Number.NEGATIVE_INFINITY
  const run = () => {
    const startedAt = now()
    collect()
    notBeforeMs = startedAt + Math.max(MIN_INTERVAL_MS, (now() - startedAt) / MAX_SHARE_OF_TIME)
  }
  return {
    noteFreed(bytes) {
      freedBytes += bytes
      if (freedBytes < THRESHOLD_BYTES || now() < notBeforeMs) return
      freedBytes = 0
      notBeforeMs = Number.POSITIVE_INFINITY // until this collection has run
      setImmediate(run) // not now: the stack still references the freed bytes
    },
  }
}

const THRESHOLD_BYTES = 4_194_304
const MIN_INTERVAL_MS = 500
/** A collection blocks the process for about 10 ms, and for ten times as long with a large heap. */
const MAX_SHARE_OF_TIME = 0.1

/** Node exposes V8's `gc` function only with this flag. */
function fullCollection(): () => void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  if (typeof collect !== 'function') throw new Error('V8 does not expose gc')
  return () => collect()
}
