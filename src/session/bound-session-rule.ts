/**
 * Whether a request is served by its session, which may be bound to a key of the browser: a pure
 * rule of what is stored and what the request brings.
 */

/** Of the bound cookie in a request. `wrong`: forged, damaged or of another session. */
export type BoundCookieState = 'none' | 'valid' | 'expired' | 'wrong'

export type BoundCookieRefusal = 'cookie_missing' | 'cookie_expired' | 'cookie_wrong'

export type BoundVerdict =
  | {
      readonly kind: 'served'
      /** From now on, requests without the cookie are refused: the browser has it. */
      readonly isFirstUse: boolean
    }
  /** `unavailable`: the browser says that it could not renew the cookie. */
  | { readonly kind: 'refused' | 'unavailable'; readonly reason: BoundCookieRefusal }

export interface BoundRequest {
  /** undefined: the session is not bound. */
  readonly binding: { readonly boundAtMs: number; readonly isUsed: boolean } | undefined
  readonly cookie: BoundCookieState
  /** Whether `Secure-Session-Skipped` names the session. */
  readonly isSkipped: boolean
  readonly nowMs: number
  /**
   * How long requests without the cookie are served until one had it: those that are under way
   * while the browser registers its key, or whose answer to the registration is lost.
   */
  readonly graceMs: number
}

const SERVED = { kind: 'served', isFirstUse: false } as const

export function judgeBoundRequest({
  binding,
  cookie,
  isSkipped,
  nowMs,
  graceMs,
}: BoundRequest): BoundVerdict {
  if (binding === undefined) return SERVED
  const isInGrace = !binding.isUsed && nowMs - binding.boundAtMs < graceMs
  if (cookie === 'valid') return { kind: 'served', isFirstUse: isInGrace }
  if (cookie === 'none' && isInGrace) return SERVED
  return { kind: isSkipped ? 'unavailable' : 'refused', reason: REASONS[cookie] }
}

const REASONS: Readonly<Record<Exclude<BoundCookieState, 'valid'>, BoundCookieRefusal>> = {
  none: 'cookie_missing',
  expired: 'cookie_expired',
  wrong: 'cookie_wrong',
}
