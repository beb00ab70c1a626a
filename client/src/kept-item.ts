/** One item in a storage of the browser, kept over reloads and navigations. */
export interface KeptItem {
  get(): string | undefined
  /** Undefined: removes it. */
  set(value: string | undefined): void
}

/**
 * @param storage is called in a browser only. @param name of the item. Without a name or a
 * storage, nothing is kept
 */
export function createKeptItem(storage: () => Storage, name: () => string | undefined): KeptItem {
  function use<Result>(action: (storage: Storage, key: string) => Result): Result | undefined {
    try {
      const key = name()
      return key === undefined ? undefined : action(storage(), key)
    } catch {
      return undefined // outside a browser; or the browser blocks the storage of this page
    }
  }
  return {
    get: () => use((items, key) => items.getItem(key)) ?? undefined,
    set: (value) =>
      use((items, key) => (value === undefined ? items.removeItem(key) : items.setItem(key, value))),
  }
}
