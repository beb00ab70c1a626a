import type { Signer } from '../../crypto/keys.ts'
import { sentRecently } from '../../errors.ts'
import { KEYS, keyOf } from '../../store/keys.ts'
import type { Store } from '../../store/store.ts'
import { mayHaveReachedUpstream } from '../../upstream/upstream-failure.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'

export interface RecoveryCode {
  readonly operation: string
  readonly factorType: 'SMS' | 'CALL'
  /** As typed. */
  readonly login: string
}

export interface CodeCooldownDeps {
  readonly store: Pick<Store, 'keyPrefix' | 'set' | 'delete'>
  readonly names: Signer
  readonly canonicalLogin: (login: string) => string
  readonly audit: Pick<StepAudit, 'limitHit'>
  readonly resendAfterMs: number
}

export type CodeCooldown = ReturnType<typeof createCodeCooldown>

/**
 * The cooldown between two codes to one login by text message or call, first or resent, whether or not the user exists.
 * Throws 429 during the cooldown; otherwise starts it, and returns a function that sends the code. The cooldown ends if
 * nothing was sent.
 */
export function createCodeCooldown(deps: CodeCooldownDeps) {
  const { store, names, canonicalLogin, audit, resendAfterMs } = deps

  return async (code: RecoveryCode, client: Client) => {
    const name = names.sign(JSON.stringify([canonicalLogin(code.login), code.factorType]))
    const key = keyOf(store, KEYS.recoverySent, name)
    if (!(await store.set(key, '1', resendAfterMs, 'absent'))) {
      const retryAfterSeconds = Math.ceil(resendAfterMs / 1000)
      audit.limitHit({ limit: 'recovery_sent', ...code, retryAfterSeconds }, client)
      throw sentRecently(code.factorType, retryAfterSeconds)
    }
    return async <T>(send: () => Promise<T>): Promise<T> => {
      try {
        return await send()
      } catch (error) {
        if (!mayHaveReachedUpstream(error)) await store.delete(key)
        throw error
      }
    }
  }
}
