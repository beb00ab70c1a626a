/**
 * Waits for every write, also when one has failed by then, and throws the first failure: what is to be taken back must not
 * be written after that.
 */
export async function allWritten<Writes extends readonly Promise<unknown>[]>(
  ...writes: Writes
): Promise<{ -readonly [Index in keyof Writes]: Awaited<Writes[Index]> }> {
  await Promise.allSettled(writes)
  return Promise.all(writes)
}
