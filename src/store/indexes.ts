/** Indexes: Redis hashes, one part of the store contract (`store.ts`). */
export interface Indexes {
  /**
   * Writes a field of an index (a Redis hash), or several with the same value, and extends the life
   * of the index to `ttlMs`. Returns the number of fields.
   */
  indexPut(key: string, field: string | readonly string[], value: string, ttlMs: number): Promise<number>
  indexAll(key: string): Promise<Record<string, string>>
  indexRemove(key: string, field: string): Promise<boolean>
}
