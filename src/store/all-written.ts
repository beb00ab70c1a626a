/**
 * Waits until every write has ended, and only then throws the first failure. Whoever takes the writes back afterwards can
 * be sure that none of them is still under way.
 */
export async function allWritten<Writes extends readonly Promise<unknown>[]>(
  ...writes: Writes
): Promise<{ -readonly [Index in keyof Writes]: Awaited<Writes[Index]> }> {
  await Promise.allSettled(writes)
  return Promise.all(writes)
}
