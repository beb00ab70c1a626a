import type { Signer } from '../../crypto/keys.ts'
import { sentRecently } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Store } from '../../store/store.ts'
import { mayHaveReachedUpstream } from '../../upstream/upstream-failure.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'

/**
 * The cooldown between two codes to one login by text message or call, first or resent, whether or not the user exists.
 * Throws 429 during the cooldown; otherwise starts it, and returns a function that sends the code.
 */
export type CodeCooldown = (code: RecoveryCode, client: Client) => Promise<SendCode>

/** Ends the cooldown if nothing was sent. */
export type SendCode = <T>(send: () => Promise<T>) => Promise<T>

export interface RecoveryCode {
  readonly operation: string
  readonly factorType: 'SMS' | 'CALL'
  /** As typed. */
  readonly login: string
}

export interface CodeCooldownDeps {
  readonly store: Pick<Store, 'set' | 'delete'>
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
