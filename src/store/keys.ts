import type { Store } from './store.ts'

/** The default of `REDIS_KEY_PREFIX`. */
export const KEY_PREFIX = 'gatehouse:'

/** The key prefix of all windows of one user or one address. */
export const limitKeyPrefix = ({ keyPrefix }: Pick<Store, 'keyPrefix'>, hmac: string) =>
  `${keyPrefix}limit:{${hmac}}`
