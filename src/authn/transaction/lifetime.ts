import type { Transaction } from './transaction.ts'

/** How long a transaction may last. */
export interface Lifetime {
  readonly minMs: number
  readonly maxMs: number
  readonly defaultMs: number
}

/**
 * How long the transaction lasts: `expiresAt` minus the answer's own `Date`, within bounds, so that a clock that differs from
 * Okta's does no harm. Missing, unreadable or past: the default.
 */
export function lifetimeMs(
  expiresAt: string | undefined,
  date: string | undefined,
  bounds: Lifetime,
  nowMs: number,
): number {
  const end = Date.parse(expiresAt ?? '')
  const sent = Date.parse(date ?? '')
  const left = end - (Number.isNaN(sent) ? nowMs : sent)
  if (Number.isNaN(left) || left <= 0) return bounds.defaultMs
  return Math.min(Math.max(left, bounds.minMs), bounds.maxMs)
}

/** An imported transaction ends `maxMs` after its import, whatever the upstream says: its token is indexed for so long. */
export function leftMs(
  { origin, createdAtMs }: Pick<Transaction, 'origin' | 'createdAtMs'>,
  { maxMs }: Pick<Lifetime, 'maxMs'>,
  nowMs: number,
): number {
  return origin === 'imported' ? createdAtMs + maxMs - nowMs : Number.POSITIVE_INFINITY
}
