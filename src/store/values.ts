/** Values by key, one part of the store contract (`store.ts`). */
export interface Values {
  get(key: string): Promise<string | undefined>

  /** With `when`, writes only if the key is absent or present. Returns whether it was written. */
  set(key: string, value: string, ttlMs: number, when?: 'absent' | 'present'): Promise<boolean>

  /** Writes a number unless the stored one is equal or larger. Returns whether it was written. */
  raise(key: string, value: number, ttlMs: number): Promise<boolean>

  /** Atomically writes a value and returns the previous one. */
  swap(key: string, value: string, ttlMs: number): Promise<string | undefined>

  /**
   * Replaces the value if it is the expected one (compare-and-set). Returns whether it was: false
   * if the key has another value, or does not exist any more.
   */
  replaceIf(key: string, expected: string, value: string, ttlMs: number): Promise<boolean>

  /** Returns whether the key existed. */
  delete(key: string): Promise<boolean>

  /** Deletes the key if it has this value. Used to release locks. */
  deleteIf(key: string, expected: string): Promise<boolean>

  /**
   * Deletes the keys that begin with `prefix`, found by a scan of all keys. One that is written
   * during the scan may stay. After a failure, some may be deleted. Returns how many were.
   */
  deleteAll(prefix: string): Promise<number>
}
