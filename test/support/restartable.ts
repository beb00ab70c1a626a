/**
 * An object that is created again with other keys, as in a restart of a replica. Who has it uses
 * the newest one.
 */
export function restartable<T extends object>(
  keys: readonly Buffer[],
  create: (keys: readonly Buffer[]) => T,
) {
  let current = create(keys)
  return {
    object: new Proxy(current, { get: (_first, name) => Reflect.get(current, name) }),
    restartWith(...others: readonly Buffer[]) {
      current = create(others)
    },
  }
}
