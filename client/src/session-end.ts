import type { Session } from './answers.ts'

/**
 * `signed-out`: in this browser. `idle`, `expired`: its time is over. `ended`: by the user elsewhere, or by an operator.
 * `replaced`: another tab has signed in again.
 */
export type SessionEnd = 'signed-out' | 'idle' | 'expired' | 'ended' | 'replaced'

export interface SessionWatch {
  /** The id of the open session, for the header `X-Gatehouse-Session`. */
  readonly id: string | undefined
  /** Takes the session from an answer. */
  open(session: Session): void
  /** Tells the listeners and the other tabs, unless they know. Default: the reason that the time tells. */
  end(reason?: SessionEnd): void
  /** @returns removes the listener */
  listen(listener: (reason: SessionEnd) => void): () => void
}

interface Dependencies {
  /** The same in all tabs of a broker. Undefined outside a browser: there, each client may have another user. */
  readonly channelName: string | undefined
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

const LONGEST_TIMER_MS = 2 ** 31 - 1
const RETRY_MS = 30_000
/** The broker's time is known in whole seconds: an answer may be up to a second younger than its `Date`. */
const DATE_PRECISION_MS = 1000

/**
 * Asks the broker when the session should have ended, because another tab may have extended it. A timer of a browser may be
 * late, so a page that becomes visible asks too.
 */
export function createSessionWatch({ channelName, now, check }: Dependencies): SessionWatch {
  const listeners = new Set<(reason: SessionEnd) => void>()
  let channel: BroadcastChannel | undefined
  let session: Session | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let stop = () => {}

  function start(): () => void {
    channel = openChannel()
    if (channel) channel.onmessage = receive
    const page = globalThis.document
    const onVisible = () => page.visibilityState === 'visible' && session && ask()
    page?.addEventListener('visibilitychange', onVisible)
    schedule()
    return () => {
      clearTimeout(timer)
      channel?.close()
      channel = undefined
      page?.removeEventListener('visibilitychange', onVisible)
    }
  }

  function openChannel(): BroadcastChannel | undefined {
    return channelName === undefined ? undefined : new BroadcastChannel(channelName)
  }

  function receive({ data: { id = session?.id, reason } }: MessageEvent<Message>): void {
    const isSame = session?.id === id
    if (session && isSame === Boolean(reason)) notify(reason ?? 'replaced')
  }

  function schedule(atLeastMs = 1000): void {
    clearTimeout(timer)
    if (!session || listeners.size === 0) return
    const { idleExpiresAt, expiresAt } = session
    const endsAt = Math.min(Date.parse(idleExpiresAt), Date.parse(expiresAt))
    const waitMs = Math.max(endsAt - now(), atLeastMs) || RETRY_MS // not a number: not the broker's answer
    timer = setTimeout(ask, Math.min(waitMs, LONGEST_TIMER_MS))
  }

  async function ask(): Promise<void> {
    const known = session?.id
    try {
      await check()
    } catch {
      return schedule(RETRY_MS) // the broker cannot tell now
    }
    if (session && session.id !== known) tellListeners('replaced')
  }

  function reasonByTime(): SessionEnd {
    const isOver = (time = '') => Date.parse(time) <= now() + DATE_PRECISION_MS
    if (isOver(session?.expiresAt)) return 'expired'
    return isOver(session?.idleExpiresAt) ? 'idle' : 'ended'
  }

  function end(reason = reasonByTime()): void {
    if (session || reason === 'signed-out') tellTabs({ id: session?.id, reason })
    if (session) notify(reason)
  }

  function notify(reason: SessionEnd): void {
    session = undefined
    clearTimeout(timer)
    tellListeners(reason)
  }

  /** An error of a listener must not look like one of a method, or keep the reason from the others. */
  function tellListeners(reason: SessionEnd): void {
    for (const listener of listeners) queueMicrotask(() => listener(reason))
  }

  function tellTabs(message: Message): void {
    const messages = channel ?? openChannel()
    messages?.postMessage(message)
    if (messages !== channel) messages?.close()
  }

  return {
    get id() {
      return session?.id
    },
    open(opened) {
      if (session?.id !== opened.id) tellTabs({ id: opened.id })
      session = opened
      schedule()
    },
    end,
    listen(listener) {
      const own = (reason: SessionEnd) => listener(reason)
      listeners.add(own)
      if (listeners.size === 1) stop = start()
      return () => {
        if (listeners.delete(own) && listeners.size === 0) stop()
      }
    },
  }
}
