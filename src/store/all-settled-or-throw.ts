/**
 * Waits until all writes have ended, and then throws the first failure: a rollback must not overlap
 * with a write in flight.
 */
export async function allSettledOrThrow<Writes extends readonly Promise<unknown>[]>(
  ...writes: Writes
): Promise<{ -readonly [Index in keyof Writes]: Awaited<Writes[Index]> }> {
  await Promise.allSettled(writes)
  return Promise.all(writes)
}
