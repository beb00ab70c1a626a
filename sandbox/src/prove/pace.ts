interface Clock {
  readonly now: () => number
  readonly pause: (ms: number) => Promise<void>
}

export interface Pace {
  /** Resolves when the next call may be sent. */
  nextTurn(): Promise<void>
  /** Resolves when this many calls may be sent without a wait. */
  room(calls: number): Promise<void>
}

/** A minute, and more than the time by which calls may reach the org closer together. */
const WINDOW_MS = 61_000

/** At most `callsPerMinute` in any minute. Undefined: no bound. */
export function createPace({
  callsPerMinute,
  now,
  pause,
}: Clock & { readonly callsPerMinute: number | undefined }): Pace {
  const sentAt: number[] = []

  async function room(calls: number): Promise<void> {
    if (callsPerMinute === undefined) return
    // so many of the last ones must be a minute ago
    const before = sentAt.at(calls - 1 - callsPerMinute)
    const waitMs = before === undefined ? 0 : before + WINDOW_MS - now()
    if (waitMs > 0) await pause(waitMs)
  }

  return {
    room,
    async nextTurn() {
      await room(1)
      sentAt.push(now())
      if (callsPerMinute !== undefined && sentAt.length > callsPerMinute) sentAt.shift()
    },
  }
}

/** Resolves `gapMs` after it last did. */
export function createPhoneTurn({ gapMs, now, pause }: Clock & { readonly gapMs: number }) {
  let last = Number.NEGATIVE_INFINITY
  return async function phoneTurn(): Promise<void> {
    const waitMs = last + gapMs - now()
    if (waitMs > 0) await pause(waitMs)
    last = now()
  }
}
