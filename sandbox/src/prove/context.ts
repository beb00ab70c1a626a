import type { Authn } from './authn.ts'
import type { Caller } from './caller.ts'
import type { EventHook } from './event-hook.ts'
import type { Org } from './org.ts'
import type { Portal } from './portal.ts'
import type { Target } from './target.ts'

/** What a check works with. */
export interface Context {
  readonly target: Target
  readonly org: Org
  /** Calls the org directly, for what Gatehouse never sends. */
  readonly authn: Authn
  /** A new browser at a portal with Gatehouse in front of the org. */
  openPortal(): Promise<Portal>
  /** Resolves when the org may send a message to the phone. */
  phoneTurn(): Promise<void>
  /** Undefined without `target.eventHook`. */
  readonly eventHook: EventHook | undefined
  /** Between two polls of a transaction. */
  wait(): Promise<void>
  /** To the PAM API. */
  readonly pam: Caller
  readonly engine: 'classic' | 'identity'
  /** What several checks need to know, found out at the first one. */
  once(what: string, find: () => Promise<boolean>): Promise<boolean>
  /** A value that nobody else has, for device tokens and names. */
  unique(): string
  now(): number
}
