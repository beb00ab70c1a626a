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
  /** The same in all tabs of a broker. */
  readonly channelName: string
  /** The broker's time in milliseconds. */
  readonly now: () => number
  /** Asks the broker for the session, and calls `open` or `end`. */
  readonly check: () => Promise<unknown>
}

/** Between tabs. */
interface Message {
  readonly id: string
  /** Missing: the session has been opened. */
  readonly reason?: SessionEnd
}

const LONGEST_TIMER_MS = 2 ** 31 - 1
const RETRY_MS = 30_000

/**
 * Asks the broker when the session should have ended, because another tab may have extended it. A timer of a browser may be
 * late, so a page that becomes visible asks too.
 */
export function createSessionWatch({ channelName, now, check }: Dependencies): SessionWatch {
  const listeners = new Set<(reason: SessionEnd) => void>()
  let session: Session | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let stop = () => {}

  function start(): () => void {
    const channel = new BroadcastChannel(channelName)
    channel.onmessage = ({ data }: MessageEvent<Message>) => {
      const isSame = session?.id === data.id
      if (data.reason ? isSame : session && !isSame) notify(data.reason ?? 'replaced')
    }
    const page = globalThis.document
    const onVisible = () => page.visibilityState === 'visible' && session && ask()
    page?.addEventListener('visibilitychange', onVisible)
    schedule()
    return () => {
      clearTimeout(timer)
      channel.close()
      page?.removeEventListener('visibilitychange', onVisible)
    }
  }

  function schedule(atLeastMs = 1000): void {
    clearTimeout(timer)
    if (!session || listeners.size === 0) return
    const { idleExpiresAt, expiresAt } = session
    const endsAt = Math.min(Date.parse(idleExpiresAt), Date.parse(expiresAt))
    timer = setTimeout(ask, Math.min(Math.max(endsAt - now(), atLeastMs), LONGEST_TIMER_MS))
  }

  function ask(): void {
    check().catch(() => schedule(RETRY_MS)) // the broker cannot tell now
  }

  function reasonByTime(): SessionEnd {
    const isOver = (time = '') => Date.parse(time) <= now()
    if (isOver(session?.expiresAt)) return 'expired'
    return isOver(session?.idleExpiresAt) ? 'idle' : 'ended'
  }

  function end(reason = reasonByTime()): void {
    if (!session) return
    tellTabs({ id: session.id, reason })
    notify(reason)
  }

  function notify(reason: SessionEnd): void {
    session = undefined
    clearTimeout(timer)
    for (const listener of listeners) listener(reason)
  }

  function tellTabs(message: Message): void {
    const channel = new BroadcastChannel(channelName)
    channel.postMessage(message)
    channel.close()
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
      listeners.add(listener)
      if (listeners.size === 1) stop = start()
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) stop()
      }
    },
  }
}
