import type { CountingStore } from './counting.ts'

/**
 * The store contract: what Gatehouse needs of Redis and nothing more. Two forms keep it, `redis-store.ts` and
 * `memory-store.ts` (embedded, one process), and one suite of tests holds both to it.
 *
 * Every key has a time to live, in milliseconds; a fraction is rounded up, and zero or less ends at once. No
 * operation touches keys of two Redis Cluster slots: operations on several keys demand that they share a hash tag
 * (`{…}`), and throw a TypeError otherwise. Every operation ends within a bounded time; when the store is out of
 * reach it throws `storeUnavailable` (503), never an answer that could be taken for "not there".
 */
export interface Store extends CountingStore {
  /**
   * Whether writes that are asked for in one turn of the event loop are carried out in that order. In a Redis Cluster they
   * go to several servers, so they are not.
   */
  readonly keepsOrder: boolean

  get(key: string): Promise<string | undefined>

  /** Writes, and says whether it did: with `when: 'absent'` or `'present'` it may not. */
  set(key: string, value: string, ttlMs: number, when?: 'absent' | 'present'): Promise<boolean>

  /** Writes, and says what was there before, in one step: of several at once each learns of another one. */
  swap(key: string, value: string, ttlMs: number): Promise<string | undefined>

  /** Says whether there was something to delete. */
  delete(key: string): Promise<boolean>

  /** Deletes only what still holds this very value: how a lock is let go. */
  deleteIf(key: string, expected: string): Promise<boolean>

  /**
   * Takes the lock of a record and reads the record, in one round trip. With a `word`, that is read as well, and when it
   * begins with `bar`, nothing is claimed. `token` names the claim; a claim by the same token succeeds again, because a
   * command may be sent twice when a connection breaks.
   */
  claim(claim: ClaimRequest): Promise<Claim>

  /**
   * Ends a claim in one round trip: writes, deletes or keeps the record, leaves the result for those who wait and the word
   * for the next claim, and lets the lock go if it is still ours. False, and nothing is written, when the record is no longer
   * the one that was claimed: a late holder never overwrites a newer state. A settlement that writes or keeps may be sent
   * twice, and settles both times.
   */
  settle(settlement: Settlement): Promise<boolean>

  /**
   * One field of a small index (a Redis hash); the whole index gets the new time to live if that is longer. Says how
   * many fields there are now.
   */
  indexPut(key: string, field: string, value: string, ttlMs: number): Promise<number>
  indexAll(key: string): Promise<Record<string, string>>
  indexRemove(key: string, field: string): Promise<boolean>

  /** Resolves when the store can carry out every operation; throws `storeUnavailable` otherwise. */
  ping(): Promise<void>

  /** Waits for running operations, within a bound, then leaves. */
  close(): Promise<void>
}

export interface ClaimRequest {
  readonly lockKey: string
  readonly recordKey: string
  readonly token: string
  readonly lockTtlMs: number
  /** Where the value of `key` begins with `bar`, nothing is claimed. */
  readonly word?: { readonly key: string; readonly bar: string }
}

export interface Claim {
  readonly claimed: boolean
  /** The token that holds the lock now, ours or another's; undefined when nobody holds it, because the word bars claims. */
  readonly holder: string | undefined
  /** The record as it stands, also when the claim failed; undefined when there is none. */
  readonly value: string | undefined
  /** The word that was asked for; undefined when there is none. */
  readonly word?: string | undefined
}

export interface Settlement {
  readonly lockKey: string
  readonly recordKey: string
  readonly token: string
  /** The raw value that was claimed; undefined: there was none and there must still be none. */
  readonly expected: string | undefined
  /** `keep` leaves the record as it is, `delete` removes it. */
  readonly record: { readonly write: string; readonly ttlMs: number } | 'keep' | 'delete'
  /** For those who wait for this claim. It is not left when the settlement came too late: they take the step anew then. */
  readonly result?: Left
  /** For the next claim; left, or not, like the result. */
  readonly word?: Left
}

/** A value that a settlement leaves beside the record. */
export interface Left {
  readonly key: string
  readonly value: string
  readonly ttlMs: number
}
