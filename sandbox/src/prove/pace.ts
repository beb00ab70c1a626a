/**
 * Resolves when the next call may be sent: at most `callsPerMinute` in any minute. Undefined: no
 * bound.
 */
export function createPace({
  callsPerMinute,
  now,
  pause,
}: {
  callsPerMinute: number | undefined
  now: () => number
  pause: (ms: number) => Promise<void>
}): () => Promise<void> {
  const sentAt: number[] = []
  return async function nextTurn() {
    if (callsPerMinute === undefined) return
    const oldest = sentAt.length < callsPerMinute ? undefined : sentAt.shift()
    const waitMs = oldest === undefined ? 0 : oldest + 60_000 - now()
    if (waitMs > 0) await pause(waitMs)
    sentAt.push(now())
  }
}
