const KEPT = 'transaction'

/** The handle of the sign-in that the page shows. */
let current: string | undefined

export function setHandle(handle: string | undefined): void {
  current = handle
}

export function isSigningIn(): boolean {
  return current !== undefined
}

/** Keeps the handle in this tab while the browser visits another page, or reloads this one. */
export function keepHandle(): void {
  if (current !== undefined) sessionStorage.setItem(KEPT, current)
}

/** Returns the handle that `keepHandle` saved, and removes it. */
export function takeHandle(): string | undefined {
  const handle = sessionStorage.getItem(KEPT) ?? undefined
  sessionStorage.removeItem(KEPT)
  return handle
}
