import { mayHaveArrived } from '../../upstream/upstream-failure.ts'
import type { Exchanged } from '../transaction/exchanged.ts'
import type { AttemptKind } from './figures.ts'

/** Wrong credentials; a wrong code or answer; a wrong recovery answer. */
const REFUSED: ReadonlySet<string | undefined> = new Set(['E0000004', 'E0000068', 'E0000087'])
/** A token that stands for a person is refused as what it is, or as credentials. */
const TOKEN_REFUSED: ReadonlySet<string | undefined> = new Set(['E0000004', 'E0000011'])

/** What the upstream says of a factor that is not refused: it goes on, waits, or asks for the next code. */
const HARMLESS_RESULTS: ReadonlySet<string> = new Set(['SUCCESS', 'WAITING', 'CHALLENGE'])

/**
 * Whether an attempt stays counted. A guess does when it was refused, and LOCKED_OUT refuses as well: or limits would
 * tell who is locked out. A message, a push or a recovery does when it went out; a push also when a
 * code beside it was refused.
 */
export function isSpent(
  kind: AttemptKind,
  { outcome, status, factorResult, wrongOldPassword = false }: Exchanged,
): boolean {
  const errorCode = outcome.kind === 'refusal' ? outcome.code : outcome.errorCode
  const wentOut = errorCode === undefined || status !== undefined // an answer that the broker refuses is one too
  switch (kind) {
    case 'code': {
      // some factors refuse a code with 200
      const isRefused = factorResult !== undefined && !HARMLESS_RESULTS.has(factorResult)
      return isRefused || status === 'LOCKED_OUT' || REFUSED.has(errorCode)
    }
    case 'password':
      return wrongOldPassword || status === 'LOCKED_OUT' || REFUSED.has(errorCode)
    case 'token':
      return TOKEN_REFUSED.has(errorCode)
    case 'push':
      return wentOut || REFUSED.has(errorCode)
    case 'message':
    case 'recovery':
      return wentOut
  }
}

/** What reaches a phone or a mailbox may have done so although no answer came: else who never waits rings on. */
export function mayHaveGoneOut(kind: AttemptKind, error: unknown): boolean {
  const reachesSomebody = kind === 'message' || kind === 'push' || kind === 'recovery'
  return reachesSomebody && mayHaveArrived(error)
}
