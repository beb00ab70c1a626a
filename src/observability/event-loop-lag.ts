import { monitorEventLoopDelay } from 'node:perf_hooks'

export type EventLoopLag = ReturnType<typeof watchEventLoopLag>

const RESOLUTION_MS = 20

/**
 * The delay of this process's event loop. Uses the median, not the maximum: a single pause (a garbage collection, a suspended machine) is over before load
 * shedding could help, but a queue of work delays every turn.
 */
export function watchEventLoopLag({ windowMs }: { windowMs: number }) {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  const timer = setInterval(() => {
    if (delays.count > 0) lag.ms = Math.max(0, delays.percentile(50) / 1e6 - RESOLUTION_MS)
    delays.reset()
  }, windowMs)
  timer.unref()

  const lag = {
    /** The median of the last window, in milliseconds. */
    ms: 0,
    stop() {
      clearInterval(timer)
      delays.disable()
    },
  }
  return lag
}
