import { monitorEventLoopDelay } from 'node:perf_hooks'

/** How late this process is: the time that whatever is due waits for its turn. */
export interface EventLoopLag {
  /** The median of the last window, in milliseconds. */
  ms(): number
  stop(): void
}

const RESOLUTION_MS = 20

/**
 * The median and not the worst: one long pause (a garbage collection, a machine that stood still) is over by the time
 * anybody could act on it; work that piles up makes every turn late.
 */
export function watchEventLoopLag({ windowMs }: { windowMs: number }): EventLoopLag {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  let ms = 0
  delays.enable()
  const timer = setInterval(() => {
    ms = delays.count === 0 ? ms : Math.max(0, delays.percentile(50) / 1e6 - RESOLUTION_MS)
    delays.reset()
  }, windowMs)
  timer.unref()

  return {
    ms: () => ms,
    stop() {
      clearInterval(timer)
      delays.disable()
    },
  }
}
