/** The step lock and the commit of a step, one part of the store contract (`store.ts`). */
export interface LockedRecords {
  /** Acquires the lock of a record if it is free, and reads the record, in one round trip. */
  acquire(request: AcquireRequest): Promise<Acquired>

  /**
   * Writes, deletes or keeps the record, writes the shared result, and releases the lock if `token`
   * still holds it, in one round trip. False, and nothing is written, if the record has changed
   * since it was read with the lock: a holder whose lock has expired never overwrites a newer
   * record.
   */
  commit(commit: Commit): Promise<boolean>
}

export interface AcquireRequest {
  readonly lockKey: string
  readonly recordKey: string
  /** Identifies the holder. */
  readonly token: string
  readonly lockTtlMs: number
}

export interface Acquired {
  /** The token that holds the lock: the caller's or another one. */
  readonly holder: string
  /** As stored, even if another token holds the lock. Undefined if there is no record. */
  readonly record: string | undefined
}

export interface Commit {
  readonly lockKey: string
  readonly recordKey: string
  readonly token: string
  /**
   * The record that was read with the lock. Undefined: there was none, and there must still be
   * none.
   */
  readonly expected: string | undefined
  readonly record: RecordChange
  /** Read by the requests that wait for the lock. */
  readonly shared: { readonly key: string; readonly value: string; readonly ttlMs: number }
}

export type RecordChange = { readonly write: string; readonly ttlMs: number } | 'keep' | 'delete'
