import type { Signer } from '../../crypto/sign.ts'
import { invalidField, notAllowed, notFound, rateLimited } from '../../errors.ts'
import { countedAddress } from '../../http/client-address.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { allWritten } from '../../store/all-written.ts'
import type { Limiter } from '../../store/counting.ts'
import type { Store } from '../../store/store.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import { begin, IMPORTED, type Transaction } from '../transaction/transaction.ts'
import { newHandle, type TransactionStore } from '../transaction/transaction-store.ts'
import type { ImportedTokens } from './imported-tokens.ts'

/**
 * Where the upstream sends the browser for a step-up that an app began: its state token comes in by the address,
 * is kept, and the browser goes on to the sign-in page with a handle. Such an imported transaction never opens a
 * session by itself (docs/security.md: whoever made the token can redeem it at the upstream too).
 */
export interface StepUp {
  /** The address of the sign-in page, with the handle. */
  take(token: unknown, client: Client): Promise<string>
}

export interface StepUpParts {
  readonly enabled: boolean
  readonly signInUrl: string
  readonly store: Pick<Store, 'keepsOrder'>
  readonly transactions: Pick<TransactionStore, 'names' | 'create' | 'end'>
  readonly importedTokens: ImportedTokens
  readonly perAddress: Limiter
  readonly names: Signer
  readonly ttlMs: number
  readonly audit: StepAudit
  readonly metrics: Metrics
  readonly now: () => number
}

const STATE_TOKEN = /^[\w.~-]{20,512}$/

export function createStepUp(parts: StepUpParts): StepUp {
  const { enabled, signInUrl, transactions, perAddress, names, ttlMs, audit, metrics, now } = parts

  /** The newest import wins: two handles of one upstream transaction would each know half of what was done in it. */
  const keep = async (handle: string, imported: Transaction) => {
    const creating = transactions.create(handle, imported)
    if (!parts.store.keepsOrder) await creating // whoever learns of it must find it, to end it
    const taking = parts.importedTokens.take(imported.stateToken, transactions.names(handle)[0])
    const [, former] = await allWritten(creating, taking)
    await Promise.all(former.map((name) => transactions.end(name)))
  }

  return {
    async take(token, client) {
      if (!enabled) throw notFound('path')
      const { allowed, limit, retryAfterMs } = await perAddress.take(
        names.sign(countedAddress(client.address)),
      )
      if (!allowed) {
        metrics.limitHits.inc({ limit: 'step_up' })
        const retryAfterSeconds = Math.ceil(retryAfterMs / 1000)
        audit.limitHit({ limit: 'step_up', operation: 'step_up', retryAfterSeconds }, client)
        throw rateLimited({
          limit,
          resetAtSeconds: Math.ceil((now() + retryAfterMs) / 1000),
          retryAfterSeconds,
        })
      }
      if (typeof token !== 'string' || !STATE_TOKEN.test(token))
        throw invalidField('stateToken: is not a state token')
      const handle = newHandle()
      const imported: Transaction = {
        ...begin(client.device.id, undefined, now()),
        stateToken: token,
        status: IMPORTED,
        origin: 'imported',
        expiresAtMs: now() + ttlMs,
      }
      await keep(handle, imported)
      audit.started('step_up', undefined, client)
      const page = new URL(signInUrl)
      page.searchParams.set('stateToken', handle)
      return page.href
    },
  }
}

/** A page of ours, opened by the browser itself: no frame, no image, no fetch, no prefetch (Fetch metadata). */
export function assertNavigation(headers: Readonly<Record<string, string | string[] | undefined>>): void {
  const isNavigation = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  const isPrefetch = headers['sec-purpose'] !== undefined || headers.purpose === 'prefetch'
  if (!isNavigation || isPrefetch) {
    throw notAllowed(
      'Sec-Fetch-Mode, Sec-Fetch-Dest: this address is for the browser to open, not for a page to fetch',
    )
  }
}
