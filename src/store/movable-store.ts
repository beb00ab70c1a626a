import { setTimeout as delay } from 'node:timers/promises'
import { type OpenStoreParts, openStore } from './open-store.ts'
import type { StoreEvent } from './redis-link.ts'
import { reasonOf } from './redis-trouble.ts'
import type { OpenedStore, Store } from './store.ts'

/** A `REDIS_URL` that may change while the broker runs. */
export interface ChangingUrl {
  current(): string
  /** Returns how to stop listening. */
  onChange(listener: (url: string) => void): () => void
}

/** For the log: what the connection in use meets, and what becomes of a changed URL. */
export type MovableStoreEvent =
  | StoreEvent
  | { readonly event: 'store_moved' }
  | { readonly event: 'store_move_waits'; readonly reason: string }

export interface MovableStoreParts extends Omit<OpenStoreParts, 'url' | 'onEvent'> {
  readonly url: ChangingUrl
  /** Told of the store in use, and of moves; the event never carries the URL, an address or a password. */
  readonly onEvent?: (event: MovableStoreEvent) => void
}

/** One of the stores that were opened: the one in use, the next one, or one that was left and still ends its commands. */
interface Member extends OpenedStore {
  readonly url: string
  /** It is in use, or was. */
  hasServed: boolean
  /** Why it could not be used yet, as far as the log was told. */
  waitsFor?: string
}

/** How soon a new URL that could not be used is tried again. */
const TRY_AGAIN_MS = 250

/**
 * A store that moves when its URL changes. A living connection is left only for one that has just taken a write, so
 * that a mistaken URL takes nothing away: `store_move_waits` says why nothing happens, and the new URL is tried until
 * it works or is changed again. A store that has no connection itself is left at once.
 *
 * Nothing is copied. What runs on the store that is left ends there.
 */
export function createMovableStore({
  url,
  onEvent = () => {},
  onFailure = () => {},
  ...parts
}: MovableStoreParts): OpenedStore {
  const opened = new Set<Member>()
  let next: Member | undefined
  let isClosed = false
  let inUse = open(url.current())
  inUse.hasServed = true
  const stopListening = url.onChange(change)

  return {
    store: delegateTo(() => inUse.store, close),
    status: () => (isClosed ? 'closed' : inUse.status()),
  }

  function open(target: string): Member {
    const member: Member = {
      ...openStore({
        ...parts,
        url: target,
        onEvent(event) {
          if (member === inUse) onEvent(event)
          else if ('reason' in event) tellWaiting(member, event.reason)
        },
        onFailure() {
          if (member.hasServed) onFailure() // trying a new URL is nobody's operation
        },
      }),
      url: target,
      hasServed: false,
    }
    opened.add(member)
    return member
  }

  function change(target: string): void {
    // A change that was taken back needs no new connection. What throws here leaves everything as it is.
    const fresh = target === inUse.url ? undefined : open(target)
    if (next !== undefined) leave(next)
    next = fresh
    if (fresh === undefined) return
    if (inUse.status() === 'ready') void moveOnceUsable(fresh)
    else moveTo(fresh)
  }

  async function moveOnceUsable(fresh: Member): Promise<void> {
    for (;;) {
      const reason = await fresh.store.ping().then(() => undefined, reasonOf)
      if (fresh !== next) return
      if (reason === undefined) return moveTo(fresh)
      tellWaiting(fresh, reason)
      await delay(TRY_AGAIN_MS, undefined, { ref: false })
      if (fresh !== next) return
    }
  }

  /** Once for each reason, and not for every time that it is tried. */
  function tellWaiting(member: Member, reason: string): void {
    if (member !== next || member.waitsFor === reason) return
    member.waitsFor = reason
    onEvent({ event: 'store_move_waits', reason })
  }

  function moveTo(fresh: Member): void {
    const left = inUse
    fresh.hasServed = true
    inUse = fresh
    next = undefined
    onEvent({ event: 'store_moved' })
    leave(left)
  }

  function leave(member: Member): void {
    void member.store.close().then(() => opened.delete(member))
  }

  async function close(): Promise<void> {
    isClosed = true
    stopListening()
    next = undefined
    await Promise.all([...opened].map((member) => member.store.close()))
  }
}

function delegateTo(store: () => Store, close: Store['close']): Store {
  return {
    get keepsOrder() {
      return store().keepsOrder
    },
    get: (key) => store().get(key),
    set: (key, value, ttlMs, when) => store().set(key, value, ttlMs, when),
    swap: (key, value, ttlMs) => store().swap(key, value, ttlMs),
    delete: (key) => store().delete(key),
    deleteIf: (key, expected) => store().deleteIf(key, expected),
    claim: (claim) => store().claim(claim),
    settle: (settlement) => store().settle(settlement),
    indexPut: (key, field, value, ttlMs) => store().indexPut(key, field, value, ttlMs),
    indexAll: (key) => store().indexAll(key),
    indexRemove: (key, field) => store().indexRemove(key, field),
    count: (counting) => store().count(counting),
    uncount: (place, counted) => store().uncount(place, counted),
    endCounts: (place, windows, mark) => store().endCounts(place, windows, mark),
    ping: () => store().ping(),
    close,
  }
}
