import { afterEach } from '@jest/globals'

/** Returns a function that has a server closed after the test. */
export function useKeeper() {
  const { keep, closeAll } = keeper()
  afterEach(closeAll)
  return keep
}

/** Collects servers that must be closed after each test. */
export function keeper() {
  const kept: (() => Promise<unknown> | unknown)[] = []
  return {
    keep<Thing extends { close(): Promise<unknown> | unknown }>(thing: Thing): Thing {
      kept.push(() => thing.close())
      return thing
    },
    async closeAll() {
      for (const close of kept.splice(0).reverse()) await close()
    },
  }
}
