import type { Session } from './answers.ts'

/**
 * `signed-out`: in this browser. `idle`, `expired`: its time is over. `ended`: by the user
 * elsewhere, or by an operator. `replaced`: another tab has signed in again.
 */
export type SessionEnd = 'signed-out' | 'idle' | 'expired' | 'ended' | 'replaced'

/** How a session will end. */
export interface SessionEnding {
  readonly secondsLeft: number
  /** `idle`: `refresh` extends the session. `expired`: nothing does. */
  readonly reason: 'idle' | 'expired'
}

/** The methods that add a listener return a function that removes it. */
export interface SessionWatch {
  /**
   * The id of the tab's session, for the header `X-Gatehouse-Session`. It stays after the end, so
   * that the tab never gets the data of a user who signs in in another one.
   */
  readonly id: string | undefined
  /** Takes the session from an answer. */
  open(session: Session): void
  /**
   * Tells the listeners and the other tabs, unless they know. Default: the reason that the time
   * tells.
   */
  end(reason?: SessionEnd): void
  onStart(listener: (session: Session) => void): () => void
  onEnding(secondsBefore: number, listener: (ending: SessionEnding) => void): () => void
  onEnd(listener: (reason: SessionEnd) => void): () => void
}

interface Dependencies {
  /**
   * The same in all tabs of a broker. Undefined outside a browser: there, each client may have
   * another user.
   */
  readonly channelName: () => string | undefined
  /** The broker's time in milliseconds. */
  readonly now: () => number
  /** Asks the broker for the session, and calls `open` or `end`. */
  readonly check: () => Promise<unknown>
}

/** Between tabs. */
interface Message {
  /** Undefined: the tab did not know which session it ended. */
  readonly id: string | undefined
  /** Missing: the session has been opened. */
  readonly reason?: SessionEnd
}

interface Listener {
  readonly onStart?: (session: Session) => void
  readonly onEnd?: (reason: SessionEnd) => void
  readonly onEnding?: (ending: SessionEnding) => void
  readonly beforeMs?: number
  /** The end of which `onEnding` has been told. */
  toldMs?: number
}

const LONGEST_TIMER_MS = 2 ** 31 - 1
const RETRY_MS = 30_000
/**
 * The broker's time is known in whole seconds: an answer may be up to a second younger than its
 * `Date`.
 */
const DATE_PRECISION_MS = 1000

/**
 * Asks the broker when the session should have ended, or will soon, because another tab may have
 * extended it. A timer of a browser may be late, so a page that becomes visible asks too.
 */
export function createSessionWatch({ channelName, now, check }: Dependencies): SessionWatch {
  const listeners = new Set<Listener>()
  let channel: BroadcastChannel | undefined
  let session: Session | undefined
  let lastId: string | undefined
  /** The session that the tabs heard of last. */
  let toldId: string | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let stop = () => {}

  function start(): () => void {
    channel = openChannel()
    if (channel) channel.onmessage = receive
    const page = globalThis.document
    const onVisible = () => page.visibilityState === 'visible' && session && ask()
    page?.addEventListener('visibilitychange', onVisible)
    return () => {
      clearTimeout(timer)
      channel?.close()
      channel = undefined
      page?.removeEventListener('visibilitychange', onVisible)
    }
  }

  function openChannel(): BroadcastChannel | undefined {
    const name = channelName()
    return name === undefined ? undefined : new BroadcastChannel(name)
  }

  function receive({ data: { id = session?.id, reason } }: MessageEvent<Message>): void {
    if (!reason && !session && id !== toldId) void askForNew()
    if (!reason) toldId = id // so that a tab that then finds this session does not tell of it again
    if (session && (session.id === id) === Boolean(reason)) notify(reason ?? 'replaced')
  }

  async function askForNew(): Promise<void> {
    if (![...listeners].some(({ onStart }) => onStart)) return
    await check().catch(() => undefined) // the broker cannot tell now: the user can reload the page
    const found = session
    if (found) tell(({ onStart }) => onStart?.(found))
  }

  function schedule(atLeastMs = 1000): void {
    clearTimeout(timer)
    const endsAtMs = endOf(session)
    if (endsAtMs === undefined || listeners.size === 0) return
    const times = [...listeners].map(({ beforeMs = 0, toldMs }) =>
      toldMs === endsAtMs ? endsAtMs : endsAtMs - beforeMs,
    )
    // not a number: not the broker's answer
    const waitMs = Math.max(Math.min(...times) - now(), atLeastMs) || RETRY_MS
    timer = setTimeout(ask, Math.min(waitMs, LONGEST_TIMER_MS))
  }

  async function ask(): Promise<void> {
    const known = session?.id
    try {
      await check()
    } catch {
      return schedule(RETRY_MS) // the broker cannot tell now
    }
    if (session && session.id !== known) tell(({ onEnd }) => onEnd?.('replaced'))
  }

  function tellEnding(): void {
    const endsAtMs = endOf(session)
    if (endsAtMs === undefined || isOver(endsAtMs)) return
    const secondsLeft = Math.floor((endsAtMs - now()) / 1000)
    const reason = endsAtMs === Date.parse(session?.expiresAt ?? '') ? 'expired' : 'idle'
    for (const listener of listeners) {
      const { onEnding, beforeMs = 0, toldMs } = listener
      if (!onEnding || toldMs === endsAtMs || !isOver(endsAtMs - beforeMs)) continue
      listener.toldMs = endsAtMs
      queueMicrotask(() => onEnding({ secondsLeft, reason }))
    }
  }

  const isOver = (timeMs: number) => timeMs <= now() + DATE_PRECISION_MS

  function reasonByTime(): SessionEnd {
    if (isOver(Date.parse(session?.expiresAt ?? ''))) return 'expired'
    return isOver(Date.parse(session?.idleExpiresAt ?? '')) ? 'idle' : 'ended'
  }

  function end(reason = reasonByTime()): void {
    if (session || reason === 'signed-out') tellTabs({ id: session?.id, reason })
    if (session) notify(reason)
  }

  function notify(reason: SessionEnd): void {
    session = undefined
    clearTimeout(timer)
    tell(({ onEnd }) => onEnd?.(reason))
  }

  /**
   * An error of a listener must not look like one of a method, or keep the event from the others.
   */
  function tell(call: (listener: Listener) => void): void {
    for (const listener of listeners) queueMicrotask(() => call(listener))
  }

  function tellTabs(message: Message): void {
    const messages = channel ?? openChannel()
    messages?.postMessage(message)
    if (messages !== channel) messages?.close()
  }

  function add(listener: Listener): () => void {
    listeners.add(listener)
    if (listeners.size === 1) stop = start()
    tellEnding()
    schedule()
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) stop()
    }
  }

  return {
    get id() {
      return lastId
    },
    open(opened) {
      if (toldId !== opened.id) tellTabs({ id: opened.id })
      toldId = opened.id
      lastId = opened.id
      session = opened
      tellEnding()
      schedule()
    },
    end,
    onStart: (onStart) => add({ onStart }),
    onEnding: (secondsBefore, onEnding) => add({ onEnding, beforeMs: secondsBefore * 1000 }),
    onEnd: (onEnd) => add({ onEnd }),
  }
}

/** In milliseconds. Not a number if the answer is not the broker's. */
function endOf(session: Session | undefined): number | undefined {
  return session && Math.min(Date.parse(session.idleExpiresAt), Date.parse(session.expiresAt))
}
