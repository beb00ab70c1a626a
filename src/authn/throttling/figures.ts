import type { LimitFigures } from '../../store/limiter.ts'

/** What is defended, each by limits of its own. */
export const ATTEMPT_KINDS = ['password', 'code', 'token', 'message', 'push', 'recovery'] as const
export type AttemptKind = (typeof ATTEMPT_KINDS)[number]

/**
 * Whose attempts are counted together. A browser that has fully signed this person in before is known: its attempts
 * count under the `perKnown…` limits and under no other but `perTransaction`.
 */
export type Scope =
  | 'perAddress'
  | 'perPerson'
  | 'perDevice'
  | 'perTransaction'
  | 'perKnownDevice'
  | 'perKnownPerson'

/** Windows that hold at once, from the short to the long: who is patient gets no further than who is quick. */
export interface Windows {
  readonly burst?: LimitFigures | undefined
  readonly sustained?: LimitFigures | undefined
  /** Failures in a row: the person's next full sign-in ends it. */
  readonly inARow?: LimitFigures | undefined
}

export type GuessingFigures = Readonly<Record<AttemptKind, Readonly<Partial<Record<Scope, Windows>>>>>

export const WINDOWS = ['burst', 'sustained', 'inARow'] as const satisfies readonly (keyof Windows)[]

/** With the kind before it, the label of `gatehouse_limit_hits_total`. */
export const SCOPE_LABELS: Readonly<Record<Scope, string>> = {
  perAddress: 'address',
  perPerson: 'person',
  perDevice: 'device',
  perTransaction: 'transaction',
  perKnownDevice: 'known_device',
  perKnownPerson: 'known_person',
}
