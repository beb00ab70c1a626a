import type { Signer } from '../../crypto/keys.ts'
import { invalidField, notFound } from '../../errors.ts'
import { networksForLimits } from '../../http/request-context.ts'
import { allSettledOrThrow } from '../../store/all-settled-or-throw.ts'
import { KEYS, keyOf, limitKeyPrefix } from '../../store/keys.ts'
import { type LimitConfig, limitWindow } from '../../store/limits.ts'
import type { Store } from '../../store/store.ts'
import type { StepAudit } from '../audit/step-audit.ts'
import { signInStarted } from '../audit/step-events.ts'
import type { Client } from '../browser/client.ts'
import { type LimitReachedDeps, limitReachedError } from '../throttling/enforce-limits.ts'
import { createTransaction, LIFETIME, type Transaction } from '../transaction/transaction.ts'
import { newHandle, type TransactionStore } from '../transaction/transaction-store.ts'

export interface StepUpOptions extends LimitReachedDeps {
  readonly isEnabled: boolean
  readonly signInUrl: string
  readonly store: Pick<Store, 'keyPrefix' | 'preservesWriteOrder' | 'get' | 'swap' | 'countAttempt'>
  readonly transactions: Pick<TransactionStore, 'namesOf' | 'create' | 'end'>
  readonly limitPerAddress: LimitConfig
  readonly addressSigner: Signer
  readonly tokenSigner: Signer
  readonly audit: StepAudit
}

/**
 * Longer than an imported transaction lasts that nobody continues, because the clocks of replicas
 * may differ.
 */
const INDEX_MS = LIFETIME.defaultMs + 60_000

const STATE_TOKEN = /^[\w.~-]{20,512}$/

/**
 * A step-up that an app started: Okta sends the browser here with a state token in the URL. The
 * token is stored, and the browser is redirected to the sign-in page with a handle. Such an
 * imported transaction never opens a session by itself, because the token's creator can also redeem
 * it at Okta (docs/security.md).
 *
 *     <prefix>imported:<token>   the name of the token's transaction; both are HMACs
 */
export class StepUp {
  readonly #options: StepUpOptions

  constructor(options: StepUpOptions) {
    this.#options = options
  }

  /** Returns the URL of the sign-in page with the handle. */
  async importToken(token: unknown, client: Client): Promise<string> {
    const { isEnabled, signInUrl, audit, now } = this.#options
    if (!isEnabled) throw notFound('path')
    await this.#enforceLimit(client)
    if (typeof token !== 'string' || !STATE_TOKEN.test(token))
      throw invalidField('stateToken: is not a state token')
    const handle = newHandle()
    await this.#storeTransaction(handle, {
      ...createTransaction(client.device.id, undefined, now()),
      stateToken: token,
      status: 'IMPORTED', // until Okta's first answer
      origin: 'imported',
      expiresAtMs: now() + LIFETIME.defaultMs,
    })
    audit.report([signInStarted('step_up', undefined)], client)
    const page = new URL(signInUrl)
    page.searchParams.set('stateToken', handle)
    return page.href
  }

  async #enforceLimit(client: Client): Promise<void> {
    const { store, limitPerAddress, addressSigner } = this.#options
    const window = limitWindow({ keySuffix: '', name: 'step_up' }, limitPerAddress)
    const counting = networksForLimits(client.address).map(async ({ name, factor }) => {
      const max = window.maxAttempts * factor
      const keyPrefix = limitKeyPrefix(store, addressSigner.sign(name))
      const { full } = await store.countAttempt({ keyPrefix, windows: [{ ...window, maxAttempts: max }] })
      return full === undefined ? [] : [{ label: 'step_up', max, leftMs: full.leftMs }]
    })
    const [reached] = (await Promise.all(counting)).flat() // sent together
    if (reached === undefined) return
    throw limitReachedError(this.#options, reached, { operation: 'step_up' }, client)
  }

  /**
   * A token that is imported several times has one transaction: each import replaces the previous
   * one. With two handles, each transaction would miss the steps of the other. This happens if a
   * transaction that goes on is imported again after minutes: a step may then be refused as not
   * offered. A credential is safe, because Okta is asked just before whether it expects one. An
   * index that lasted as long as the transaction would let anyone fill Redis.
   */
  async #storeTransaction(handle: string, imported: Transaction): Promise<void> {
    const { store, transactions, tokenSigner } = this.#options
    const creating = transactions.create(handle, imported)
    // another import that reads the index must also find the record
    if (!store.preservesWriteOrder) await creating
    const [newest, ...older] = tokenSigner.signAll(imported.stateToken)
    const keyFor = (hmac: string) => keyOf(store, KEYS.importedToken, hmac)
    const swapping = store.swap(keyFor(newest), transactions.namesOf(handle)[0], INDEX_MS)
    const reading = older.map((hmac) => store.get(keyFor(hmac))) // while keys are rotated
    const [, ...former] = await allSettledOrThrow(creating, swapping, ...reading)
    await Promise.all(former.filter((name) => name !== undefined).map((name) => transactions.end(name)))
  }
}
