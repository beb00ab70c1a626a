import type { Signer } from '../../crypto/keys.ts'
import { sentRecently } from '../../errors.ts'
import { KEYS, keyOf } from '../../store/keys.ts'
import type { Store } from '../../store/store.ts'
import type { StepAudit } from '../audit/step-audit.ts'
import type { Client } from '../browser/client.ts'
import type { RecoveryCode } from './plan-recovery.ts'

export interface CodeCooldownDeps {
  readonly store: Pick<Store, 'keyPrefix' | 'set' | 'delete'>
  readonly nameSigner: Signer
  readonly canonicalLogin: (login: string) => string
  readonly audit: Pick<StepAudit, 'limitHit'>
  readonly resendAfterMs: number
}

export type CodeCooldown = ReturnType<typeof createCodeCooldown>

/**
 * The cooldown between two codes to one login by text message or call, first or resent, whether or
 * not the user exists.
 */
export function createCodeCooldown(deps: CodeCooldownDeps) {
  const { store, nameSigner, canonicalLogin, audit, resendAfterMs } = deps
  const keyFor = ({ login, factorType }: RecoveryCode) =>
    keyOf(store, KEYS.recoverySent, nameSigner.sign(JSON.stringify([canonicalLogin(login), factorType])))

  return {
    /** Throws 429 during the cooldown. */
    async start(code: RecoveryCode, client: Client): Promise<void> {
      if (await store.set(keyFor(code), '1', resendAfterMs, 'absent')) return
      const retryAfterSeconds = Math.ceil(resendAfterMs / 1000)
      audit.limitHit({ limit: 'recovery_sent', ...code, retryAfterSeconds }, client)
      throw sentRecently(code.factorType, retryAfterSeconds)
    },

    /** Nothing was sent. */
    async end(code: RecoveryCode): Promise<void> {
      await store.delete(keyFor(code))
    },
  }
}
