/** The handle of the sign-in in this tab, kept over reloads and navigations. */
export interface KeptHandle {
  get(): string | undefined
  /** Undefined: there is nothing to continue. */
  set(stateToken: string | undefined): void
}

/**
 * @param name of the item in the tab's `sessionStorage`. Without a name or a storage, nothing is
 * kept
 */
export function createKeptHandle(name: () => string | undefined): KeptHandle {
  function use<Result>(action: (storage: Storage, key: string) => Result): Result | undefined {
    try {
      const key = name()
      return key === undefined ? undefined : action(globalThis.sessionStorage, key)
    } catch {
      return undefined // outside a browser; or the browser blocks the storage of this page
    }
  }
  return {
    get: () => use((storage, key) => storage.getItem(key)) ?? undefined,
    set: (stateToken) =>
      use((storage, key) =>
        stateToken === undefined ? storage.removeItem(key) : storage.setItem(key, stateToken),
      ),
  }
}
