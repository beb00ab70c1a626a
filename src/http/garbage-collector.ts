import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export interface GarbageCollector {
  /** So many received bytes are no longer used. */
  dropped(bytes: number): void
}

/**
 * Collects garbage soon after bodies were evicted. V8 alone would keep some 50 MB of them before its next collection, so a
 * client that sends bodies only to have them evicted could make the process grow by that much.
 */
export function createGarbageCollector(
  collect: () => void = fullCollection(),
  now = () => performance.now(),
): GarbageCollector {
  let droppedBytes = 0
  let notBeforeMs = Number.NEGATIVE_INFINITY
  const run = () => {
    const startedAt = now()
    collect()
    notBeforeMs = startedAt + Math.max(INTERVAL_MS, (now() - startedAt) / MAX_SHARE_OF_TIME)
  }
  return {
    dropped(bytes) {
      droppedBytes += bytes
      if (droppedBytes < AFTER_BYTES || now() < notBeforeMs) return
      droppedBytes = 0
      notBeforeMs = Number.POSITIVE_INFINITY // until this one is done
      setImmediate(run) // the stack still refers to what was dropped
    },
  }
}

const AFTER_BYTES = 4_194_304
const INTERVAL_MS = 500
/** A collection takes some 10 ms, of a large heap ten times as long, and nothing else is done meanwhile. */
const MAX_SHARE_OF_TIME = 0.1

/** V8's own function, which Node hides without this flag. */
function fullCollection(): () => void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  if (typeof collect !== 'function') throw new Error('V8 has no function to collect garbage')
  return () => collect()
}
