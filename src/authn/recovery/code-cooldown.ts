import type { Signer } from '../../crypto/keys.ts'
import { sentRecently } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Store } from '../../store/store.ts'
import { mayHaveReachedUpstream } from '../../upstream/upstream-failure.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'

/**
 * The pause between two codes for one name by text message or call, whether such a user exists or not, first or resent. Throws
 * 429 at once, else returns what sends the code.
 */
export type CodeCooldown = (code: RecoveryCode, client: Client) => Promise<SendCode>

/** If nothing was sent, the next code need not wait. */
export type SendCode = <T>(send: () => Promise<T>) => Promise<T>

export interface RecoveryCode {
  readonly operation: string
  readonly factorType: 'SMS' | 'CALL'
  /** As typed. */
  readonly login: string
}

export interface CodeCooldownDeps {
  readonly store: Pick<Store, 'set' | 'delete'>
  /** For HMACs of names in the store. */
  readonly names: Signer
  readonly canonicalLogin: (login: string) => string
  readonly audit: Pick<StepAudit, 'limitHit'>
  readonly resendAfterMs: number
  readonly metrics: Metrics
}

export function createCodeCooldown(deps: CodeCooldownDeps): CodeCooldown {
  const { store, names, canonicalLogin, audit, resendAfterMs, metrics } = deps

  return async (code, client) => {
    const name = names.sign(JSON.stringify([canonicalLogin(code.login), code.factorType]))
    const key = `gatehouse:limit:recovery-sent:${name}`
    if (!(await store.set(key, '1', resendAfterMs, 'absent'))) {
      const limit = 'recovery_sent'
      const retryAfterSeconds = Math.ceil(resendAfterMs / 1000)
      metrics.limitHits.inc({ limit })
      audit.limitHit({ limit, ...code, retryAfterSeconds }, client)
      throw sentRecently(code.factorType, retryAfterSeconds)
    }
    return async (send) => {
      try {
        return await send()
      } catch (error) {
        if (!mayHaveReachedUpstream(error)) await store.delete(key)
        throw error
      }
    }
  }
}
