/** A promise that a test resolves. */
export interface Deferred {
  readonly promise: Promise<void>
  resolve(): void
}

export function deferred(): Deferred {
  let resolve = () => {}
  const promise = new Promise<void>((resolvePromise) => {
    resolve = resolvePromise
  })
  return { promise, resolve }
}
