import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export interface GarbageCollectorParts {
  readonly collect?: () => void
  /** Calls it when the stack no longer holds what was dropped. */
  readonly defer?: (work: () => void) => void
  readonly now?: () => number
}

/** `dropped`: this many received bytes are no longer used. */
export interface GarbageCollector {
  dropped(bytes: number): void
}

/**
 * Collects garbage soon after bodies were evicted. V8 alone would keep some 50 MB of them before its next collection, so a
 * client that sends bodies only to have them evicted could make the process grow by that much.
 */
export function createGarbageCollector({
  collect = fullCollection(),
  defer = setImmediate,
  now = () => performance.now(),
}: GarbageCollectorParts = {}): GarbageCollector {
  let droppedBytes = 0
  let mayCollectAt = Number.NEGATIVE_INFINITY
  const run = () => {
    const startedAt = now()
    collect()
    const tookMs = now() - startedAt
    mayCollectAt = startedAt + Math.max(EVERY_MS, tookMs / MOST_OF_THE_TIME)
  }
  return {
    dropped(bytes) {
      droppedBytes += bytes
      if (droppedBytes < AFTER_BYTES || now() < mayCollectAt) return
      droppedBytes = 0
      mayCollectAt = Number.POSITIVE_INFINITY // until this one is done
      defer(run)
    },
  }
}

const AFTER_BYTES = 4_194_304
const EVERY_MS = 500
/** A collection takes some 10 ms, a large heap takes it ten times as long; nothing else is done meanwhile. */
const MOST_OF_THE_TIME = 0.1

/** V8's own function, which Node hides unless it is asked for. */
function fullCollection(): () => void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  if (typeof collect !== 'function') throw new Error('V8 has no function to collect garbage')
  return () => collect()
}
