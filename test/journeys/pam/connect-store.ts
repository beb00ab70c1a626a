import { openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { until } from '../../support/until.ts'

/**
 * A store that is connected to Redis. With long timeouts, it is slow on a busy machine but not out
 * of reach.
 */
export async function connectStore(url: string): Promise<Store> {
  const store = openStore({ url, connectTimeoutMs: 60_000, commandTimeoutMs: 60_000 })
  const isConnected = () =>
    store.ping().then(
      () => true,
      () => false,
    )
  await until(isConnected, { what: 'a connection' })
  return store
}
