import type { Signer } from '../crypto/keys.ts'
import { rateLimited } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import { limitKeyPrefix } from '../store/keys.ts'
import { type LimitConfig, limitTimes, limitWindow } from '../store/limits.ts'
import type { Store } from '../store/store.ts'

export interface CallLimitsDeps<Limit extends string> {
  readonly limits: Readonly<Record<Limit, LimitConfig>>
  readonly store: Pick<Store, 'keyPrefix' | 'countAttempt'>
  readonly nameSigner: Signer
  readonly metrics: Pick<Metrics, 'limitHits'>
  readonly now: () => number
}

/** Limits on calls with bearer tokens. Not for sign-ins: nothing is refunded. */
export function createCallLimits<Limit extends string>(deps: CallLimitsDeps<Limit>) {
  const { limits, store, nameSigner, metrics, now } = deps

  return {
    /**
     * Counts one call of `name`, an address or the name of a token. Throws 429 if there were too
     * many.
     */
    async count(limit: Limit, name: string): Promise<void> {
      const window = limitWindow({ keySuffix: '', name: limit }, limits[limit])
      const keyPrefix = limitKeyPrefix(store, nameSigner.sign(JSON.stringify([limit, name])))
      const { full } = await store.countAttempt({ keyPrefix, windows: [window] })
      if (full === undefined) return
      metrics.limitHits.inc({ limit })
      throw rateLimited(limitTimes(window.maxAttempts, full.leftMs, now()))
    },
  }
}
